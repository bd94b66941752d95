"""The training loop, from packed documents to trained weights."""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import load_model
from transformers import PreTrainedModel

from segmenter.config import Context
from segmenter.errors import TrainingError
from segmenter.training.config import TrainingConfig
from segmenter.training.dataset import WindowCollator, WindowDataset
from segmenter.training.model import GapLoss, GapModel
from segmenter.training.packing import PackedDocuments
from segmenter.training.processes import this_process
from segmenter.training.sampling import SamplingConfig, Shard, WindowSampler
from segmenter.training.trainer import (
    Evaluator,
    WindowTrainer,
    freeze,
    newest_complete_checkpoint,
    set_torn_checkpoints_aside,
)
from segmenter.windows import WindowBuilder

__all__ = ["TokenIds", "TrainingData", "TrainingSummary", "fit"]

logger = logging.getLogger(__name__)

_TRAINED = "trained.json"
_WEIGHTS = "model.safetensors"


@dataclass(frozen=True, kw_only=True, slots=True)
class TokenIds:
    """The tokens that windows are made of.

    :ivar cls_id: First token of a window.
    :ivar sep_id: Separator.
    :ivar pad_id: Padding.
    :ivar mark_id: Paragraph mark, or None for none.
    :ivar max_positions: Most tokens of a window, special ones included.
    """

    cls_id: int
    sep_id: int
    pad_id: int
    mark_id: int | None
    max_positions: int


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingData:
    """What is learned from.

    :ivar documents: The labelled documents; those to replay come last.
    :ivar tokens: What windows are made of.
    :ivar n_replay: How many of the documents are to replay, so that old skills stay.
    :ivar boundary_label: Index of the classifier's label that means a boundary.
    """

    documents: PackedDocuments
    tokens: TokenIds
    n_replay: int = 0
    boundary_label: int = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingSummary:
    """What a run did.

    :ivar steps: Optimizer steps, those before a restart included.
    :ivar windows: Windows in them.
    :ivar inner_gaps: Gaps inside those windows that the helper loss learned from.
    :ivar best_step: Step of the weights that were kept; None for the last.
    :ivar log: What the trainer logged.
    """

    steps: int
    windows: int
    inner_gaps: int
    best_step: int | None
    log: Sequence[Mapping[str, Any]]


def fit(
    model: PreTrainedModel,
    data: TrainingData,
    sampling: SamplingConfig,
    config: TrainingConfig,
    output_dir: Path,
    evaluator: Evaluator | None = None,
    show_progress: bool = False,
) -> TrainingSummary:
    """Train a classifier, in place, going on from the newest complete checkpoint of the folder.

    :param model: A BERT-like classifier of two labels.
    :param data: What to learn from.
    :param sampling: What the windows contain.
    :param config: How to train.
    :param output_dir: Where checkpoints go.
    :param evaluator: Measures the model, changed in place, now and then; the best weights are kept. None:
        the last ones are.
    :param show_progress: Whether to show a bar on the standard error.
    :return: What the run did.
    :raises TrainingError: If the loss is not a number, or a checkpoint cannot be written.
    """
    freeze(model, config)
    tokens = data.tokens
    builders: dict[Context, WindowBuilder] = {
        context: WindowBuilder(context, tokens.max_positions, tokens.cls_id, tokens.sep_id)
        for context in sampling.contexts
    }
    process = this_process()
    gap_model = GapModel(model, gap_loss(data, sampling, config))
    trainer = WindowTrainer(
        gap_model,
        WindowDataset(data.documents, builders, tokens.mark_id),
        WindowSampler(
            data.documents,
            sampling,
            config.seed,
            data.n_replay,
            Shard(process.process_index, process.num_processes),
        ),
        WindowCollator(next(iter(builders.values())), tokens.pad_id),
        config,
        output_dir,
        evaluator,
        show_progress,
    )
    if process.is_main_process:
        set_torn_checkpoints_aside(output_dir)
    process.wait_for_everyone()
    if (done := _read_summary(output_dir, config)) is not None:
        load_model(gap_model, output_dir / f"checkpoint-{done.best_step or done.steps}" / _WEIGHTS)
        return done
    checkpoint = newest_complete_checkpoint(output_dir)
    if checkpoint is not None:
        logger.info("going on from %s", checkpoint)
    try:
        trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    except (OSError, RuntimeError, SafetensorError) as error:
        if isinstance(error, TrainingError) or not _is_about_files(error):
            raise
        raise TrainingError(
            f"cannot write a checkpoint to {output_dir} ({error}); make room there and give the same command "
            "again: it goes on from the newest complete checkpoint"
        ) from error
    process.wait_for_everyone()
    # From the last checkpoint, since the model may be that of an earlier one by now.
    last = newest_complete_checkpoint(output_dir)
    assert last is not None
    with safe_open(last / _WEIGHTS, framework="pt") as weights:
        windows, inner_gaps = weights.get_tensor("seen").tolist()
    summary = TrainingSummary(
        steps=trainer.state.global_step,
        windows=windows,
        inner_gaps=inner_gaps,
        best_step=trainer.state.best_global_step if evaluator is not None else None,
        log=trainer.state.log_history,
    )
    if process.is_main_process:
        _write_summary(output_dir, config, summary)
    return summary


def gap_loss(data: TrainingData, sampling: SamplingConfig, config: TrainingConfig) -> GapLoss:
    """The loss that a choice about imbalance stands for.

    :param data: What is learned from.
    :param sampling: What the windows contain.
    :param config: Holds the choice.
    :return: The loss.
    """
    return GapLoss(
        inner_weight=config.inner_weight,
        boundary_weight=sampling.others_per_boundary(data.documents) if config.imbalance == "weight" else 1.0,
        focal_gamma=2.0 if config.imbalance == "focal" else 0.0,
        boundary_label=data.boundary_label,
    )


def _length(config: TrainingConfig) -> list[float | None]:
    return [config.max_steps, config.epochs, config.max_minutes, config.patience]


def _write_summary(output_dir: Path, config: TrainingConfig, summary: TrainingSummary) -> None:
    """Say that the loop is done: what comes after it may fail, and the same call must not train on."""
    partial = output_dir / f".partial-{_TRAINED}"
    content = {"length": _length(config), "summary": asdict(summary)}
    partial.write_text(json.dumps(content), encoding="utf-8")
    partial.replace(output_dir / _TRAINED)


def _read_summary(output_dir: Path, config: TrainingConfig) -> TrainingSummary | None:
    """What the loop did, if it is done and the run is to be no longer than it was."""
    path = output_dir / _TRAINED
    if not path.is_file():
        return None
    content = json.loads(path.read_text(encoding="utf-8"))
    return TrainingSummary(**content["summary"]) if content["length"] == _length(config) else None


def _is_about_files(error: Exception) -> bool:
    """Not every writer that a trainer uses raises an OSError."""
    signs = ("No space left", "File too large", "file write failed", "PytorchStreamWriter", "I/O error")
    return isinstance(error, OSError) or any(sign in str(error) for sign in signs)
