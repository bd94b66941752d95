"""Every measure over many draws of the documents at once."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from segmenter.metrics import (
    average_precision,
    boundary_edits,
    calibration_curve,
    segment_lengths,
    window_errors,
)

__all__ = ["MACRO", "MICRO", "resampled_figures"]

MICRO, MACRO = "micro", "macro"

Draws = NDArray[np.int64]
"""How often each document is in each draw; the first draw has each once. *Shape:*
``(1 + resamples, n_documents)``."""

Rows = dict[str, NDArray[np.float64]]
"""A measure's value in each draw. *Shape:* ``(1 + resamples,)`` each."""


class Found(Protocol):
    """What is measured of a document."""

    @property
    def reference(self) -> NDArray[np.bool_]:
        """Which gaps are boundaries. *Shape:* ``(n_gaps,)``."""
        ...

    @property
    def found(self) -> NDArray[np.bool_]:
        """Which gaps were cut. *Shape:* ``(n_gaps,)``."""
        ...

    @property
    def probabilities(self) -> NDArray[np.float32] | None:
        """P(boundary) of each gap, 0 where it was not scored. *Shape:* ``(n_gaps,)``."""
        ...


def resampled_figures(documents: Sequence[Found], resamples: int, seed: int) -> dict[str, Rows]:
    """Measure documents, and draws of them with replacement.

    :param documents: At least one.
    :param resamples: Number of draws.
    :param seed: Of the draws; the same seed and number of documents give the same draws.
    :return: Values by ``"micro"`` and ``"macro"`` and the name of the measure.
    """
    n_documents = len(documents)
    rng = np.random.default_rng(seed)
    chosen = rng.multinomial(n_documents, np.full(n_documents, 1 / n_documents), size=resamples)
    draws: Draws = np.concatenate([np.ones((1, n_documents), np.int64), chosen])
    counts = np.array([_counts(document) for document in documents], dtype=np.float64)
    figures = {MICRO: _pooled(draws @ counts), MACRO: _means(draws, documents, counts)}
    if all(document.probabilities is not None for document in documents):
        figures[MICRO] |= _over_gaps(draws, documents)
    return figures


def _counts(document: Found) -> tuple[float, ...]:
    lengths = segment_lengths(document.reference), segment_lengths(document.found)
    windows = window_errors(*lengths)
    edits = boundary_edits(*lengths)
    return (
        int(np.count_nonzero(document.reference & document.found)),
        int(np.count_nonzero(document.found)),
        int(np.count_nonzero(document.reference)),
        windows.pk,
        windows.window_diff,
        windows.windows,
        edits.full + edits.cost,
        edits.full + edits.near + edits.matches,
    )


def _pooled(counts: NDArray[np.float64]) -> Rows:
    """Measures of summed counts."""
    hits, found, true, pk, window_diff, windows, edits, boundaries = counts.T
    return {
        "precision": _ratio(hits, found),
        "recall": _ratio(hits, true),
        "f1": _ratio(2 * hits, found + true),
        "pk": _ratio(pk, windows),
        "window_diff": _ratio(window_diff, windows),
        "boundary_similarity": 1 - _ratio(edits, boundaries),
    }


def _means(draws: Draws, documents: Sequence[Found], counts: NDArray[np.float64]) -> Rows:
    """Means over documents."""
    table = _pooled(counts)
    if all(document.probabilities is not None for document in documents):
        table["average_precision"] = np.array(
            [
                average_precision(document.reference, document.probabilities)
                for document in documents
                if document.probabilities is not None
            ]
        )
    has_boundaries = counts[:, 2] > 0
    rows: Rows = {}
    for name, values in table.items():
        is_of_boundaries = name in ("precision", "recall", "f1", "average_precision")
        counted = has_boundaries if is_of_boundaries else np.ones(len(values), np.bool_)
        rows[name] = _ratio(draws @ np.where(counted, values, 0.0), draws @ counted.astype(np.float64))
    return rows


def _over_gaps(draws: Draws, documents: Sequence[Found]) -> Rows:
    """AP and calibration error of all gaps of a draw together, sorted but once."""
    reference = np.concatenate([document.reference for document in documents])
    scores = np.concatenate(
        [document.probabilities for document in documents if document.probabilities is not None]
    )
    owner = np.repeat(np.arange(len(documents)), [len(document.reference) for document in documents])
    order = np.argsort(-scores, kind="stable")
    reference, scores, owner = reference[order], scores[order], owner[order]
    last = np.flatnonzero(np.append(scores[1:] != scores[:-1], True)) if len(scores) else order
    scored = scores > 0
    areas, errors = np.zeros(len(draws)), np.zeros(len(draws))
    for number, draw in enumerate(draws):
        weights = draw[owner]
        hits = np.cumsum(weights * reference)[last]
        if len(hits) and hits[-1]:
            precision = _ratio(hits, np.cumsum(weights)[last])
            areas[number] = np.sum(np.diff(hits, prepend=0) * precision) / hits[-1]
        errors[number] = calibration_curve(reference[scored], scores[scored], weights=weights[scored]).error
    return {"average_precision": areas, "calibration_error": errors}


def _ratio(above: NDArray[Any], below: NDArray[Any]) -> NDArray[np.float64]:
    """A quotient, 0 where there is nothing to divide by."""
    result: NDArray[np.float64] = np.divide(above, below, out=np.zeros(len(above)), where=below > 0)
    return result
