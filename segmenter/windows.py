"""From tokenized sentences to the windows the model reads, one per candidate gap.

A document is one flat stream of token ids, in which paragraph marks stand between paragraphs. A
window around a gap is two slices of that stream::

    [CLS] left slice [SEP] right slice [SEP]

Gap ``g`` lies between the sentences ``g`` and ``g + 1``. Trimming takes from the far end: the left
slice keeps its last tokens, the right slice its first.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segmenter.config import Candidates, Context
from segmenter.errors import ConfigError

__all__ = [
    "TokenStream",
    "WindowBuilder",
    "Windows",
    "candidate_gaps",
    "with_gaps_inside",
]

SPECIAL_TOKENS = 3
"""``[CLS]`` and two ``[SEP]``."""


@dataclass(frozen=True, slots=True)
class TokenStream:
    """The tokens of a document.

    :ivar ids: Token ids of all sentences and paragraph marks. *Shape:* ``(n_tokens,)``.
    :ivar starts: Where each sentence starts in ``ids``. *Shape:* ``(n_sentences,)``.
    :ivar ends: Where each sentence ends in ``ids``, a mark after it not counted.
        *Shape:* ``(n_sentences,)``.
    """

    ids: NDArray[np.int32]
    starts: NDArray[np.int64]
    ends: NDArray[np.int64]

    @classmethod
    def join(
        cls,
        sentences: Iterable[NDArray[np.int32]],
        paragraph_starts: NDArray[np.bool_] | None = None,
        mark_id: int | None = None,
    ) -> "TokenStream":
        """Join the sentences of a document into one stream.

        :param sentences: The token ids of each sentence, without special tokens.
        :param paragraph_starts: Which sentences start a new paragraph. *Shape:*
            ``(n_sentences,)``. None if that is not known.
        :param mark_id: The token that stands before each new paragraph, or None for no marks.
        :return: The stream.
        """
        pieces: list[NDArray[np.int32]] = []
        starts: list[int] = []
        ends: list[int] = []
        mark = None if mark_id is None else np.array([mark_id], dtype=np.int32)
        position = 0
        for number, ids in enumerate(sentences):
            if mark is not None and number and paragraph_starts is not None and paragraph_starts[number]:
                pieces.append(mark)
                position += 1
            starts.append(position)
            position += len(ids)
            ends.append(position)
            pieces.append(ids)
        return cls(
            ids=np.concatenate(pieces, dtype=np.int32) if pieces else np.zeros(0, np.int32),
            starts=np.array(starts, dtype=np.int64),
            ends=np.array(ends, dtype=np.int64),
        )


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows over one stream, as slices of it.

    :ivar gaps: The gap each window is around. *Shape:* ``(n_windows,)``.
    :ivar bounds: Start and end of the left slice, start and end of the right slice.
        *Shape:* ``(n_windows, 4)``.
    :ivar trimmed: Whether a sentence beside the gap did not fit. *Shape:* ``(n_windows,)``.
    """

    stream: TokenStream
    gaps: NDArray[np.int64]
    bounds: NDArray[np.int64]
    trimmed: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.gaps)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Tokens of each window, special ones included. *Shape:* ``(n_windows,)``."""
        b = self.bounds
        return b[:, 1] - b[:, 0] + b[:, 3] - b[:, 2] + SPECIAL_TOKENS

    def sides(self, index: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Left and right token ids of one window.

        :param index: The number of the window.
        :return: Left ids, right ids.
        """
        a, b, c, d = self.bounds[index]
        return self.stream.ids[a:b], self.stream.ids[c:d]


