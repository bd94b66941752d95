"""Measures over gaps: boundaries found or missed, and probabilities of them."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BoundaryScores",
    "CalibrationCurve",
    "average_precision",
    "best_threshold",
    "calibration_curve",
    "precision_recall_curve",
    "precision_recall_f1",
]


class BoundaryScores(NamedTuple):
    """How well boundaries were found.

    :ivar precision: Share of the found boundaries that are right, 0 to 1; 0 if none was found.
    :ivar recall: Share of the boundaries that were found, 0 to 1; 0 if there is none.
    :ivar f1: Harmonic mean of both, 0 to 1.
    """

    precision: float
    recall: float
    f1: float


class CalibrationCurve(NamedTuple):
    """How often gaps of like probability are boundaries.

    :ivar predicted: Mean probability of each bin that holds gaps, rising. *Shape:* ``(n_bins,)``.
    :ivar observed: Share of its gaps that are boundaries. *Shape:* ``(n_bins,)``.
    :ivar counts: Its gaps. *Shape:* ``(n_bins,)``.
    :ivar error: Expected calibration error: the mean of ``|observed - predicted|`` over gaps, 0 to 1.
    """

    predicted: NDArray[np.float64]
    observed: NDArray[np.float64]
    counts: NDArray[Any]
    error: float


def precision_recall_f1(reference: NDArray[np.bool_], hypothesis: NDArray[np.bool_]) -> BoundaryScores:
    """Compare boundaries, all gaps taken together, a near miss being a miss.

    Precision is hits / found, recall hits / true, F1 2 hits / (found + true); van Rijsbergen (1979),
    "Information Retrieval".

    :param reference: Which gaps are boundaries. *Shape:* ``(n_gaps,)``.
    :param hypothesis: Which gaps were taken for boundaries. *Shape:* ``(n_gaps,)``.
    :return: Precision, recall and F1 of the boundary class.
    """
    hits = int(np.count_nonzero(reference & hypothesis))
    n_found, n_reference = int(np.count_nonzero(hypothesis)), int(np.count_nonzero(reference))
    return BoundaryScores(
        precision=hits / n_found if n_found else 0.0,
        recall=hits / n_reference if n_reference else 0.0,
        f1=2 * hits / (n_found + n_reference) if n_found + n_reference else 0.0,
    )


def average_precision(reference: NDArray[np.bool_], scores: NDArray[Any]) -> float:
    """Area under precision over recall, as steps: the sum of (R_n - R_(n-1)) P_n.

    Gaps of equal score count as one step, so their order does not matter; scikit-learn's definition.

    :param reference: *Shape:* ``(n_gaps,)``.
    :param scores: Higher means likelier a boundary. *Shape:* ``(n_gaps,)``.
    :return: 0 to 1; 0 if there is no boundary.
    """
    precision, recall, _ = precision_recall_curve(reference, scores)
    return float(np.sum(np.diff(recall, prepend=0.0) * precision))


def best_threshold(reference: NDArray[np.bool_], probabilities: NDArray[Any]) -> float:
    """Find the threshold of the highest F1, gaps above it being cut.

    :param reference: At least one boundary. *Shape:* ``(n_gaps,)``.
    :param probabilities: 0 to 1. *Shape:* ``(n_gaps,)``.
    :return: Halfway between the lowest probability that is cut and the next below it.
    """
    precision, recall, values = precision_recall_curve(reference, probabilities)
    with np.errstate(invalid="ignore"):
        f1 = np.nan_to_num(2 * precision * recall / (precision + recall))
    return halfway_below(values, int(np.argmax(f1)))


def halfway_below(values: NDArray[Any], index: int) -> float:
    """A threshold that cuts at one of the scores of a curve and at no lower one.

    :param values: Falling scores, 0 to 1. *Shape:* ``(n_scores,)``.
    :param index: The lowest score to cut.
    :return: Halfway to the next one, or to 0.
    """
    below = values[index + 1] if index + 1 < len(values) else 0.0
    return float((values[index] + below) / 2)


def precision_recall_curve(
    reference: NDArray[np.bool_], scores: NDArray[Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[Any]]:
    """Precision and recall of cutting at every gap at or above each distinct score.

    :param reference: *Shape:* ``(n_gaps,)``.
    :param scores: Higher means likelier a boundary. *Shape:* ``(n_gaps,)``.
    :return: Precision, recall and score, the scores falling. *Shape:* ``(n_scores,)`` each.
    """
    order = np.argsort(-scores, kind="stable")
    ordered = scores[order]
    last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True)) if len(ordered) else order
    hits = np.cumsum(reference[order])[last]
    precision = hits / (last + 1)
    recall = hits / max(1, int(np.count_nonzero(reference)))
    return precision, recall, ordered[last]


def calibration_curve(
    reference: NDArray[np.bool_],
    probabilities: NDArray[Any],
    bins: int = 10,
) -> CalibrationCurve:
    """Compare probabilities with what came true.

    Naeini et al. (2015), "Obtaining Well Calibrated Probabilities Using Bayesian Binning", with bins
    of equal width.

    :param reference: *Shape:* ``(n_gaps,)``.
    :param probabilities: 0 to 1. *Shape:* ``(n_gaps,)``.
    :param bins: Number of bins between 0 and 1.
    :return: The curve.
    """
    place = np.minimum((probabilities * bins).astype(np.int64), bins - 1)
    counts, predicted, observed = (
        np.bincount(place, weights=values, minlength=bins)
        for values in (np.ones(len(place)), probabilities.astype(np.float64), reference)
    )
    held = counts > 0
    counts, predicted, observed = counts[held], predicted[held], observed[held]
    error = float(np.abs(observed - predicted).sum() / counts.sum()) if len(counts) else 0.0
    return CalibrationCurve(predicted / counts, observed / counts, counts, error)
