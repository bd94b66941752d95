"""The training loop: ``transformers.Trainer`` over sampled windows, restartable after a kill."""

import json
import logging
import math
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader
from transformers import PreTrainedModel, PrinterCallback, Trainer, TrainerCallback, TrainingArguments

from segmenter.errors import ConfigError, TrainingError
from segmenter.training.callbacks import (
    AP_KEY,
    COMPLETE,
    Clock,
    EarlyStopping,
    MarkComplete,
    ProgressBar,
    TimeLimit,
)
from segmenter.training.config import TrainingConfig
from segmenter.training.dataset import WindowCollator, WindowDataset
from segmenter.training.model import GapModel
from segmenter.training.processes import is_cpu_only
from segmenter.training.sampling import WindowSampler

__all__ = ["WindowTrainer", "freeze", "is_last", "newest_complete_checkpoint", "remove_torn_checkpoints"]

logger = logging.getLogger(__name__)

Evaluator = Callable[[], dict[str, float]]
"""Measures the model as it is now."""


def freeze(model: PreTrainedModel, config: TrainingConfig) -> None:
    """Take the lowest parts of a model out of the training.

    :param model: A BERT-like classifier.
    :param config: Says which parts.
    :raises ConfigError: If there are fewer layers.
    """
    encoder = model.base_model
    if config.freeze_embeddings:
        encoder.embeddings.requires_grad_(False)
    if not config.frozen_layers:
        return
    n_layers = model.config.num_hidden_layers
    stacks = (m for m in encoder.modules() if isinstance(m, nn.ModuleList) and len(m) == n_layers)
    layers = next(stacks, None)
    if layers is None or config.frozen_layers > n_layers:
        expected = (
            f"0 to {n_layers}" if layers is not None else "0, since this kind of model shares its layers"
        )
        raise ConfigError(f"got frozen_layers={config.frozen_layers}, expected {expected}")
    for layer in layers[: config.frozen_layers]:
        layer.requires_grad_(False)


def remove_torn_checkpoints(folder: Path) -> None:
    """Remove checkpoints that a kill or a full disk tore.

    :param folder: The folder of the checkpoints of a run.
    """
    for path in folder.glob("checkpoint-*"):
        if _number(path) is not None and not (path / COMPLETE).is_file():
            shutil.rmtree(path)


def newest_complete_checkpoint(folder: Path) -> Path | None:
    """Find where to go on.

    :param folder: The folder of the checkpoints of a run.
    :return: The newest complete checkpoint, or None if there is none.
    """
    found = ((_number(path.parent), path.parent) for path in folder.glob(f"checkpoint-*/{COMPLETE}"))
    return max(((number, path) for number, path in found if number is not None), default=(0, None))[1]


def is_last(checkpoint: Path, config: TrainingConfig) -> bool:
    """Whether a run ended with a checkpoint, and is to be no longer than it was.

    The trainer itself does not look: it would make a step too many.

    :param checkpoint: A complete checkpoint.
    :param config: Says how long the run is to be.
    :return: Whether there is nothing left to do.
    """
    mark = json.loads((checkpoint / COMPLETE).read_text(encoding="utf-8"))
    return bool(mark["is_last"]) and mark["length"] == config.length


def _number(path: Path) -> int | None:
    number = path.name.removeprefix("checkpoint-")
    return int(number) if number.isdecimal() else None


class _EpochLoader(DataLoader[Any]):
    """A loader that tells its sampler of the epoch, which the sampler's draw depends on."""

    def set_epoch(self, epoch: int) -> None:
        cast(WindowSampler, self.batch_sampler).set_epoch(epoch)