@dataclass(frozen=True, slots=True)
class WindowBuilder:
    """Cuts windows that fit a model.

    :ivar context: What stands on each side of the gap.
    :ivar max_positions: Positions of the model, special tokens included.
    :ivar cls_id: Id of the first token.
    :ivar sep_id: Id of the separator.
    """

    context: Context
    max_positions: int
    cls_id: int
    sep_id: int

    def __post_init__(self) -> None:
        if self.max_positions < SPECIAL_TOKENS + 2:
            raise ConfigError(
                f"got a model of {self.max_positions} positions, expected at least {SPECIAL_TOKENS + 2}: "
                "a window needs three special tokens and one token a side"
            )
        if isinstance(self.context, str):
            if self.context != "sentence":
                raise ConfigError(f"got context={self.context!r}, expected 'sentence' or tokens a side")
        elif not 1 <= self.context <= self.widest_side:
            raise ConfigError(
                f"got context={self.context} tokens a side, expected 1 to {self.widest_side} "
                f"for a model of {self.max_positions} positions"
            )

    @property
    def widest_side(self) -> int:
        """Most tokens a side may have.

        For 512 positions this is 255, the limit of the published recipe. Two sides of that width are
        one token too many, which the far end of the right side gives up.
        """
        return (self.max_positions - SPECIAL_TOKENS + 1) // 2

    def build(self, stream: TokenStream, gaps: NDArray[np.int64]) -> Windows:
        """Cut the windows around some gaps.

        :param stream: The document.
        :param gaps: The gaps, each from 0 to ``n_sentences - 2``. *Shape:* ``(n_windows,)``.
        :return: One window per gap, in the same order.
        """
        after = gaps + 1
        if self.context == "sentence":
            width = self.widest_side
            # The mark of a new paragraph belongs to the left side, so that the right side starts
            # with its sentence.
            left_limit, right_limit = stream.starts[gaps], stream.ends[after]
        else:
            width = self.context
            left_limit, right_limit = np.zeros_like(gaps), np.full_like(gaps, len(stream.ids))
        middle = stream.starts[after]
        left = np.maximum(middle - width, left_limit)
        room = self.max_positions - SPECIAL_TOKENS - (middle - left)
        right = np.minimum(middle + np.minimum(width, room), right_limit)
        return Windows(
            stream=stream,
            gaps=gaps,
            bounds=np.stack([left, middle, middle, right], axis=1),
            trimmed=(left > stream.starts[gaps]) | (right < stream.ends[after]),
        )

    def pad(
        self, sides: list[tuple[NDArray[np.int32], NDArray[np.int32]]], pad_id: int
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Lay windows out as one batch, padded on the right to the longest.

        :param sides: Left and right ids of each window.
        :param pad_id: The token to fill up with.
        :return: Input ids and attention mask. *Shape:* ``(n_windows, longest)`` each.
        """
        longest = max(len(left) + len(right) for left, right in sides) + SPECIAL_TOKENS
        ids = np.full((len(sides), longest), pad_id, dtype=np.int64)
        mask = np.zeros((len(sides), longest), dtype=np.int64)
        for row, (left, right) in enumerate(sides):
            middle = len(left) + 1
            end = middle + len(right) + 1
            ids[row, 0] = self.cls_id
            ids[row, 1:middle] = left
            ids[row, middle] = self.sep_id
            ids[row, middle + 1 : end] = right
            ids[row, end] = self.sep_id
            mask[row, : end + 1] = 1
        return ids, mask


def candidate_gaps(
    n_sentences: int, paragraph_starts: NDArray[np.bool_] | None, candidates: Candidates
) -> NDArray[np.int64]:
    """The gaps to score.

    :param n_sentences: Sentences of the document, 0 or more.
    :param paragraph_starts: Which sentences start a new paragraph. *Shape:* ``(n_sentences,)``.
        None if that is not known.
    :param candidates: ``"all"``: every gap. ``"paragraphs"``: paragraph breaks only. ``"auto"``:
        paragraph breaks where the document has any, else every gap.
    :return: Gap numbers in order, each from 0 to ``n_sentences - 2``.
    """
    every = np.arange(max(0, n_sentences - 1), dtype=np.int64)
    if candidates == "all":
        return every
    if paragraph_starts is None:
        return every if candidates == "auto" else every[:0]
    breaks = every[paragraph_starts[1:]] if n_sentences else every
    return every if candidates == "auto" and not len(breaks) else breaks


def with_gaps_inside(
    gaps: NDArray[np.int64], token_counts: NDArray[np.int64], most: int
) -> NDArray[np.int64]:
    """Add the gaps of stretches that have too many tokens to stay whole.

    :param gaps: Gap numbers in order. *Shape:* ``(n_gaps,)``.
    :param token_counts: Tokens of each sentence. *Shape:* ``(n_sentences,)``.
    :param most: Tokens that a stretch between two of the gaps may have.
    :return: Gap numbers in order.
    """
    if not len(token_counts):
        return gaps
    firsts = np.concatenate([[0], gaps + 1])
    sums = np.add.reduceat(token_counts, firsts)
    lasts = np.append(gaps, len(token_counts) - 1)
    inside = [
        np.arange(first, last) for first, last in zip(firsts[sums > most], lasts[sums > most], strict=True)
    ]
    return np.unique(np.concatenate([gaps, *inside]))
