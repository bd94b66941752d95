"""How good a checkpoint is on labelled documents, and how sure that is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from segmenter.errors import InputError
from segmenter.labelled import LabelledDocument
from segmenter.resampling import MACRO, MICRO, resampled_figures
from segmenter.segmenter import Segmenter

__all__ = [
    "MACRO",
    "MICRO",
    "Evaluation",
    "Figure",
    "Mode",
    "ScoredDocument",
    "compare",
    "evaluate",
    "figure_of",
    "having",
    "measure",
    "modes_of",
    "score_documents",
]

Mode = Literal["flat", "paragraphs"]
"""``"flat"``: no marks, all gaps, as in the literature. ``"paragraphs"``: breaks are known."""


@dataclass(frozen=True, slots=True)
class ScoredDocument:
    """A document's boundaries beside those that were found.

    :ivar id: Names the document.
    :ivar reference: Which gaps are boundaries. *Shape:* ``(n_gaps,)``.
    :ivar found: Which gaps were cut. *Shape:* ``(n_gaps,)``.
    :ivar probabilities: P(boundary) of each, 0 where it was not scored; None for cuts without a model.
        *Shape:* ``(n_gaps,)``.
    """

    id: str
    reference: NDArray[np.bool_]
    found: NDArray[np.bool_]
    probabilities: NDArray[np.float32] | None = None

    def cut(self, threshold: float) -> "ScoredDocument":
        """Cut anew.

        :param threshold: Gaps above it are cut, 0 to 1.
        :return: The document with other boundaries.
        """
        assert self.probabilities is not None
        return replace(self, found=self.probabilities > threshold)

    def cut_as_often(self) -> "ScoredDocument":
        """Cut as often as the reference, at the highest probabilities, the earlier of equal ones.

        So much work on the set of Choi (2000) tells the segmenter how many sections there are.

        :return: The document with other boundaries.
        """
        assert self.probabilities is not None
        found = np.zeros(len(self.reference), dtype=np.bool_)
        found[np.argsort(-self.probabilities, kind="stable")[: int(self.reference.sum())]] = True
        return replace(self, found=found)


@dataclass(frozen=True, slots=True)
class Figure:
    """A measure, and how far another draw of documents may move it.

    :ivar value: On the documents as they are.
    :ivar low: Lower end of the interval: 2.5 % of the resampled values lie below.
    :ivar high: Upper end: 2.5 % lie above.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Evaluation:
    """Figures over a set of documents, unscored gaps included.

    :ivar documents: Number of documents.
    :ivar gaps: Number of gaps.
    :ivar boundaries: How many of them are boundaries.
    :ivar predicted: How many were cut.
    :ivar micro: Measures over all gaps, windows or boundaries together. ``precision``, ``recall``,
        ``f1``, ``pk`` (as Koshorek et al. 2018 weigh it), ``window_diff``, ``boundary_similarity``;
        where there are probabilities also ``average_precision`` and ``calibration_error``.
    :ivar macro: Means over documents of the same measures. Documents without boundaries are left out
        of precision, recall, F1 and AP, those without a window of Pk and WindowDiff.
    """

    documents: int
    gaps: int
    boundaries: int
    predicted: int
    micro: Mapping[str, Figure]
    macro: Mapping[str, Figure]

    @property
    def size(self) -> str:
        """What was measured on, for people to read."""
        numbers = {"document": self.documents, "gap": self.gaps}
        shown = [f"{number} {name}{'' if number == 1 else 's'}" for name, number in numbers.items()]
        return ", ".join([*shown, f"{self.boundaries} boundar{'y' if self.boundaries == 1 else 'ies'}"])


def evaluate(
    segmenter: Segmenter,
    documents: Sequence[LabelledDocument],
    *,
    resamples: int = 1000,
    seed: int = 0,
    show_progress: bool = False,
) -> dict[Mode, Evaluation]:
    """Measure a model on documents, at its thresholds.

    :param segmenter: The model.
    :param documents: At least one.
    :param resamples: Draws of the intervals; 0 for none.
    :param seed: Of those draws.
    :param show_progress: Whether to show a bar on the standard error.
    :return: Figures without paragraphs, and, on the documents whose paragraphs are known, with them.
    :raises InputError: If there are no documents.
    """
    return {
        mode: measure(
            score_documents(segmenter, having(documents, mode), mode, show_progress=show_progress),
            resamples=resamples,
            seed=seed,
        )
        for mode in modes_of(documents)
    }


