"""From labelled documents to a checkpoint. Loads torch and transformers."""

from segmenter.training.calibration import Goal
from segmenter.training.card import CardNotes
from segmenter.training.config import TrainingConfig
from segmenter.training.finetune import FineTuningConfig, train
from segmenter.training.recalibrate import recalibrate
from segmenter.training.report import RunReport

__all__ = ["CardNotes", "FineTuningConfig", "Goal", "RunReport", "TrainingConfig", "recalibrate", "train"]
