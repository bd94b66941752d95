"""The training loop: ``transformers.Trainer`` over sampled windows, restartable after a kill."""

import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import torch
from torch import nn
from torch.utils.data import DataLoader
from transformers import (
    PreTrainedModel,
    Trainer,
    TrainerCallback,
    TrainerControl,
    TrainerState,
    TrainingArguments,
)

from segmenter.training.dataset import WindowCollator, WindowDataset
from segmenter.training.model import GapModel
from segmenter.training.sampling import WindowSampler

__all__ = ["TrainingConfig", "WindowTrainer", "freeze", "newest_complete_checkpoint"]

_COMPLETE = "complete"


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingConfig:
    """How to train.

    :ivar max_steps: Optimizer steps, a batch each.
    :ivar learning_rate: At its highest.
    :ivar warmup_steps: Steps in which the rate rises from 0.
    :ivar decay_steps: Last steps, in which the rate falls to 0; in between it stays at its highest.
        A run may be killed at any time and given an end again with other numbers. None: all steps
        after the warm-up.
    :ivar weight_decay: Of the weights that are trained.
    :ivar inner_weight: Weight of the loss of the gaps inside a window.
    :ivar frozen_layers: Lowest encoder layers that stay as they are.
    :ivar freeze_embeddings: Whether the embeddings stay as they are.
    :ivar save_steps: Steps between two checkpoints.
    :ivar logging_steps: Steps between two lines of the log.
    :ivar mixed_precision: ``"bf16"`` or ``"fp16"`` where the device has units for it.
    :ivar seed: Of everything that is drawn.
    """

    max_steps: int
    learning_rate: float = 1.5e-4
    warmup_steps: int = 200
    decay_steps: int | None = None
    weight_decay: float = 0.01
    inner_weight: float = 0.5
    frozen_layers: int = 0
    freeze_embeddings: bool = True
    save_steps: int = 500
    logging_steps: int = 50
    mixed_precision: Literal["no", "bf16", "fp16"] = "no"
    seed: int = 0


def freeze(model: PreTrainedModel, config: TrainingConfig) -> None:
    """Take the lowest parts of a model out of the training.

    :param model: A BERT-like classifier.
    :param config: Says which parts.
    """
    encoder = model.base_model
    if config.freeze_embeddings:
        encoder.embeddings.requires_grad_(False)
    layers = next(
        module
        for module in encoder.modules()
        if isinstance(module, nn.ModuleList) and len(module) == model.config.num_hidden_layers
    )
    for layer in layers[: config.frozen_layers]:
        layer.requires_grad_(False)


def newest_complete_checkpoint(folder: Path) -> Path | None:
    """Find where to go on, past checkpoints that a kill tore.

    Torn checkpoints are renamed, so that the trainer does not count them among those it keeps.

    :param folder: The output folder of a run.
    :return: The newest complete checkpoint, or None if there is none.
    """
    found: dict[int, Path] = {}
    for path in folder.glob("checkpoint-*"):
        number = path.name.removeprefix("checkpoint-")
        if not number.isdecimal():
            continue
        if (path / _COMPLETE).is_file():
            found[int(number)] = path
        else:
            shutil.rmtree(folder / f"torn-{path.name}", ignore_errors=True)
            path.rename(folder / f"torn-{path.name}")
    return found[max(found)] if found else None


class _MarkComplete(TrainerCallback):
    """Says, after all files of a checkpoint are written, that they are."""

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        assert args.output_dir is not None
        (Path(args.output_dir) / f"checkpoint-{state.global_step}" / _COMPLETE).touch()


class WindowTrainer(Trainer):
    """A trainer whose batches come whole from a :class:`WindowSampler`.

    :param model: The model with its losses.
    :param dataset: The training windows.
    :param sampler: Which windows, in which batches.
    :param collator: Lays them out.
    :param config: How to train.
    :param output_dir: Where checkpoints go.
    """

    def __init__(
        self,
        model: GapModel,
        dataset: WindowDataset,
        sampler: WindowSampler,
        collator: WindowCollator,
        config: TrainingConfig,
        output_dir: Path,
    ) -> None:
        self._sampler = sampler
        self._parts: dict[str, list[float]] = {}
        self._core_seconds_before: float | None = None
        super().__init__(
            model=model,
            args=TrainingArguments(
                output_dir=str(output_dir),
                max_steps=config.max_steps,
                learning_rate=config.learning_rate,
                lr_scheduler_type="warmup_stable_decay",
                lr_scheduler_kwargs={
                    "decay_type": "linear",
                    "num_decay_steps": config.max_steps - config.warmup_steps
                    if config.decay_steps is None
                    else config.decay_steps,
                },
                warmup_steps=config.warmup_steps,
                weight_decay=config.weight_decay,
                optim="adamw_torch_fused",
                save_steps=config.save_steps,
                save_total_limit=2,
                logging_steps=config.logging_steps,
                seed=config.seed,
                bf16=config.mixed_precision == "bf16",
                fp16=config.mixed_precision == "fp16",
                report_to=[],
                remove_unused_columns=False,
                label_names=["labels"],
            ),
            train_dataset=dataset,
            data_collator=collator,
            callbacks=[_MarkComplete()],
        )

    def get_train_dataloader(self) -> DataLoader[Any]:
        """Build the loader over the sampler's batches.

        :return: The loader.
        """
        dataset = cast(WindowDataset, self.train_dataset)
        loader: DataLoader[Any] = DataLoader(
            dataset, batch_sampler=self._sampler, collate_fn=self.data_collator
        )
        prepared: DataLoader[Any] = self.accelerator.prepare(loader)
        return prepared

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
        """
        outputs = model(**inputs)
        for name in ("window_loss", "inner_loss"):
            self._parts.setdefault(name, []).append(float(outputs[name]))
        return (outputs["loss"], outputs) if return_outputs else outputs["loss"]

    def log(self, logs: dict[str, float], start_time: float | None = None) -> None:
        """Log, the parts of the loss too.

        :param logs: What the trainer logs.
        :param start_time: When the run began, in seconds.
        """
        if "loss" in logs:
            logs["core_seconds"] = self._core_seconds()
            for name, values in self._parts.items():
                logs[name] = sum(values) / len(values)
            self._parts.clear()
        super().log(logs, start_time)

    def _core_seconds(self) -> float:
        """Processor time of the run, all cores and the time before a restart included."""
        if self._core_seconds_before is None:
            logged = [entry["core_seconds"] for entry in self.state.log_history if "core_seconds" in entry]
            self._core_seconds_before = logged[-1] if logged else 0.0
        return self._core_seconds_before + time.process_time()
