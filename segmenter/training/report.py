"""What a training run did: all that is in ``training.json``."""

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from typing import Any

import torch

from segmenter.evaluation import Evaluation, Figure, Mode

__all__ = ["RunReport", "environment"]

_PACKAGES = ("cross-segmenter", "torch", "transformers", "accelerate", "tokenizers", "datasets", "numpy")


@dataclass(frozen=True, kw_only=True, slots=True)
class RunReport:
    """What a training run did.

    :ivar base: The model that it started from.
    :ivar data: Counts of the documents to train on, to measure on and to replay.
    :ivar training: The settings of the loop.
    :ivar sampling: What its windows contained.
    :ivar settings: What it did beside, the goal of the thresholds and the notes for the card among it.
    :ivar environment: Versions and hardware.
    :ivar steps: Optimizer steps, those before a restart included.
    :ivar best_step: Step whose weights were kept.
    :ivar windows: Windows seen.
    :ivar inner_gaps: Gaps inside them that the helper head learned from.
    :ivar seconds: Wall-clock time of the loop.
    :ivar core_seconds: Processor time of the first process.
    :ivar log: What the trainer logged.
    :ivar temperature: Of the calibration.
    :ivar shift: Of the calibration.
    :ivar thresholds: By way of reading a document.
    :ivar before: Figures of the model that it started from.
    :ivar is_cross_fitted: Whether what follows was calibrated on other documents than it is measured on:
        each half of them on the other.
    :ivar after: Figures of the trained one.
    :ivar gain: After minus before, paired, by way of reading, kind and measure.
    """

    base: str
    data: Mapping[str, Mapping[str, int]]
    training: Mapping[str, Any]
    sampling: Mapping[str, Any]
    settings: Mapping[str, Any]
    environment: Mapping[str, Any]
    steps: int
    best_step: int | None
    windows: int
    inner_gaps: int
    seconds: float
    core_seconds: float
    log: Sequence[Mapping[str, Any]]
    temperature: float = 1.0
    shift: float = 0.0
    thresholds: Mapping[Mode, float] = field(default_factory=dict)
    before: Mapping[Mode, Evaluation] = field(default_factory=dict)
    is_cross_fitted: bool = False
    after: Mapping[Mode, Evaluation] = field(default_factory=dict)
    gain: Mapping[Mode, Mapping[str, Mapping[str, Figure]]] = field(default_factory=dict)

    def to_json(self) -> str:
        """Write the report.

        :return: JSON text.
        """
        values = asdict(self)
        for part in ("sampling", "settings"):
            contexts = values[part]["contexts"] or {}
            values[part]["contexts"] = {str(context): share for context, share in contexts.items()}
        return json.dumps(values, indent=1, ensure_ascii=False) + "\n"


def environment(processes: int) -> dict[str, Any]:
    """Describe what a run runs on.

    :param processes: How many of them train together.
    :return: Versions and hardware.
    """
    if torch.cuda.is_available():
        hardware = torch.cuda.get_device_name()
    else:
        hardware = f"{torch.get_num_threads()} CPU threads ({torch.backends.cpu.get_cpu_capability()})"
    return {
        "python": platform.python_version(),
        **{name: version(name) for name in _PACKAGES},
        "hardware": hardware,
        "processes": processes,
    }
