"""The result of segmenting one document."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segmenter.chunking import header_of, make_chunks
from segmenter.config import ChunkConfig
from segmenter.counting import Counter, TextTokenizer, counter_of
from segmenter.decoding import cut_at_threshold, gains
from segmenter.document import Chunk, Document, Sentence, digest
from segmenter.inside import UNDER_HEADING
from segmenter.sizing import Piece, Spans, add_context, cut_to_size

__all__ = ["Segmentation", "pack_sentences", "unpack_sentences"]


@dataclass(frozen=True, eq=False)
class Segmentation:
    """A document, how likely each of its gaps is a boundary, and the chunks that follow from it.

    :ivar document: The document.
    :ivar sentences: Its sentences, which cover it.
    :ivar token_counts: Tokens of each sentence by the checkpoint's tokenizer. *Shape:*
        ``(n_sentences,)``.
    :ivar probabilities: P(boundary) of each gap, 0 to 1; gap ``g`` lies before sentence ``g + 1``.
        0 where the gap was not scored. Read-only. *Shape:* ``(max(0, n_sentences - 1),)``.
    :ivar scored: Which gaps the model has seen. Read-only. *Shape:* as ``probabilities``.
    :ivar trimmed_gaps: How many gaps had a sentence beside them that did not fit into the window.
    :ivar threshold: Gaps above it are cut, 0 to 1.
    :ivar model: Tells the model from others.
    :ivar counter: Counts the tokens that sizes are in.
    :ivar config: How it was cut.
    """

    document: Document
    sentences: tuple[Sentence, ...]
    token_counts: NDArray[np.int64]
    probabilities: NDArray[np.float32]
    scored: NDArray[np.bool_]
    trimmed_gaps: int
    threshold: float
    model: str
    counter: Counter = field(repr=False)
    config: ChunkConfig = ChunkConfig()

    @property
    def text(self) -> str:
        """The document's text."""
        return self.document.text

    @cached_property
    def boundaries(self) -> tuple[int, ...]:
        """Sentence numbers that open a chunk, in order; 0 is not among them.

        A chunk that opens inside a sentence, which a limit of size may ask for, is not among them either.
        """
        if not self.config.counts_tokens:
            forced, held = self._structure
            cut = set(cut_at_threshold(self.probabilities, self.threshold)) - set(
                np.flatnonzero(held).tolist()
            )
            return tuple(sorted(cut | set(np.flatnonzero(forced).tolist())))
        opened = {piece.start for piece in self._pieces}
        return tuple(
            number for number, sentence in enumerate(self.sentences) if number and sentence.start in opened
        )

    @cached_property
    def chunks(self) -> tuple[Chunk, ...]:
        """The chunks, whose texts joined are the document; none for an empty one."""
        scored = np.flatnonzero(self.scored).tolist()
        chances = {self.sentences[gap + 1].start: float(self.probabilities[gap]) for gap in scored}
        return make_chunks(
            self.document,
            self._pieces,
            fingerprint=self.fingerprint,
            probabilities=chances,
            token_counts=None if self.config.counts_tokens else self._token_sums,
        )

    @property
    def fingerprint(self) -> str:
        """Of all settings that say where this was cut: other settings, another fingerprint."""
        settings = asdict(replace(self.config, threshold=self.threshold))
        tokenizer = self.counter.name if self.config.counts_tokens else ""
        return digest("model", self.model, tokenizer, sorted(settings.items()))

    def rechunk(self, config: ChunkConfig, tokenizer: TextTokenizer | None = None) -> "Segmentation":
        """Cut anew, without running the model again.

        :param config: How to cut; all of it but a threshold of None replaces what there was.
        :param tokenizer: What its sizes are in: a tokenizer of ``tokenizers`` or transformers, a tiktoken
            encoding, or a callable that takes a text and returns its tokens or their number. None: the one
            there was, at first the checkpoint's.
        :return: A new result with the same probabilities.
        :raises ConfigError: If it is not a tokenizer.
        """
        return replace(
            self,
            config=config,
            threshold=self.threshold if config.threshold is None else config.threshold,
            counter=self.counter if tokenizer is None else counter_of(tokenizer),
        )

    @cached_property
    def _pieces(self) -> list[Piece]:
        if not self.sentences:
            return []
        spans = self._spans()
        if self.config.counts_tokens:
            return cut_to_size(spans, self.config, self.counter)
        starts = [0, *(self.sentences[number].start for number in self.boundaries)]
        ends = [*starts[1:], len(self.text)]
        pieces = [Piece(start, end) for start, end in zip(starts, ends, strict=True)]
        return add_context(spans, pieces, self.config, self.counter)

    @cached_property
    def _structure(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Before which sentences a section starts, and which are the first under a heading."""
        starts = [sentence.start for sentence in self.sentences]
        sections = self.document.sections
        forced = np.isin(starts, [section.start for section in sections])
        forced[:1] = False
        return forced, np.isin(starts, [section.body for section in sections])

    def _spans(self) -> Spans:
        starts = np.array([sentence.start for sentence in self.sentences], dtype=np.int64)
        forced, held = self._structure
        worth = np.concatenate([[0.0], gains(self.probabilities, self.threshold)])
        worth[held] = UNDER_HEADING
        return Spans(
            text=self.text,
            starts=starts,
            gains=worth,
            forced=forced,
            sentences=starts.tolist(),
            items=[offset for block in self.document.blocks for offset in block.items],
            header=header_of(self.document, self.config.header),
            has_headers=self.config.header is not None or any(block.head for block in self.document.blocks),
        )

    @property
    def _token_sums(self) -> list[int]:
        if not self.sentences:
            return []
        found: list[int] = np.add.reduceat(self.token_counts, (0, *self.boundaries)).tolist()
        return found

    def __reduce__(self) -> tuple[Any, ...]:
        """Be sent to another process without every sentence for itself, nor what follows from the rest."""
        values = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "sentences"}
        return _unpacked, (values, *pack_sentences(self.sentences))

    def __repr__(self) -> str:
        return (
            f"Segmentation({len(self.text)} characters, {len(self.sentences)} sentences, "
            f"{len(self.chunks)} chunks, threshold={self.threshold:.3g})"
        )


def pack_sentences(sentences: Sequence[Sentence]) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """What tells the sentences of a text, to be sent to another process.

    :param sentences: They cover the text, or there are none.
    :return: Where each starts, and whether it starts a paragraph. *Shape:* ``(n_sentences,)`` each.
    """
    starts = np.array([sentence.start for sentence in sentences], np.int64)
    return starts, np.array([sentence.starts_paragraph for sentence in sentences], np.bool_)


def unpack_sentences(text: str, starts: NDArray[np.int64], flags: NDArray[np.bool_]) -> tuple[Sentence, ...]:
    """Make sentences again.

    :param text: What they cover.
    :param starts: As :func:`pack_sentences` gave them.
    :param flags: The same.
    :return: The sentences.
    """
    bounds = [*starts.tolist(), len(text)]
    return tuple(
        Sentence(text[start:end], start, end, flag)
        for start, end, flag in zip(bounds, bounds[1:], flags.tolist(), strict=False)
    )


def _unpacked(values: dict[str, Any], starts: NDArray[np.int64], flags: NDArray[np.bool_]) -> Segmentation:
    return Segmentation(sentences=unpack_sentences(values["document"].text, starts, flags), **values)
