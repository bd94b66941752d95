"""The training loop, from packed documents to trained weights."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import load_model
from transformers import PreTrainedModel, TrainerState
from transformers.trainer import TRAINER_STATE_NAME

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
    is_last,
    newest_complete_checkpoint,
    remove_torn_checkpoints,
)
from segmenter.windows import WindowBuilder

__all__ = ["TokenIds", "TrainingData", "TrainingSummary", "fit"]

logger = logging.getLogger(__name__)

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
    :raises ConfigError: If there are fewer layers than are to be frozen.
    :raises TrainingError: If there are too few windows for the processes, the loss is not a number, or a
        checkpoint cannot be written.
    """
    freeze(model, config)
    tokens = data.tokens
    builders: dict[Context, WindowBuilder] = {
        context: WindowBuilder(context, tokens.max_positions, tokens.cls_id, tokens.sep_id)
        for context in sampling.contexts
    }
    process = this_process()
    shard = Shard(process.process_index, process.num_processes)
    sampler = WindowSampler(data.documents, sampling, config.seed, data.n_replay, shard)
    if not len(sampler):
        raise TrainingError(
            f"got less than a batch an epoch for each of {shard.count} processes; add documents, or make "
            f"batches of fewer than {sampling.batch_tokens} tokens"
        )
    gap_model = GapModel(model, gap_loss(data, sampling, config))
    trainer = WindowTrainer(
        gap_model,
        WindowDataset(data.documents, builders, tokens.mark_id),
        sampler,
        WindowCollator(next(iter(builders.values())), tokens.pad_id),
        config,
        output_dir,
        evaluator,
        show_progress,
    )
    if process.is_main_process:
        remove_torn_checkpoints(output_dir)
    process.wait_for_everyone()
    checkpoint = newest_complete_checkpoint(output_dir)
    if checkpoint is None or not is_last(checkpoint, config):
        logger.info("starting anew" if checkpoint is None else f"going on from {checkpoint}")
        try:
            trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
        except (OSError, RuntimeError, SafetensorError) as error:
            if isinstance(error, TrainingError) or not _is_about_files(error):
                raise
            raise TrainingError(
                f"cannot write a checkpoint to {output_dir} ({error}); make room there and give the same "
                "command again: it goes on from the newest complete checkpoint"
            ) from error
        process.wait_for_everyone()
        checkpoint = newest_complete_checkpoint(output_dir)
        assert checkpoint is not None
    return _summary(gap_model, checkpoint, evaluator is not None)


def _summary(gap_model: GapModel, last: Path, has_best: bool) -> TrainingSummary:
    """Read what the run did from its last checkpoint, and load the weights to keep."""
    state = TrainerState.load_from_json(str(last / TRAINER_STATE_NAME))
    with safe_open(last / _WEIGHTS, framework="pt") as weights:
        windows, inner_gaps = weights.get_tensor("seen").tolist()
    best = state.best_global_step if has_best else None
    load_model(gap_model, last.with_name(f"checkpoint-{best or state.global_step}") / _WEIGHTS)
    return TrainingSummary(
        steps=state.global_step,
        windows=windows,
        inner_gaps=inner_gaps,
        best_step=best,
        log=state.log_history,
    )


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


def _is_about_files(error: Exception) -> bool:
    """Not every writer that a trainer uses raises an OSError."""
    signs = ("No space left", "File too large", "file write failed", "PytorchStreamWriter", "I/O error")
    return isinstance(error, OSError) or any(sign in str(error) for sign in signs)
