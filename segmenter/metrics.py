"""How good probabilities and boundaries are, beside a reference.

Boundaries are flags over the gaps of a document: entry ``g`` says whether a section starts after
sentence ``g``.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BoundaryScores",
    "average_precision",
    "best_threshold",
    "boundary_scores",
    "half_mean_section",
    "pk",
    "window_diff",
]


@dataclass(frozen=True, slots=True)
class BoundaryScores:
    """How well boundaries were found, all gaps taken together.

    :ivar precision: Share of the found boundaries that are right, 0 to 1; 0 if none was found.
    :ivar recall: Share of the boundaries that were found, 0 to 1; 0 if there is none.
    :ivar f1: Harmonic mean of both, 0 to 1.
    """

    precision: float
    recall: float
    f1: float


def boundary_scores(reference: NDArray[np.bool_], found: NDArray[np.bool_]) -> BoundaryScores:
    """Compare boundaries, a near miss being a miss.

    :param reference: *Shape:* ``(n_gaps,)``.
    :param found: *Shape:* ``(n_gaps,)``.
    :return: Precision, recall and F1 of the boundary class.
    """
    hits = int(np.count_nonzero(reference & found))
    n_found, n_reference = int(np.count_nonzero(found)), int(np.count_nonzero(reference))
    return BoundaryScores(
        precision=hits / n_found if n_found else 0.0,
        recall=hits / n_reference if n_reference else 0.0,
        f1=2 * hits / (n_found + n_reference) if n_found + n_reference else 0.0,
    )


def average_precision(reference: NDArray[np.bool_], scores: NDArray[Any]) -> float:
    """Area under precision over recall, as steps: the sum of (R_n - R_(n-1)) P_n.

    Gaps of equal score count as one step, so their order does not matter.

    :param reference: *Shape:* ``(n_gaps,)``.
    :param scores: Higher means likelier a boundary. *Shape:* ``(n_gaps,)``.
    :return: 0 to 1; 0 if there is no boundary.
    """
    precision, recall, _ = _curve(reference, scores)
    return float(np.sum(np.diff(recall, prepend=0.0) * precision))


def best_threshold(reference: NDArray[np.bool_], probabilities: NDArray[Any]) -> float:
    """Find the threshold of the highest F1, gaps above it being cut.

    :param reference: At least one boundary. *Shape:* ``(n_gaps,)``.
    :param probabilities: 0 to 1. *Shape:* ``(n_gaps,)``.
    :return: Halfway between the lowest probability that is cut and the next below it.
    """
    precision, recall, values = _curve(reference, probabilities)
    with np.errstate(invalid="ignore"):
        f1 = np.nan_to_num(2 * precision * recall / (precision + recall))
    best = int(np.argmax(f1))
    below = values[best + 1] if best + 1 < len(values) else 0.0
    return float((values[best] + below) / 2)


def half_mean_section(reference: NDArray[np.bool_]) -> int:
    """The usual k of Pk and WindowDiff: half the mean length of a reference section, in sentences.

    :param reference: *Shape:* ``(n_gaps,)``.
    :return: At least 1.
    """
    n_sentences = len(reference) + 1
    return max(1, round(n_sentences / (np.count_nonzero(reference) + 1) / 2))


def pk(reference: NDArray[np.bool_], found: NDArray[np.bool_], k: int | None = None) -> float:
    """Probability that two sentences k apart are wrongly put together or apart.

    Beeferman, Berger and Lafferty (1999), "Statistical Models for Text Segmentation", for one
    document; the denominator is the number of pairs, ``n_sentences - k``.

    :param reference: *Shape:* ``(n_gaps,)``.
    :param found: *Shape:* ``(n_gaps,)``.
    :param k: 1 or more; None for :func:`half_mean_section`.
    :return: 0 (best) to 1; 0 if the document has no two sentences that far apart.
    """
    inside_reference, inside_found = _counts(reference, found, k)
    if not len(inside_reference):
        return 0.0
    return float(np.mean((inside_reference > 0) != (inside_found > 0)))


def window_diff(reference: NDArray[np.bool_], found: NDArray[np.bool_], k: int | None = None) -> float:
    """Share of windows of k gaps that do not hold the same number of boundaries.

    Pevzner and Hearst (2002), "A Critique and Improvement of an Evaluation Metric for Text
    Segmentation", for one document; the denominator is ``n_sentences - k``.

    :param reference: *Shape:* ``(n_gaps,)``.
    :param found: *Shape:* ``(n_gaps,)``.
    :param k: 1 or more; None for :func:`half_mean_section`.
    :return: 0 (best) to 1; 0 if the document has no two sentences that far apart.
    """
    inside_reference, inside_found = _counts(reference, found, k)
    if not len(inside_reference):
        return 0.0
    return float(np.mean(inside_reference != inside_found))


def _counts(
    reference: NDArray[np.bool_], found: NDArray[np.bool_], k: int | None
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Boundaries inside every window of k gaps."""
    width = half_mean_section(reference) if k is None else k

    def inside(flags: NDArray[np.bool_]) -> NDArray[np.int64]:
        total = np.concatenate([[0], np.cumsum(flags)])
        result: NDArray[np.int64] = total[width:] - total[: len(total) - width]
        return result

    if width > len(reference):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    return inside(reference), inside(found)


def _curve(
    reference: NDArray[np.bool_], scores: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[Any]]:
    """Precision and recall of cutting at every gap at or above each distinct score, falling."""
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True)) if len(ordered) else order
    hits = np.cumsum(reference[order])[last]
    precision = hits / (last + 1)
    recall = hits / max(1, int(np.count_nonzero(reference)))
    return precision, recall, ordered[last]