class WindowTrainer(Trainer):
    """A trainer whose batches come whole from a :class:`WindowSampler`.

    :param model: The model with its losses.
    :param dataset: The training windows.
    :param sampler: Which windows, in which batches; this process's share of them.
    :param collator: Lays them out.
    :param config: How to train.
    :param output_dir: Where checkpoints go.
    :param evaluator: Measures the model now and then; None for never.
    :param show_progress: Whether to show a bar on the standard error.
    """

    def __init__(
        self,
        model: GapModel,
        dataset: WindowDataset,
        sampler: WindowSampler,
        collator: WindowCollator,
        config: TrainingConfig,
        output_dir: Path,
        evaluator: Evaluator | None = None,
        show_progress: bool = False,
    ) -> None:
        self._sampler = sampler
        self._config = config
        self._evaluator = evaluator
        self._parts: dict[str, list[torch.Tensor]] = {}
        self._core_seconds_before: float | None = None
        total_steps = _total_steps(config, len(sampler))
        self._clock = Clock(config, total_steps)
        super().__init__(
            model=model,
            args=_arguments(config, output_dir, total_steps, evaluator is not None),
            train_dataset=dataset,
            # Not looked at, but asked for where there is something to evaluate.
            eval_dataset=None if evaluator is None else dataset,
            data_collator=collator,
            callbacks=_callbacks(config, self._clock, evaluator is not None, show_progress),
        )
        self.remove_callback(PrinterCallback)

    def get_train_dataloader(self) -> DataLoader[Any]:
        """Build the loader over this process's batches.

        :return: The loader.
        """
        # Not prepared by accelerate, which would shard the batches once more.
        dataset = cast(WindowDataset, self.train_dataset)
        return _EpochLoader(
            dataset,
            batch_sampler=self._sampler,
            collate_fn=self.data_collator,
            pin_memory=torch.cuda.is_available(),
        )

    def create_scheduler(
        self, num_training_steps: int, optimizer: torch.optim.Optimizer | None = None
    ) -> torch.optim.lr_scheduler.LRScheduler:
        """Make the rate follow the progress of the run, be it counted in steps or in minutes.

        :param num_training_steps: Not used: the clock knows.
        :param optimizer: The optimizer; None for that of the trainer.
        :return: The schedule.
        """
        if self.lr_scheduler is None:
            self.lr_scheduler = LambdaLR(
                cast(torch.optim.Optimizer, optimizer or self.optimizer),
                lambda step: self._config.rate_factor(self._clock.progress(step)),
            )
            self._created_lr_scheduler = True
        return self.lr_scheduler

    def compute_loss(
        self,
        model: nn.Module,
        inputs: dict[str, torch.Tensor | Any],
        return_outputs: bool = False,
        num_items_in_batch: torch.Tensor | int | None = None,
    ) -> Any:
        """Compute the loss of a batch, and keep its parts for the log.

        :param model: The model with its losses.
        :param inputs: A batch.
        :param return_outputs: Whether to return all outputs too.
        :param num_items_in_batch: Not used: each batch counts once.
        :return: The loss, or the loss and all outputs.
        :raises TrainingError: If the loss is not a number.
        """
        outputs = model(**inputs)
        loss = float(outputs["loss"].detach())
        if not math.isfinite(loss):
            raise TrainingError(
                f"the loss is {loss} at step {self.state.global_step + 1}: try a lower learning rate than "
                f"{self._config.learning_rate:g}, or fp32 in place of {self._config.precision}, and a new "
                "output folder"
            )
        for name in ("window_loss", "inner_loss"):
            self._parts.setdefault(name, []).append(outputs[name])
        return (outputs["loss"], outputs) if return_outputs else outputs["loss"]

    def evaluate(self, *_: Any, **__: Any) -> dict[str, float]:
        """Measure the model, whatever the trainer passes.

        :return: The measures, named ``eval_...``.
        """
        assert self._evaluator is not None
        metrics = {f"eval_{name}": value for name, value in self._evaluator().items()}
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(self.args, self.state, self.control, metrics)
        return metrics

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Log, the parts of the loss and the time too.

        :param logs: What the trainer logs.
        :param start_time: When the run began, in seconds.
        """
        if "loss" in logs:
            logs["core_seconds"] = self._core_seconds()
            logs["seconds"] = self._clock.seconds
            for name, values in self._parts.items():
                logs[name] = float(torch.stack(values).mean())
            self._parts.clear()
        super().log(logs, start_time)

    def _core_seconds(self) -> float:
        """Processor time of the run, all cores and the time before a restart included."""
        if self._core_seconds_before is None:
            logged = [entry["core_seconds"] for entry in self.state.log_history if "core_seconds" in entry]
            self._core_seconds_before = logged[-1] if logged else 0.0
        return self._core_seconds_before + time.process_time()


def _total_steps(config: TrainingConfig, batches_per_epoch: int) -> int:
    """Steps after which a run ends at the latest."""
    steps_per_epoch = math.ceil(batches_per_epoch / config.gradient_accumulation)
    # Without either, time ends the run: more steps than any run has.
    by_epochs = math.inf if config.epochs is None else max(1, round(config.epochs * steps_per_epoch))
    by_steps = math.inf if config.max_steps is None else config.max_steps
    return int(min(by_epochs, by_steps, 10**9))


def _arguments(
    config: TrainingConfig, output_dir: Path, total_steps: int, evaluates: bool
) -> TrainingArguments:
    arguments = TrainingArguments(
        output_dir=str(output_dir),
        max_steps=total_steps,
        learning_rate=config.learning_rate,
        weight_decay=config.weight_decay,
        gradient_accumulation_steps=config.gradient_accumulation,
        optim="adamw_torch_fused",
        save_steps=config.save_steps,
        # The best one and the newest two, since the newest may be torn.
        save_total_limit=3,
        eval_strategy="steps" if evaluates else "no",
        eval_steps=config.save_steps if evaluates else None,
        metric_for_best_model=AP_KEY if evaluates else None,
        greater_is_better=True if evaluates else None,
        logging_steps=config.logging_steps,
        seed=config.seed,
        bf16=config.precision == "bf16",
        fp16=config.precision == "fp16",
        use_cpu=is_cpu_only(),
        ddp_find_unused_parameters=False,
        report_to=[],
        disable_tqdm=True,
        remove_unused_columns=False,
        label_names=["labels"],
    )
    if arguments.n_gpu > 1:
        # DataParallel would scatter the inner gaps apart from their rows: accelerate launch is the way.
        logger.warning(
            "using one of %d GPUs; for all: accelerate launch scripts/finetune.py", arguments.n_gpu
        )
        arguments._n_gpu = 1
    return arguments


def _callbacks(
    config: TrainingConfig, clock: Clock, evaluates: bool, show_progress: bool
) -> list[TrainerCallback]:
    callbacks: list[TrainerCallback] = [TimeLimit(clock), MarkComplete(config.length)]
    if evaluates and config.patience is not None:
        callbacks.append(EarlyStopping(config.patience))
    if show_progress:
        callbacks.append(ProgressBar(clock))
    return callbacks
