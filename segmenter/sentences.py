"""From text to lossless sentence spans.

Whatever a splitter says, the spans cover the text from its first character to its last: a sentence
ends where the next one begins, white space belongs to the sentence before it, leading white space
to the first one.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Literal, Protocol, runtime_checkable

import numpy as np
import sentencex
from numpy.typing import NDArray

from segmenter.document import Document, Sentence
from segmenter.errors import ConfigError, InputError
from segmenter.tokenizing import replace_surrogates

__all__ = [
    "LineSplitter",
    "SentenceSplitter",
    "Sentences",
    "SentencexSplitter",
    "paragraph_flags",
    "resolve_splitter",
    "split_document",
    "split_sentences",
]

_NEWLINE = r"(?>\r\n|\n|\r)"
_LINE_END = re.compile(_NEWLINE)
_BLANK_LINES = re.compile(rf"{_NEWLINE}[^\S\r\n]*{_NEWLINE}\s*")
_INK = re.compile(r"\S")
_PIECE = 8_000
"""Most characters a splitter sees at once."""

_CONTEXT = 500
"""Characters around a sentence start that a splitter has to have seen for it to count."""


@runtime_checkable
class SentenceSplitter(Protocol):
    """Finds where sentences start. Any object with this method will do."""

    def starts(self, text: str) -> Iterable[int]:
        """Find the sentences of a text without blank lines.

        :param text: Part of a document, with neither lone surrogates nor blank lines, of at most
            8,000 characters; a longer part comes in pieces.
        :return: The offset of the first character of each sentence, in characters, from 0 to
            ``len(text)``. White space may be on either side; the first offset may be left out.
        """
        ...


Sentences = Literal["auto", "lines"] | SentenceSplitter
"""``"auto"``: by sentencex. ``"lines"``: every line is a sentence. Or a splitter of your own."""


class SentencexSplitter:
    """Sentences by the rules of sentencex, which knows about 300 languages.

    :param language: An ISO 639 code. A language it does not know falls back to a related one.
    """

    def __init__(self, language: str = "en") -> None:
        self._language = language

    def starts(self, text: str) -> list[int]:
        """Find the sentences of a text.

        :param text: Any text without lone surrogates.
        :return: Start offsets.
        """
        return [found["start_index"] for found in sentencex.get_sentence_boundaries(self._language, text)]


class LineSplitter:
    r"""Every line is a sentence; lines end at ``\n``, ``\r\n`` or ``\r`` only."""

    def starts(self, text: str) -> list[int]:
        """Find the lines of a text.

        :param text: Any text.
        :return: Start offsets.
        """
        return [0, *(match.end() for match in _LINE_END.finditer(text))]


def resolve_splitter(sentences: Sentences) -> SentenceSplitter:
    """Turn the user's choice into a splitter.

    :param sentences: A name or a splitter.
    :return: The splitter.
    :raises ConfigError: If it is neither.
    """
    if isinstance(sentences, str):
        if sentences == "auto":
            return SentencexSplitter()
        if sentences == "lines":
            return LineSplitter()
    elif isinstance(sentences, SentenceSplitter):
        return sentences
    raise ConfigError(
        f"got sentences={sentences!r}, expected 'auto', 'lines' or an object with a method starts(text)"
    )


def split_sentences(text: str, splitter: SentenceSplitter) -> list[Sentence]:
    """Split a text into sentences that, joined, are the text.

    A blank line always ends a sentence, and the next one starts a paragraph.

    :param text: Any string, lone surrogates included.
    :param splitter: Finds the sentences between blank lines.
    :return: The sentences in order; none for an empty text, one for a blank text.
    :raises InputError: If the splitter gives an offset outside of its text.
    """
    if not text:
        return []
    readable = replace_surrogates(text)
    starts: list[int] = [0]
    opens_paragraph: list[bool] = [False]
    for block_start, block_end in _blocks(readable):
        block = readable[block_start:block_end]
        for number, offset in enumerate(_inked_starts(block, splitter)):
            start = block_start + offset
            if start <= starts[-1] or (starts[-1] == 0 and not _INK.search(readable, 0, start)):
                continue
            starts.append(start)
            opens_paragraph.append(number == 0)
    ends = [*starts[1:], len(text)]
    return [
        Sentence(text=text[start:end], start=start, end=end, starts_paragraph=flag)
        for start, end, flag in zip(starts, ends, opens_paragraph, strict=True)
    ]


def split_document(document: Document, splitter: SentenceSplitter) -> list[Sentence]:
    """Split a document, whose blocks and headings are sentences each.

    Where its paragraphs are known, line ends inside them do not matter: wrapped and flowing text is the same.

    :param document: The document.
    :param splitter: Finds the sentences of the rest.
    :return: The sentences, which cover it.
    :raises InputError: If the splitter gives an offset outside of its text.
    """
    if document.paragraphs is None:
        return split_sentences(document.text, splitter)
    whole = {block.start: block.end for block in document.blocks}
    whole |= {section.start: section.body for section in document.sections}
    starts = _outside(sorted({0, *document.paragraphs, *whole, *whole.values()}), whole, len(document.text))
    sentences: list[Sentence] = []
    for start, end in pairwise([*starts, len(document.text)]):
        text = document.text[start:end]
        if not text.strip() and sentences:  # White space belongs to what is before it.
            last = sentences[-1]
            sentences[-1] = replace(last, text=last.text + text, end=end)
            continue
        found = [Sentence(text, start, end)]
        if start not in whole and text:
            found = split_sentences(_LINE_END.sub(lambda match: " " * len(match[0]), text), splitter)
        for number, part in enumerate(found):
            first, last_ = (
                (part.start, part.end) if start in whole else (start + part.start, start + part.end)
            )
            sentences.append(
                Sentence(document.text[first:last_], first, last_, bool(sentences) and number == 0)
            )
    return _inked(sentences)


def _outside(places: list[int], whole: dict[int, int], length: int) -> list[int]:
    """Those that lie in no block and before the end."""
    found: list[int] = []
    end = 0
    for place in places:
        if end <= place < length:
            found.append(place)
            end = max(end, whole.get(place, 0))
    return found


def _inked(sentences: list[Sentence]) -> list[Sentence]:
    """Join a blank first sentence to the one behind it."""
    if len(sentences) < 2 or sentences[0].text.strip():
        return sentences
    first, second = sentences[:2]
    return [Sentence(first.text + second.text, first.start, second.end), *sentences[2:]]


def paragraph_flags(sentences: Sequence[Sentence]) -> NDArray[np.bool_]:
    """Which sentences start a paragraph after a blank line.

    :param sentences: The sentences of a document.
    :return: A flag each; never set for the first. *Shape:* ``(n_sentences,)``.
    """
    return np.array([sentence.starts_paragraph for sentence in sentences], dtype=np.bool_)


def _blocks(text: str) -> Iterator[tuple[int, int]]:
    """Spans between blank lines; they bound what a splitter sees, and its memory."""
    start = 0
    for match in _BLANK_LINES.finditer(text):
        yield start, match.start()
        start = match.end()
    yield start, len(text)


def _inked_starts(block: str, splitter: SentenceSplitter) -> list[int]:
    """Sentence starts of a block, each moved on to its first character that is not white space."""
    found = set()
    for start in _starts(block, splitter) if len(block) > _PIECE else (0, *_checked_starts(block, splitter)):
        # Most starts are there already; a search would take longer than all the rest.
        if start < len(block) and not block[start].isspace():
            found.add(start)
        elif ink := _INK.search(block, start):
            found.add(ink.start())
    return sorted(found)


def _starts(block: str, splitter: SentenceSplitter) -> Iterator[int]:
    """Sentence starts of a block, found piece by piece: splitters may be quadratic in what they see.

    The next piece starts at the last sentence of the one before, or where there was none a little before
    its end, so that each sentence start is found with the text around it.
    """
    yield 0
    position = known = 0
    while True:
        piece = block[position : position + _PIECE]
        is_last = position + _PIECE >= len(block)
        found = sorted(start for start in _checked_starts(piece, splitter) if start > known)
        if not is_last:
            found = [start for start in found if start <= _PIECE - _CONTEXT]
        yield from (position + start for start in found)
        if is_last:
            return
        position += found[-1] if found else _PIECE - 2 * _CONTEXT
        known = 0 if found else _CONTEXT


def _checked_starts(text: str, splitter: SentenceSplitter) -> list[int]:
    starts = list(splitter.starts(text))
    for start in (min(starts), max(starts)) if starts else ():
        if not 0 <= start <= len(text):
            raise InputError(
                f"got sentence start {start} from {type(splitter).__name__}, "
                f"expected 0 to {len(text)}: offsets count characters of the given text"
            )
    return starts
