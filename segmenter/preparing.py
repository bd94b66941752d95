"""From a text to the windows the model reads: all that comes before the model.

It needs no torch, and what it makes can be sent between processes.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segmenter.checkpoint import LightCheckpoint
from segmenter.document import Sentence
from segmenter.errors import InputError
from segmenter.profiling import Profile
from segmenter.readability import Vocabulary
from segmenter.sentences import (
    Sentences,
    SentenceSplitter,
    paragraph_flags,
    resolve_splitter,
    split_sentences,
)
from segmenter.tokenizing import SentenceTokenizer
from segmenter.windows import TokenStream, WindowBuilder, Windows, candidate_gaps

__all__ = ["Prepared", "Preparer"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document on its way to the model.

    :ivar text: The document; ``""`` if it was given as sentences.
    :ivar sentences: Its sentences; none if it was given as sentences.
    :ivar stream: Its tokens.
    :ivar windows: What the model is to read of it.
    :ivar at_breaks: Whether only its paragraph breaks are scored.
    :ivar unreadable_share: Share of its words that the vocabulary cannot read, 0 to 1.
    """

    text: str
    sentences: tuple[Sentence, ...]
    stream: TokenStream
    windows: Windows
    at_breaks: bool
    unreadable_share: float

    def __reduce__(self) -> tuple[Any, ...]:
        """Be sent to another process without every sentence for itself."""
        starts = [sentence.start for sentence in self.sentences]
        flags = [sentence.starts_paragraph for sentence in self.sentences]
        rest = self.stream, self.windows, self.at_breaks, self.unreadable_share
        return _unpacked, (self.text, np.array(starts, np.int64), np.array(flags, np.bool_), *rest)


class Preparer:
    """Splits, tokenizes and cuts windows, for one checkpoint with its settings in force.

    :param checkpoint: A loaded checkpoint.
    :param sentences: How texts are split; None: as the checkpoint says.
    :raises ConfigError: If a setting is out of its range.
    """

    def __init__(self, checkpoint: LightCheckpoint, sentences: Sentences | None = None) -> None:
        self.splitter: SentenceSplitter = resolve_splitter(
            checkpoint.config.sentences if sentences is None else sentences
        )
        self.builder = WindowBuilder(
            context=checkpoint.config.context,
            max_positions=checkpoint.max_positions,
            cls_id=checkpoint.cls_id,
            sep_id=checkpoint.sep_id,
        )
        self._candidates = checkpoint.config.candidates
        self._mark_id = checkpoint.mark_id
        self._tokenizer = SentenceTokenizer(checkpoint.vocabulary)
        self._vocabulary = Vocabulary(checkpoint.vocabulary, checkpoint.unk_id)

    def prepare(self, text: str, profile: Profile) -> Prepared:
        """Prepare a text.

        :param text: Any string.
        :param profile: Counts the time.
        :return: What the model needs of it.
        :raises InputError: If it is not a string.
        """
        _check_text(text)
        with profile.stage("splitting"):
            sentences = tuple(split_sentences(text, self.splitter))
        flags = paragraph_flags(sentences)
        return self._tokenized(text, sentences, [sentence.text for sentence in sentences], flags, profile)

    def prepare_split(
        self, sentences: Sequence[str], paragraphs: Sequence[int] | None, profile: Profile
    ) -> Prepared:
        """Prepare a text that is split already.

        :param sentences: Any strings, empty ones too.
        :param paragraphs: Numbers of the sentences that start a paragraph; None if that is not known.
        :param profile: Counts the time.
        :return: What the model needs of it.
        :raises InputError: If a number is out of its range or a sentence is not a string.
        """
        for sentence in sentences:
            _check_text(sentence)
        flags = np.zeros(len(sentences), dtype=np.bool_)
        for number in () if paragraphs is None else paragraphs:
            if not isinstance(number, Integral) or not 0 <= number < len(sentences):
                raise InputError(
                    f"got paragraph start {number!r}, expected 0 to {len(sentences) - 1}: "
                    "the numbers of sentences that start a paragraph"
                )
            flags[int(number)] = True
        flags[:1] = False
        return self._tokenized("", (), sentences, flags, profile)

    def _tokenized(
        self,
        text: str,
        sentences: tuple[Sentence, ...],
        strings: Sequence[str],
        paragraph_starts: NDArray[np.bool_],
        profile: Profile,
    ) -> Prepared:
        with profile.stage("tokenizing"):
            ids = self._tokenizer.encode(strings)
            stream = TokenStream.join(ids, paragraph_starts, self._mark_id)
            unreadable = self._vocabulary.unreadable_share(stream.ids)
        with profile.stage("windows"):
            windows = self.builder.build(
                stream, candidate_gaps(len(strings), paragraph_starts, self._candidates)
            )
        at_breaks = self._candidates != "all" and bool(paragraph_starts[1:].any())
        return Prepared(text, sentences, stream, windows, at_breaks, unreadable)


def _unpacked(
    text: str,
    starts: NDArray[np.int64],
    flags: NDArray[np.bool_],
    *rest: Any,
) -> Prepared:
    bounds = [*starts.tolist(), len(text)]
    sentences = tuple(
        Sentence(text[start:end], start, end, flag)
        for start, end, flag in zip(bounds, bounds[1:], flags.tolist(), strict=False)
    )
    return Prepared(text, sentences, *rest)


def _check_text(text: object) -> None:
    if not isinstance(text, str):
        raise InputError(f"got a {type(text).__name__}, expected a str; decode bytes first")
