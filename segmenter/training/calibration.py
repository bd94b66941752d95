"""After training: probabilities that mean what they say, and thresholds."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional
from transformers import PreTrainedModel

from segmenter.config import CheckpointConfig
from segmenter.errors import ConfigError, InputError
from segmenter.evaluation import Mode, ScoredDocument
from segmenter.metrics import best_threshold, precision_recall_curve
from segmenter.metrics.gaps import halfway_below
from segmenter.scoring import sigmoid

__all__ = [
    "Calibration",
    "Goal",
    "apply",
    "calibrate",
    "choose_threshold",
    "cross_fitted",
    "fit_logistic",
    "fold",
    "self_fitted",
    "steady_threshold",
]

logger = logging.getLogger(__name__)

_DRAWS = 100

Scores = Mapping[Mode, Sequence[ScoredDocument]]


@dataclass(frozen=True, kw_only=True, slots=True)
class Goal:
    """What a threshold is to reach; the best F1 if nothing is said.

    :ivar precision: Wished share of the found boundaries that are right, above 0 to 1.
    :ivar mean_section: Wished mean length of the sections that are found, in sentences, 1 or more.
    :raises ConfigError: If a wish is out of its range, or there are two.
    """

    precision: float | None = None
    mean_section: float | None = None

    def __post_init__(self) -> None:
        if self.precision is not None and self.mean_section is not None:
            raise ConfigError("got two goals, a precision and a mean section length; expected one")
        if self.precision is not None and not 0 < self.precision <= 1:
            raise ConfigError(f"got a wished precision of {self.precision!r}, expected above 0, up to 1")
        if self.mean_section is not None and not self.mean_section >= 1:
            raise ConfigError(
                f"got a wished mean section of {self.mean_section!r}, expected 1 sentence or more"
            )


@dataclass(frozen=True, kw_only=True, slots=True)
class Calibration:
    """P(boundary) becomes the sigmoid of ``margin / temperature + shift``.

    :ivar temperature: Above 0; more than 1 makes a model less sure.
    :ivar shift: Below 0 where boundaries are rarer than they were in training.
    :ivar thresholds: Of the calibrated probabilities, by way of reading a document.
    """

    temperature: float
    shift: float
    thresholds: Mapping[Mode, float]

    def settings(self, config: CheckpointConfig) -> CheckpointConfig:
        """Put the thresholds into the settings of a checkpoint.

        :param config: The settings.
        :return: The new settings.
        """
        flat = self.thresholds.get("flat", self.thresholds.get("paragraphs", config.threshold))
        return replace(config, threshold=flat, paragraph_threshold=self.thresholds.get("paragraphs"))


def calibrate(scores: Scores, goal: Goal) -> Calibration:
    """Fit temperature and shift on all scored gaps by maximum likelihood, then each threshold.

    Platt (1999), "Probabilistic Outputs for Support Vector Machines", without its smoothing of the
    targets. The shift is what undersampled negatives need: they move the log odds by a constant
    (King and Zeng 2001, "Logistic Regression in Rare Events Data").

    :param scores: What the model said, by way of reading.
    :param goal: What the thresholds are to reach.
    :return: What was fitted.
    :raises InputError: If the scored gaps are all boundaries, or none is.
    """
    flat = [document for documents in scores.values() for document in documents]
    reference, chances = scored_gaps(flat)
    if reference.all() or not reference.any():
        raise InputError(
            f"got {len(reference)} scored gaps of one kind, expected boundaries and others to calibrate on"
        )
    slope, shift = fit_logistic(log_odds(chances), reference)
    calibration = Calibration(temperature=1 / slope, shift=shift, thresholds={})
    thresholds = {
        mode: choose_threshold(apply(calibration, documents), goal)
        for mode, documents in scores.items()
        if scored_gaps(documents)[0].any()
    }
    return replace(calibration, thresholds=thresholds)


def fit_logistic(margins: NDArray[np.float64], reference: NDArray[np.bool_]) -> tuple[float, float]:
    """Fit a logistic regression on margins, with a penalty too small to see unless they tell all apart.

    :param margins: Logit of boundary minus logit of no boundary. *Shape:* ``(n_gaps,)``.
    :param reference: Which gaps are boundaries; both kinds. *Shape:* ``(n_gaps,)``.
    :return: Slope, above 0, and shift.
    """
    inputs, targets = torch.from_numpy(margins), torch.from_numpy(reference).double()
    parameters = torch.tensor([1.0, 0.0], dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.LBFGS([parameters], max_iter=200, line_search_fn="strong_wolfe")

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = functional.binary_cross_entropy_with_logits(parameters[0] * inputs + parameters[1], targets)
        loss = loss + 1e-6 * parameters[0] ** 2
        loss.backward()
        return loss

    optimizer.step(closure)
    slope, shift = parameters.tolist()
    if not slope > 0.01:
        # A model that knows nothing: no slope can say so, but the odds of all gaps alike do.
        rate = float(reference.mean())
        return 0.01, float(np.log(rate / (1 - rate)) - 0.01 * margins.mean())
    return slope, shift


def choose_threshold(documents: Sequence[ScoredDocument], goal: Goal) -> float:
    """Find the threshold that reaches a goal.

    :param documents: What a model said; at least one boundary that was scored.
    :param goal: The goal.
    :return: 0 to 1: of the best F1, as :func:`steady_threshold` finds it; or the lowest with the wished
        precision; or that which cuts as often as the wished mean section asks.
    """
    if goal.precision is None and goal.mean_section is None:
        return steady_threshold(documents)
    reference, chances = scored_gaps(documents)
    precision, _, values = precision_recall_curve(reference, chances)
    if goal.precision is not None:
        enough = np.flatnonzero(precision >= goal.precision)
        if not len(enough):
            logger.warning(
                "no threshold has a precision of %g; taking that of the highest, %.3f",
                goal.precision,
                precision.max(),
            )
        return halfway_below(values, int(enough[-1] if len(enough) else np.argmax(precision)))
    assert goal.mean_section is not None
    sentences = sum(len(document.reference) + 1 for document in documents)
    cuts = round(sentences / goal.mean_section) - len(documents)
    if cuts <= 0:
        return 1.0
    ordered = np.sort(chances)[::-1]
    return halfway_below(ordered, min(cuts, len(ordered)) - 1)


def steady_threshold(documents: Sequence[ScoredDocument]) -> float:
    """Find the threshold of the best F1, though F1 hardly changes over a wide range.

    The mean of those that are best on draws of the documents (Breiman 1996, "Bagging Predictors"): where the
    top is flat, the best one on a sample may be anywhere on it.

    :param documents: What a model said; at least one boundary that was scored.
    :return: 0 to 1.
    """
    rng = np.random.default_rng(0)
    found: list[float] = []
    while len(found) < _DRAWS:
        drawn = [documents[index] for index in rng.integers(len(documents), size=len(documents))]
        reference, chances = scored_gaps(drawn)
        if reference.any():
            found.append(best_threshold(reference, chances))
    return float(np.mean(found))


def apply(calibration: Calibration, documents: Sequence[ScoredDocument]) -> list[ScoredDocument]:
    """Change probabilities as a calibration says; the cuts stay.

    :param calibration: What was fitted.
    :param documents: What the model said without it.
    :return: What it says with it.
    """
    changed = []
    for document in documents:
        assert document.probabilities is not None
        margins = log_odds(document.probabilities) / calibration.temperature + calibration.shift
        chances = np.where(document.probabilities > 0, sigmoid(margins), np.float32(0))
        changed.append(replace(document, probabilities=chances))
    return changed


def cross_fitted(scores: Scores, goal: Goal) -> dict[Mode, list[ScoredDocument]] | None:
    """What a model would say of documents that it was not calibrated on.

    Documents are dealt into two halves; each is calibrated on the other, so that all of them can be
    measured on without having been fitted to.

    :param scores: What the model said, by way of reading; the same order of documents in each.
    :param goal: What the thresholds are to reach.
    :return: Calibrated probabilities, cut at the thresholds; None if there are too few to be dealt.
    """
    ids = dict.fromkeys(document.id for documents in scores.values() for document in documents)
    places = {name: number for number, name in enumerate(ids)}
    halves = [
        {mode: [d for d in documents if places[d.id] % 2 == side] for mode, documents in scores.items()}
        for side in (0, 1)
    ]
    try:
        fitted = [calibrate(half, goal) for half in reversed(halves)]
    except InputError:
        return None
    if any(calibration.thresholds.keys() != scores.keys() for calibration in fitted):
        return None
    return {
        mode: [
            document.cut(calibration.thresholds[mode])
            for half, calibration in zip(halves, fitted, strict=True)
            for document in apply(calibration, half[mode])
        ]
        for mode in scores
    }


def self_fitted(scores: Scores, calibration: Calibration) -> dict[Mode, list[ScoredDocument]]:
    """What a model says of the documents that it was calibrated on.

    :param scores: What it said without.
    :param calibration: What was fitted.
    :return: Calibrated probabilities, cut at the thresholds.
    """
    return {
        mode: [d.cut(calibration.thresholds.get(mode, 0.5)) for d in apply(calibration, documents)]
        for mode, documents in scores.items()
    }


def fold(model: PreTrainedModel, calibration: Calibration, boundary_label: int = 1) -> None:
    """Put a calibration into the classifier's last layer, so that any loader gets its probabilities.

    :param model: A classifier of two labels; changed in place.
    :param calibration: What was fitted on its margins.
    :param boundary_label: Index of the label that means a boundary.
    """
    *_, head = (
        module
        for module in model.modules()
        if isinstance(module, nn.Linear) and module.out_features == model.config.num_labels
    )
    with torch.no_grad():
        head.weight.div_(calibration.temperature)
        head.bias.div_(calibration.temperature)
        head.bias[boundary_label] += calibration.shift


def scored_gaps(documents: Sequence[ScoredDocument]) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
    """Reference and probability of every gap that was scored.

    :param documents: What a model said.
    :return: *Shape:* ``(n_scored,)`` each.
    """
    reference = np.concatenate([np.zeros(0, np.bool_), *(document.reference for document in documents)])
    chances = np.concatenate(
        [np.zeros(0, np.float32), *(d.probabilities for d in documents if d.probabilities is not None)]
    )
    return reference[chances > 0], chances[chances > 0]


def log_odds(probabilities: NDArray[Any]) -> NDArray[np.float64]:
    """Log odds, as far as float32 can tell them from certainty.

    :param probabilities: 0 to 1. *Shape:* ``(n_gaps,)``.
    :return: *Shape:* ``(n_gaps,)``.
    """
    clipped = np.clip(probabilities.astype(np.float64), 1e-7, 1 - 1e-7)
    result: NDArray[np.float64] = np.log(clipped / (1 - clipped))
    return result