def modes_of(documents: Sequence[LabelledDocument]) -> list[Mode]:
    """The ways a set can be measured.

    :param documents: The documents.
    :return: Flat, and with paragraphs if any document has them.
    """
    return ["flat", "paragraphs"] if any(document.paragraphs for document in documents) else ["flat"]


def having(documents: Sequence[LabelledDocument], mode: Mode) -> list[LabelledDocument]:
    """The documents that a way of measuring can use.

    :param documents: The documents.
    :param mode: The way.
    :return: All, or those with paragraphs.
    """
    return [document for document in documents if mode == "flat" or document.paragraphs]


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
    :return: One result a document, cut at the model's threshold for such documents.
    """
    inputs = [
        (document.sentences, document.paragraphs if mode == "paragraphs" else None) for document in documents
    ]
    scores = segmenter.predict_many(inputs, show_progress=show_progress)
    threshold = segmenter.config.threshold_for(
        at_breaks=mode == "paragraphs" and segmenter.config.candidates != "all"
    )
    return [
        ScoredDocument(document.id, document.reference, probabilities > threshold, probabilities)
        for document, probabilities in zip(documents, scores, strict=True)
    ]


def measure(documents: Sequence[ScoredDocument], *, resamples: int = 1000, seed: int = 0) -> Evaluation:
    """Measure boundaries.

    Intervals are percentiles of a bootstrap over documents (Efron 1979), which are drawn with
    replacement, since the gaps of one document are not independent.

    :param documents: At least one.
    :param resamples: Draws of the intervals; 0 for none, each then being the value itself.
    :param seed: Of those draws.
    :return: The figures.
    :raises InputError: If there are no documents.
    """
    if not documents:
        raise InputError("got no documents to measure on, expected at least one")
    values = resampled_figures(_in_order(documents), resamples, seed)
    return Evaluation(
        documents=len(documents),
        gaps=sum(len(document.reference) for document in documents),
        boundaries=sum(int(document.reference.sum()) for document in documents),
        predicted=sum(int(document.found.sum()) for document in documents),
        micro={name: figure_of(row) for name, row in values[MICRO].items()},
        macro={name: figure_of(row) for name, row in values[MACRO].items()},
    )


def compare(
    documents: Sequence[ScoredDocument],
    others: Sequence[ScoredDocument],
    *,
    resamples: int = 1000,
    seed: int = 0,
) -> dict[str, dict[str, Figure]]:
    """Subtract the measures of one model from those of another on the same documents.

    The bootstrap is paired: both are measured on the same draws, so that what makes a document hard
    for both cancels out. An interval without 0 is a difference that other documents would show too.

    :param documents: What the model found.
    :param others: What the other found on the same documents.
    :param resamples: Draws of the intervals.
    :param seed: Of those draws.
    :return: Differences by ``"micro"`` and ``"macro"`` and the name of the measure; above 0 where the
        model's value is the higher one.
    :raises InputError: If the documents are not the same, or there are none.
    """
    documents, others = _in_order(documents), _in_order(others)
    if not documents or [d.id for d in documents] != [d.id for d in others]:
        raise InputError("got results on different documents, or none; expected both on the same")
    first = resampled_figures(documents, resamples, seed)
    second = resampled_figures(others, resamples, seed)
    return {
        kind: {
            name: figure_of(row - second[kind][name]) for name, row in rows.items() if name in second[kind]
        }
        for kind, rows in first.items()
    }


def _in_order(documents: Sequence[ScoredDocument]) -> list[ScoredDocument]:
    """So that the same documents give the same draws, however they come."""
    return sorted(documents, key=lambda document: document.id)


def figure_of(values: NDArray[np.float64]) -> Figure:
    """Make a figure of a measure's value and its draws.

    :param values: First that of the documents as they are, then that of each draw, NaN where it has none.
        *Shape:* ``(1 + n_draws,)``.
    :return: The value and the middle 95 % of the draws.
    """
    draws = values[1:] if len(values) > 1 else values
    draws = draws[~np.isnan(draws)]
    low, high = np.quantile(draws if len(draws) else values[:1], [0.025, 0.975])
    return Figure(float(values[0]), float(low), float(high))
