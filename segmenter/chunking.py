"""From boundaries to chunks."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from segmenter.document import Chunk, Sentence

__all__ = ["join_sentences"]


def join_sentences(
    text: str,
    sentences: Sequence[Sentence],
    token_counts: NDArray[np.int64],
    probabilities: NDArray[np.float32],
    boundaries: Sequence[int],
) -> tuple[Chunk, ...]:
    """Join sentences into chunks.

    :param text: The document.
    :param sentences: Its sentences, which cover it.
    :param token_counts: Tokens of each. *Shape:* ``(n_sentences,)``.
    :param probabilities: P(boundary) per gap. *Shape:* ``(n_sentences - 1,)``.
    :param boundaries: Sentence numbers that open a chunk, in order, 0 not among them.
    :return: The chunks, which cover the document.
    """
    if not sentences:
        return ()
    firsts = (0, *boundaries)
    totals = np.concatenate([[0], np.cumsum(token_counts)])
    chunks = []
    for index, (first, last) in enumerate(zip(firsts, (*boundaries, len(sentences)), strict=True)):
        start, end = sentences[first].start, sentences[last - 1].end
        chunks.append(
            Chunk(
                text=text[start:end],
                start=start,
                end=end,
                token_count=int(totals[last] - totals[first]),
                index=index,
                probability=float(probabilities[first - 1]) if first else None,
            )
        )
    return tuple(chunks)
