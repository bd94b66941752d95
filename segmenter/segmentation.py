"""The result of segmenting one document."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from segmenter.chunking import join_sentences
from segmenter.config import ChunkConfig
from segmenter.decoding import cut_at_threshold
from segmenter.document import Chunk, Sentence

__all__ = ["Segmentation"]


@dataclass(frozen=True, eq=False)
class Segmentation:
    """A document, how likely each of its gaps is a boundary, and the chunks that follow from it.

    :ivar text: The document.
    :ivar sentences: Its sentences, which cover it.
    :ivar token_counts: Tokens of each sentence by the checkpoint's tokenizer. *Shape:*
        ``(n_sentences,)``.
    :ivar probabilities: P(boundary) of each gap, 0 to 1; gap ``g`` lies before sentence ``g + 1``.
        0 where the gap was not scored. Read-only. *Shape:* ``(max(0, n_sentences - 1),)``.
    :ivar scored: Which gaps the model has seen. Read-only. *Shape:* as ``probabilities``.
    :ivar trimmed_gaps: How many gaps had a sentence beside them that did not fit into the window.
    :ivar threshold: Gaps above it are cut, 0 to 1.
    """

    text: str
    sentences: tuple[Sentence, ...]
    token_counts: NDArray[np.int64]
    probabilities: NDArray[np.float32]
    scored: NDArray[np.bool_]
    trimmed_gaps: int
    threshold: float

    @cached_property
    def boundaries(self) -> tuple[int, ...]:
        """Sentence numbers that open a chunk, in order; 0 is not among them."""
        return cut_at_threshold(self.probabilities, self.threshold)

    @cached_property
    def chunks(self) -> tuple[Chunk, ...]:
        """The chunks, whose texts joined are the document; none for an empty one."""
        return join_sentences(
            self.text, self.sentences, self.token_counts, self.probabilities, self.boundaries
        )

    def rechunk(self, config: ChunkConfig) -> "Segmentation":
        """Cut anew, without running the model again.

        :param config: How to cut.
        :return: A new result with the same probabilities.
        """
        return replace(self, threshold=self.threshold if config.threshold is None else config.threshold)

    def __repr__(self) -> str:
        return (
            f"Segmentation({len(self.text)} characters, {len(self.sentences)} sentences, "
            f"{len(self.chunks)} chunks, threshold={self.threshold:.3g})"
        )
