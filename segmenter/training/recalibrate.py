"""Probabilities and thresholds for new documents, without training."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from segmenter.backends import TorchScorer
from segmenter.checkpoint import Checkpoint, write_checkpoint
from segmenter.errors import ConfigError
from segmenter.evaluation import Evaluation, Mode, having, measure, modes_of, score_documents
from segmenter.labelled import LabelledDocument
from segmenter.segmenter import Segmenter
from segmenter.sources import locate
from segmenter.training.calibration import Calibration, Goal, calibrate, cross_fitted, fold, self_fitted
from segmenter.training.folder import refuse_used_folder
from segmenter.training.splits import check_learnable

__all__ = ["Recalibration", "recalibrate"]


@dataclass(frozen=True, slots=True)
class Recalibration:
    """What a calibration did.

    :ivar calibration: What was fitted.
    :ivar before: Figures of the model as it was.
    :ivar after: Figures after it, each half of the documents calibrated on the other, if there are enough.
    """

    calibration: Calibration
    before: Mapping[Mode, Evaluation]
    after: Mapping[Mode, Evaluation]


def recalibrate(
    documents: Sequence[LabelledDocument],
    *,
    model: str | os.PathLike[str] | None = None,
    output: str | os.PathLike[str] | None = None,
    goal: Goal | None = None,
    show_progress: bool = False,
) -> Recalibration:
    """Fit a model's probabilities and thresholds to documents, and write it anew.

    :param documents: Labelled documents that the model was not trained on.
    :param model: None for the shipped model, a checkpoint folder, or a name on the hub.
    :param output: A new or empty folder; None changes the model's own.
    :param goal: What the thresholds are to reach; the best F1 if None.
    :param show_progress: Whether to show a bar on the standard error.
    :return: What was fitted, and how good it is.
    :raises InputError: If there are no documents, or gaps of one kind only.
    :raises ConfigError: If there is no folder to write to.
    :raises TrainingError: If the folder holds something already.
    """
    check_learnable(documents, "calibrate on")
    goal = goal or Goal()
    checkpoint = Checkpoint.load(locate(model))
    if output is not None:
        refuse_used_folder(Path(output))
    elif model is None or not Path(model).expanduser().is_dir():
        raise ConfigError("the shipped model, and one of the hub, stay as they are: name an output folder")
    checkpoint = replace(checkpoint, config=replace(checkpoint.config, candidates="auto"))
    segmenter = Segmenter(checkpoint, TorchScorer(checkpoint.model))
    scores = {
        mode: score_documents(segmenter, having(documents, mode), mode, show_progress=show_progress)
        for mode in modes_of(documents)
    }
    calibration = calibrate(scores, goal)
    fitted = cross_fitted(scores, goal) or self_fitted(scores, calibration)
    after = {mode: measure(found) for mode, found in fitted.items()}
    fold(checkpoint.model, calibration, checkpoint.config.boundary_label)
    metrics: dict[str, Any] = {
        mode: {name: round(figure.value, 4) for name, figure in found.micro.items()}
        for mode, found in after.items()
    }
    config = replace(calibration.settings(checkpoint.config), metrics=metrics)
    folder = checkpoint.folder if output is None else Path(output)
    write_checkpoint(checkpoint.model, checkpoint.tokenizer, config, folder)
    return Recalibration(calibration, {mode: measure(found) for mode, found in scores.items()}, after)
