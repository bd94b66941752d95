"""How good a checkpoint is on labelled documents."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from segmenter.labelled import LabelledDocument, gap_flags
from segmenter.metrics import average_precision, boundary_scores, pk, window_diff
from segmenter.segmenter import Segmenter

__all__ = [
    "Measures",
    "Mode",
    "ScoredDocument",
    "cut_at_paragraphs",
    "cut_at_random",
    "cut_evenly",
    "measure",
    "measure_cuts",
    "score_documents",
]

Mode = Literal["flat", "paragraphs"]
"""``"flat"``: no marks, all gaps, as in the literature. ``"paragraphs"``: breaks are known."""


@dataclass(frozen=True, slots=True)
class ScoredDocument:
    """A document's boundaries beside what a model thinks of its gaps.

    :ivar reference: Which gaps are boundaries. *Shape:* ``(n_gaps,)``.
    :ivar probabilities: P(boundary) of each, 0 where it was not scored. *Shape:* ``(n_gaps,)``.
    :ivar scored: Which gaps were scored. *Shape:* ``(n_gaps,)``.
    """

    reference: NDArray[np.bool_]
    probabilities: NDArray[np.float32]
    scored: NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True, slots=True)
class Measures:
    """Figures over all gaps of a set of documents, unscored gaps included.

    :ivar documents: Number of documents.
    :ivar gaps: Number of gaps.
    :ivar rate: Share of the gaps that are boundaries.
    :ivar average_precision: See :func:`segmenter.metrics.average_precision`; None for cuts without
        probabilities.
    :ivar f1_at_half: F1 when gaps above 0.5 are cut; None for cuts without probabilities.
    :ivar f1: F1 of the cuts.
    :ivar precision: Of the cuts.
    :ivar recall: Of the cuts.
    :ivar pk: Mean over documents, k half the mean reference section of each.
    :ivar window_diff: Mean over documents, same k.
    """

    documents: int
    gaps: int
    rate: float
    average_precision: float | None
    f1_at_half: float | None
    f1: float
    precision: float
    recall: float
    pk: float
    window_diff: float


def score_documents(
    segmenter: Segmenter,
    documents: Sequence[LabelledDocument],
    mode: Mode,
    *,
    show_progress: bool = False,
) -> list[ScoredDocument]:
    """Run a model over documents.

    :param segmenter: Scores the gaps that its ``candidates`` setting names; ``"auto"`` is every gap
        when flat, else the paragraph breaks.
    :param documents: The documents; for ``"paragraphs"`` their paragraphs are known.
    :param mode: Whether the model is told of paragraphs.
    :param show_progress: Whether to show a bar on the standard error.
    :return: One result a document.
    """
    inputs = [
        (document.sentences, document.paragraphs if mode == "paragraphs" else None) for document in documents
    ]
    scores = segmenter.predict_many(inputs, show_progress=show_progress)
    return [
        ScoredDocument(document.reference, probabilities, probabilities > 0)
        for document, probabilities in zip(documents, scores, strict=True)
    ]


def measure(documents: Sequence[ScoredDocument], threshold: float) -> Measures:
    """Measure a model.

    :param documents: What it said.
    :param threshold: Gaps above it are cut, 0 to 1.
    :return: The figures.
    """
    reference = np.concatenate([document.reference for document in documents])
    probabilities = np.concatenate([document.probabilities for document in documents])
    return _measures(
        [(document.reference, document.probabilities > threshold) for document in documents],
        average_precision(reference, probabilities),
        boundary_scores(reference, probabilities > 0.5).f1,
    )


def measure_cuts(
    documents: Iterable[LabelledDocument], cut: Callable[[LabelledDocument], NDArray[np.bool_]]
) -> Measures:
    """Measure a way of cutting that knows no probabilities.

    :param documents: The documents.
    :param cut: Says which gaps of a document are cut.
    :return: The figures.
    """
    return _measures([(document.reference, cut(document)) for document in documents], None, None)


def cut_at_paragraphs(document: LabelledDocument) -> NDArray[np.bool_]:
    """Cut at every paragraph.

    :param document: One with known paragraphs.
    :return: Which gaps are cut. *Shape:* ``(n_gaps,)``.
    """
    return gap_flags(document.paragraphs or (), len(document.sentences))


def cut_at_random(rate: float, seed: int) -> Callable[[LabelledDocument], NDArray[np.bool_]]:
    """Cut every gap with the same chance.

    :param rate: The chance, 0 to 1.
    :param seed: Of what is drawn.
    :return: A way of cutting.
    """
    rng = np.random.default_rng(seed)
    return lambda document: rng.random(max(0, len(document.sentences) - 1)) < rate


def cut_evenly(rate: float) -> Callable[[LabelledDocument], NDArray[np.bool_]]:
    """Cut at even distances.

    :param rate: Share of the gaps to cut, above 0 up to 1.
    :return: A way of cutting.
    """

    def cut(document: LabelledDocument) -> NDArray[np.bool_]:
        n_gaps = max(0, len(document.sentences) - 1)
        flags = np.zeros(n_gaps, dtype=np.bool_)
        flags[np.arange(1 / rate, n_gaps + 1, 1 / rate).astype(np.int64) - 1] = True
        return flags

    return cut


def _measures(
    pairs: Sequence[tuple[NDArray[np.bool_], NDArray[np.bool_]]],
    precision_area: float | None,
    f1_at_half: float | None,
) -> Measures:
    reference = np.concatenate([pair[0] for pair in pairs])
    scores = boundary_scores(reference, np.concatenate([pair[1] for pair in pairs]))
    return Measures(
        documents=len(pairs),
        gaps=len(reference),
        rate=float(reference.mean()),
        average_precision=precision_area,
        f1_at_half=f1_at_half,
        f1=scores.f1,
        precision=scores.precision,
        recall=scores.recall,
        pk=float(np.mean([pk(*pair) for pair in pairs])),
        window_diff=float(np.mean([window_diff(*pair) for pair in pairs])),
    )
