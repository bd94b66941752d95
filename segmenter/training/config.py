"""How to train."""

import math
from dataclasses import dataclass
from typing import Literal, get_args

from segmenter.errors import ConfigError

__all__ = ["Imbalance", "Precision", "TrainingConfig"]

Imbalance = Literal["undersample", "weight", "focal"]
"""What is done about boundaries being rare. ``"undersample"``: fewer of the other gaps are drawn.
``"weight"``: all gaps are drawn alike, and a boundary counts as often as it is rarer. ``"focal"``: all
gaps are drawn alike, and those that are right already count little (Lin et al. 2017, "Focal Loss for
Dense Object Detection", gamma 2). Gaps inside paragraphs whose marks are kept are hardly drawn in any of
them, since the marks tell the answer and such gaps are not scored later."""

Precision = Literal["fp32", "bf16", "fp16"]

_IMBALANCES, _PRECISIONS = get_args(Imbalance), get_args(Precision)


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingConfig:
    """How to train. The run ends at the first of ``max_steps``, ``epochs`` and ``max_minutes``.

    :ivar max_steps: Optimizer steps.
    :ivar epochs: Passes over the training windows, parts of one allowed.
    :ivar max_minutes: Wall-clock time of the training loop, that before a restart included.
    :ivar learning_rate: At its highest.
    :ivar warmup_share: Share of the run in which the rate rises from 0, 0 to 1.
    :ivar decay_share: Share of the run, at its end, in which the rate falls to 0, 0 to 1; in between it
        stays at its highest.
    :ivar weight_decay: Of the weights that are trained.
    :ivar gradient_accumulation: Batches a step.
    :ivar imbalance: What is done about boundaries being rare.
    :ivar inner_weight: Weight of the loss of the gaps inside a window; 0 turns the helper head off.
    :ivar frozen_layers: Lowest encoder layers that stay as they are.
    :ivar freeze_embeddings: Whether the embeddings stay as they are.
    :ivar save_steps: Steps between two checkpoints, and between two looks at the evaluation documents.
    :ivar patience: Looks in a row without a better AP after which the run ends; None for never. The best
        weights are kept either way, where there are evaluation documents.
    :ivar logging_steps: Steps between two lines of the log.
    :ivar precision: ``"bf16"`` or ``"fp16"`` where the device has units for it.
    :ivar seed: Of everything that is drawn.
    :raises ConfigError: If a setting is out of its range, or nothing says when the run ends.
    """

    max_steps: int | None = None
    epochs: float | None = None
    max_minutes: float | None = None
    learning_rate: float = 1e-4
    warmup_share: float = 0.05
    decay_share: float = 0.95
    weight_decay: float = 0.01
    gradient_accumulation: int = 1
    imbalance: Imbalance = "undersample"
    inner_weight: float = 0.5
    frozen_layers: int = 0
    freeze_embeddings: bool = True
    save_steps: int = 200
    patience: int | None = None
    logging_steps: int = 50
    precision: Precision = "fp32"
    seed: int = 0

    def __post_init__(self) -> None:
        if self.max_steps is None and self.epochs is None and self.max_minutes is None:
            raise ConfigError("nothing says when the training ends: give max_steps, epochs or max_minutes")
        for names, is_right, expected in (
            (
                ("max_steps", "epochs", "max_minutes", "patience"),
                lambda v: v is None or 0 < v < math.inf,
                "above 0",
            ),
            (("gradient_accumulation", "save_steps", "logging_steps"), lambda v: v >= 1, "1 or more"),
            (("warmup_share", "decay_share"), lambda v: 0 <= v <= 1, "a number from 0 to 1"),
            (
                ("learning_rate", "weight_decay", "inner_weight", "frozen_layers"),
                lambda v: 0 <= v < math.inf,
                "0 or more",
            ),
            (("imbalance",), lambda v: v in _IMBALANCES, f"one of {', '.join(_IMBALANCES)}"),
            (("precision",), lambda v: v in _PRECISIONS, f"one of {', '.join(_PRECISIONS)}"),
        ):
            for name in names:
                if not is_right(getattr(self, name)):
                    raise ConfigError(f"got {name}={getattr(self, name)!r}, expected {expected}")

    @property
    def length(self) -> list[float | None]:
        """All that says when the run ends."""
        return [self.max_steps, self.epochs, self.max_minutes, self.patience]

    def rate_factor(self, progress: float) -> float:
        """Share of the highest learning rate at a point of the run: up, level, down, all in lines.

        :param progress: Share of the run that is done, 0 to 1.
        :return: 0 to 1.
        """
        rising = progress / self.warmup_share if self.warmup_share else 1.0
        falling = (1 - progress) / self.decay_share if self.decay_share else 1.0
        return max(0.0, min(rising, falling, 1.0))
