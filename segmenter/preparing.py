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
from segmenter.document import Document, Sentence
from segmenter.errors import InputError
from segmenter.profiling import Profile
from segmenter.readability import Vocabulary
from segmenter.segmentation import pack_sentences, unpack_sentences
from segmenter.sentences import (
    Sentences,
    SentenceSplitter,
    paragraph_flags,
    resolve_splitter,
    split_document,
)
from segmenter.tokenizing import SentenceTokenizer
from segmenter.windows import TokenStream, WindowBuilder, Windows, candidate_gaps, with_gaps_inside

__all__ = ["Prepared", "Preparer"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A document on its way to the model.

    :ivar document: The document; its text is ``""`` if it was given as sentences.
    :ivar sentences: Its sentences; none if it was given as sentences.
    :ivar stream: Its tokens.
    :ivar windows: What the model is to read of it.
    :ivar at_breaks: Whether only its paragraph breaks are scored.
    :ivar unreadable_share: Share of its words that the vocabulary cannot read, 0 to 1.
    """

    document: Document
    sentences: tuple[Sentence, ...]
    stream: TokenStream
    windows: Windows
    at_breaks: bool
    unreadable_share: float

    def __reduce__(self) -> tuple[Any, ...]:
        """Be sent to another process without every sentence for itself."""
        rest = self.stream, self.windows, self.at_breaks, self.unreadable_share
        return _unpacked, (self.document, *pack_sentences(self.sentences), *rest)


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
        self.tokenizer = SentenceTokenizer(checkpoint.vocabulary)
        self._vocabulary = Vocabulary(checkpoint.vocabulary, checkpoint.unk_id)

    def prepare(self, text: str | Document, profile: Profile, max_tokens: int | None = None) -> Prepared:
        """Prepare a text.

        :param text: Any string, or a document.
        :param profile: Counts the time.
        :param max_tokens: Longest chunk there may be: paragraphs that are longer are looked into, where
            else only their breaks are scored; None for any.
        :return: What the model needs of it.
        :raises InputError: If it is not a string.
        """
        document = text if isinstance(text, Document) else Document(text=text)
        _check_text(document.text)
        with profile.stage("splitting"):
            sentences = tuple(split_document(document, self.splitter))
        strings = [sentence.text for sentence in sentences]
        return self._tokenized(document, sentences, strings, paragraph_flags(sentences), profile, max_tokens)

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
        return self._tokenized(Document(text=""), (), sentences, flags, profile)

    def _tokenized(
        self,
        document: Document,
        sentences: tuple[Sentence, ...],
        strings: Sequence[str],
        paragraph_starts: NDArray[np.bool_],
        profile: Profile,
        max_tokens: int | None = None,
    ) -> Prepared:
        with profile.stage("tokenizing"):
            ids = self.tokenizer.encode(strings)
            stream = TokenStream.join(ids, paragraph_starts, self._mark_id)
            unreadable = self._vocabulary.unreadable_share(stream.ids)
        with profile.stage("windows"):
            gaps = candidate_gaps(len(strings), paragraph_starts, self._candidates)
            if max_tokens is not None and self._candidates == "auto":
                gaps = with_gaps_inside(gaps, stream.ends - stream.starts, max_tokens)
            windows = self.builder.build(stream, gaps)
        at_breaks = self._candidates != "all" and bool(paragraph_starts[1:].any())
        return Prepared(document, sentences, stream, windows, at_breaks, unreadable)


def _unpacked(
    document: Document,
    starts: NDArray[np.int64],
    flags: NDArray[np.bool_],
    *rest: Any,
) -> Prepared:
    return Prepared(document, unpack_sentences(document.text, starts, flags), *rest)


def _check_text(text: object) -> None:
    if not isinstance(text, str):
        raise InputError(f"got a {type(text).__name__}, expected a str; decode bytes first")
