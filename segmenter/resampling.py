"""Every measure over many draws of the documents at once."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from segmenter.metrics import average_precision, boundary_edits, segment_lengths, window_errors

__all__ = ["MACRO", "MICRO", "resampled_figures"]

MICRO, MACRO = "micro", "macro"

Draws = NDArray[np.int64]
"""How often each document is in each draw. *Shape:* ``(n_draws, n_documents)``."""

Rows = dict[str, NDArray[np.float64]]
"""A measure's value in each draw. *Shape:* ``(n_draws,)`` each."""

_BLOCK = 64
"""Draws at a time, which bounds the memory."""

_BINS = 10
_OF_BOUNDARIES = ("precision", "recall", "f1", "average_precision")
_OF_WINDOWS = ("pk", "window_diff")


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
    :return: Values by ``"micro"`` and ``"macro"`` and the name of the measure: first that of the documents
        as they are, then that of each draw, NaN where a draw has nothing that could be measured. *Shape:*
        ``(1 + resamples,)`` each.
    """
    n_documents = len(documents)
    rng = np.random.default_rng(seed)
    measures = _Measures(documents)
    blocks = [measures.of(np.ones((1, n_documents), np.int64))]
    for start in range(0, resamples, _BLOCK):
        size = min(_BLOCK, resamples - start)
        blocks.append(measures.of(rng.multinomial(n_documents, np.full(n_documents, 1 / n_documents), size)))
    figures: dict[str, Rows] = {}
    for kind, rows in blocks[0].items():
        figures[kind] = {name: np.concatenate([block[kind][name] for block in blocks]) for name in rows}
        for values in figures[kind].values():
            values[:1] = np.nan_to_num(values[:1])
    return figures


class _Measures:
    """What is the same in every draw, computed once."""

    def __init__(self, documents: Sequence[Found]) -> None:
        self._counts = np.array([_counts(document) for document in documents], dtype=np.float64)
        self._table, self._counted = _by_document(documents, self._counts)
        chances = [document.probabilities for document in documents]
        self._gaps = None if any(chance is None for chance in chances) else _Gaps(documents)

    def of(self, draws: Draws) -> dict[str, Rows]:
        """Measure each draw."""
        micro = _pooled(draws @ self._counts)
        if self._gaps is not None:
            micro |= self._gaps.of(draws)
        macro = {
            name: _ratio(draws @ np.where(counted, values, 0.0), draws @ counted)
            for (name, values), counted in zip(self._table.items(), self._counted, strict=True)
        }
        return {MICRO: micro, MACRO: macro}


class _Gaps:
    """All gaps together, sorted but once."""

    def __init__(self, documents: Sequence[Found]) -> None:
        reference = np.concatenate([document.reference for document in documents])
        scores = np.concatenate([d.probabilities for d in documents if d.probabilities is not None])
        owner = np.repeat(np.arange(len(documents)), [len(document.reference) for document in documents])
        order = np.argsort(-scores, kind="stable")
        self._reference, self._owner = reference[order], owner[order]
        ordered = scores[order]
        self._last = np.flatnonzero(np.append(ordered[1:] != ordered[:-1], True)) if len(ordered) else order
        # Gaps, probabilities and boundaries of each document in each bin of probability.
        scored = scores > 0
        bins = np.minimum((scores[scored] * _BINS).astype(np.int64), _BINS - 1)
        place = owner[scored] * _BINS + bins
        self._bins = [
            np.bincount(place, weights=values, minlength=len(documents) * _BINS).reshape(-1, _BINS)
            for values in (np.ones(len(place)), scores[scored].astype(np.float64), reference[scored])
        ]

    def of(self, draws: Draws) -> Rows:
        """AP and expected calibration error of each draw."""
        counts, predicted, observed = (draws @ sums for sums in self._bins)
        error = _ratio(np.abs(observed - predicted).sum(axis=1), counts.sum(axis=1))
        areas = np.full(len(draws), np.nan)
        for number, draw in enumerate(draws):
            weights = draw[self._owner]
            hits = np.cumsum(weights * self._reference)[self._last]
            if len(hits) and hits[-1]:
                precision = hits / np.maximum(np.cumsum(weights)[self._last], 1)
                areas[number] = np.sum(np.diff(hits, prepend=0) * precision) / hits[-1]
        return {"average_precision": areas, "calibration_error": error}


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
    """Measures of summed counts; NaN where there is nothing to measure."""
    hits, found, true, pk, window_diff, windows, edits, boundaries = counts.T
    return {
        # Where none was found, precision is 0; without boundaries there is no recall, F1 or AP.
        "precision": np.nan_to_num(_ratio(hits, found)),
        "recall": _ratio(hits, true),
        "f1": np.where(true > 0, _ratio(2 * hits, found + true), np.nan),
        "pk": _ratio(pk, windows),
        "window_diff": _ratio(window_diff, windows),
        "boundary_similarity": 1 - np.nan_to_num(_ratio(edits, boundaries)),
    }


def _by_document(
    documents: Sequence[Found], counts: NDArray[np.float64]
) -> tuple[Rows, list[NDArray[np.bool_]]]:
    """The measures of each document, and which documents count for each."""
    table = _pooled(counts)
    areas = [
        average_precision(d.reference, d.probabilities) for d in documents if d.probabilities is not None
    ]
    if len(areas) == len(documents):
        table["average_precision"] = np.array(areas)
    has_boundaries, has_windows = counts[:, 2] > 0, counts[:, 5] > 0
    every = np.ones(len(counts), np.bool_)
    counted = [
        has_boundaries if name in _OF_BOUNDARIES else has_windows if name in _OF_WINDOWS else every
        for name in table
    ]
    return table, counted


def _ratio(above: NDArray[Any], below: NDArray[Any]) -> NDArray[np.float64]:
    """A quotient, NaN where there is nothing to divide by."""
    result: NDArray[np.float64] = np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0)
    return result
