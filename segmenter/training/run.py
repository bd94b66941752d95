"""One training run, from packed documents to trained weights."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from transformers import PreTrainedModel

from segmenter.config import Context
from segmenter.training.dataset import WindowCollator, WindowDataset
from segmenter.training.model import GapModel
from segmenter.training.packing import PackedDocuments
from segmenter.training.sampling import SamplingConfig, WindowSampler
from segmenter.training.trainer import (
    TrainingConfig,
    WindowTrainer,
    freeze,
    newest_complete_checkpoint,
)
from segmenter.windows import WindowBuilder

__all__ = ["TokenIds", "TrainingSummary", "train"]

logger = logging.getLogger(__name__)


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
class TrainingSummary:
    """What a run did.

    :ivar steps: Optimizer steps, those before a restart included.
    :ivar windows: Windows in them.
    :ivar inner_gaps: Gaps inside those windows that the helper loss learned from.
    :ivar log: What the trainer logged.
    """

    steps: int
    windows: int
    inner_gaps: int
    log: Sequence[Mapping[str, Any]]


def train(
    model: PreTrainedModel,
    documents: PackedDocuments,
    tokens: TokenIds,
    sampling: SamplingConfig,
    config: TrainingConfig,
    output_dir: Path,
) -> TrainingSummary:
    """Train a classifier, in place, going on from the newest complete checkpoint of the folder.

    :param model: A BERT-like classifier of two labels, label 1 the boundary.
    :param documents: The labelled documents.
    :param tokens: What windows are made of.
    :param sampling: What the windows contain.
    :param config: How to train.
    :param output_dir: Where checkpoints go.
    :return: What the run did.
    """
    freeze(model, config)
    builders: dict[Context, WindowBuilder] = {
        context: WindowBuilder(context, tokens.max_positions, tokens.cls_id, tokens.sep_id)
        for context in sampling.contexts
    }
    dataset = WindowDataset(documents, builders, tokens.mark_id)
    gap_model = GapModel(model, config.inner_weight)
    trainer = WindowTrainer(
        gap_model,
        dataset,
        WindowSampler(documents, sampling, config.seed),
        WindowCollator(next(iter(builders.values())), tokens.pad_id),
        config,
        output_dir,
    )
    checkpoint = newest_complete_checkpoint(output_dir)
    if checkpoint is not None:
        logger.info("going on from %s", checkpoint)
    trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    windows, inner_gaps = gap_model.seen.tolist()
    return TrainingSummary(
        steps=trainer.state.global_step,
        windows=windows,
        inner_gaps=inner_gaps,
        log=trainer.state.log_history,
    )
