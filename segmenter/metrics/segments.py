"""Measures over segmentations, which forgive a near miss."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from segmenter.errors import InputError

__all__ = [
    "BoundaryEdits",
    "WindowErrors",
    "boundary_edits",
    "boundary_similarity",
    "half_mean_segment",
    "pk",
    "segment_lengths",
    "window_diff",
    "window_errors",
]

Lengths = Sequence[int] | NDArray[np.integer]


class WindowErrors(NamedTuple):
    """What Pk and WindowDiff are made of.

    :ivar k: Sentences between the ends of a window.
    :ivar windows: Windows in the document, the denominator: ``max(0, n_sentences - k)``.
    :ivar pk: Windows whose ends are wrongly put together or apart.
    :ivar window_diff: Windows that do not hold the same number of boundaries.
    """

    k: int
    windows: int
    pk: int
    window_diff: int


class BoundaryEdits(NamedTuple):
    """What turns one segmentation into the other.

    :ivar matches: Boundaries both have.
    :ivar near: Pairs of boundaries that lie apart, but closer than ``n_t``.
    :ivar full: Boundaries that only one has.
    :ivar cost: What the near pairs cost together, each its distance divided by ``n_t``.
    """

    matches: int
    near: int
    full: int
    cost: float


def segment_lengths(boundaries: NDArray[np.bool_]) -> tuple[int, ...]:
    """Turn flags over gaps into segment lengths.

    :param boundaries: Which gaps are boundaries. *Shape:* ``(n_gaps,)``.
    :return: Length of each segment in sentences, 1 or more; they add up to ``n_gaps + 1``.
    """
    edges = np.concatenate([[0], np.flatnonzero(boundaries) + 1, [len(boundaries) + 1]])
    return tuple(int(length) for length in np.diff(edges))


def half_mean_segment(reference: Lengths) -> int:
    """The usual k of Pk and WindowDiff: half the mean length of a reference segment.

    As segeval has it: rounded to the nearest whole number, a half to the nearest even one, and at
    least 2. (nltk takes at least 1 and rounds a half up or down by its version.)

    :param reference: Lengths of the segments, in sentences.
    :return: 2 or more.
    """
    return max(2, round(int(np.sum(reference)) / len(reference) / 2))


def pk(reference: Lengths, hypothesis: Lengths, k: int | None = None) -> float:
    """Probability that two sentences k apart are wrongly put together or apart.

    Beeferman, Berger and Lafferty (1999), "Statistical Models for Text Segmentation": the share of the
    ``n_sentences - k`` windows whose two ends are in one segment here and in two there.

    :param reference: Lengths of the segments, in sentences, each 1 or more.
    :param hypothesis: The same, of the same sum.
    :param k: 1 or more; None for :func:`half_mean_segment`.
    :return: 0 (best) to 1; 0 if the document has no two sentences that far apart.
    :raises InputError: If a length is below 1, or the sums differ.
    """
    errors = window_errors(reference, hypothesis, k)
    return errors.pk / errors.windows if errors.windows else 0.0


def window_diff(reference: Lengths, hypothesis: Lengths, k: int | None = None) -> float:
    """Share of windows that do not hold the same number of boundaries.

    Pevzner and Hearst (2002), "A Critique and Improvement of an Evaluation Metric for Text
    Segmentation"; the denominator is ``n_sentences - k``, a window having k gaps.

    :param reference: Lengths of the segments, in sentences, each 1 or more.
    :param hypothesis: The same, of the same sum.
    :param k: 1 or more; None for :func:`half_mean_segment`.
    :return: 0 (best) to 1; 0 if the document has no two sentences that far apart.
    :raises InputError: If a length is below 1, or the sums differ.
    """
    errors = window_errors(reference, hypothesis, k)
    return errors.window_diff / errors.windows if errors.windows else 0.0


def window_errors(reference: Lengths, hypothesis: Lengths, k: int | None = None) -> WindowErrors:
    """Count the windows of k gaps that are wrong, for figures over several documents.

    :param reference: Lengths of the segments, in sentences, each 1 or more.
    :param hypothesis: The same, of the same sum.
    :param k: 1 or more; None for :func:`half_mean_segment`.
    :return: The counts.
    :raises InputError: If a length is below 1, or the sums differ, or k is below 1.
    """
    edges = _edges(reference, hypothesis)
    width = half_mean_segment(reference) if k is None else k
    if width < 1:
        raise InputError(f"got k={k}, expected 1 or more")
    n_sentences = int(edges[0][-1])
    if width >= n_sentences:
        return WindowErrors(width, 0, 0, 0)
    # Number of the segment of each sentence.
    here, there = (
        np.repeat(np.arange(len(lengths)), np.diff(ends, prepend=0))
        for lengths, ends in zip((reference, hypothesis), edges, strict=True)
    )
    inside_here, inside_there = here[width:] - here[:-width], there[width:] - there[:-width]
    return WindowErrors(
        k=width,
        windows=n_sentences - width,
        pk=int(np.count_nonzero((inside_here > 0) != (inside_there > 0))),
        window_diff=int(np.count_nonzero(inside_here != inside_there)),
    )


def boundary_similarity(reference: Lengths, hypothesis: Lengths, n_t: int = 2) -> float:
    """One minus the cost of the edits for each boundary that matches, nearly matches or does not.

    Fournier (2013), "Evaluating Text Segmentation using Boundary Edit Distance", for boundaries of one
    type: ``1 - (full + cost) / (full + near + matches)``, a near pair costing its distance / ``n_t``.

    :param reference: Lengths of the segments, in sentences, each 1 or more.
    :param hypothesis: The same, of the same sum.
    :param n_t: Boundaries closer than this are near; 1 for none, 2 for neighbours.
    :return: 0 to 1 (best); 1 if neither has a boundary.
    :raises InputError: If a length is below 1, or the sums differ, or n_t is below 1.
    """
    edits = boundary_edits(reference, hypothesis, n_t)
    total = edits.full + edits.near + edits.matches
    return 1 - (edits.full + edits.cost) / total if total else 1.0


def boundary_edits(reference: Lengths, hypothesis: Lengths, n_t: int = 2) -> BoundaryEdits:
    """Pair up boundaries, near ones from left to right, the closest kind first.

    :param reference: Lengths of the segments, in sentences, each 1 or more.
    :param hypothesis: The same, of the same sum.
    :param n_t: Boundaries closer than this are near; 1 for none, 2 for neighbours.
    :return: The counts.
    :raises InputError: If a length is below 1, or the sums differ, or n_t is below 1.
    """
    if n_t < 1:
        raise InputError(f"got n_t={n_t}, expected 1 or more")
    here, there = (set(ends[:-1].tolist()) for ends in _edges(reference, hypothesis))
    # Which side each unmatched boundary is on.
    single = {place: place in here for place in here ^ there}
    near, cost = 0, 0
    for distance in range(1, n_t):
        for place in sorted(single):
            other = place + distance
            if place in single and other in single and single[place] != single[other]:
                near += 1
                cost += distance
                del single[place], single[other]
    return BoundaryEdits(len(here & there), near, len(single), cost / n_t)


def _edges(reference: Lengths, hypothesis: Lengths) -> list[NDArray[np.int64]]:
    """Where the segments of both end."""
    for lengths in (reference, hypothesis):
        if not len(lengths) or min(lengths) < 1:
            raise InputError(f"got segment lengths {list(lengths)[:8]}, expected one or more, each 1 or more")
    edges = [np.cumsum(np.asarray(lengths, dtype=np.int64)) for lengths in (reference, hypothesis)]
    if edges[0][-1] != edges[1][-1]:
        raise InputError(
            f"got segmentations of {edges[0][-1]} and {edges[1][-1]} sentences, expected the same number: "
            "both are of one document"
        )
    return edges
