"""What was exported beside a checkpoint, and how fast and how right it was on which CPU."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from segmenter.checkpoint import weights_hash
from segmenter.errors import CheckpointError

__all__ = [
    "LEAST_EQUAL",
    "LEAST_GAPS",
    "MEASURED_FILE",
    "ONNX_FILES",
    "Measured",
    "capabilities",
    "cpu_name",
    "exported_file",
    "measured_here",
    "write_measured",
]

LEAST_EQUAL = 0.995
"""Share of labels that have to be those of float32, for ``"auto"`` to take another precision."""

LEAST_GAPS = 400
"""How many gaps that has to be measured on: two of them may differ."""

MEASURED_FILE = "backends.json"
"""What ``segmenter export`` measured, in the checkpoint folder."""

ONNX_FILES = {"float32": "onnx/model.onnx", "int8": "onnx/model_int8.onnx"}
"""What it exported, by precision."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """How a backend did on one machine, beside torch in float32.

    :ivar backend: Its name.
    :ivar dtype: What it computed with.
    :ivar gaps: How many it was run on.
    :ivar labels_equal: Share of gaps that were cut, or not, as in float32, 0 to 1.
    :ivar largest_difference: Of the probabilities, 0 to 1.
    :ivar speedup: How many times as fast.
    """

    backend: str
    dtype: str
    gaps: int
    labels_equal: float
    largest_difference: float
    speedup: float

    @property
    def is_as_right(self) -> bool:
        """Whether its labels are those of float32, as far as that was measured."""
        return self.dtype == "float32" or (self.gaps >= LEAST_GAPS and self.labels_equal >= LEAST_EQUAL)


def exported_file(folder: Path, dtype: str) -> Path | None:
    """Find an ONNX file that was exported from the weights of a checkpoint.

    :param folder: The checkpoint.
    :param dtype: ``"float32"`` or ``"int8"``.
    :return: The file, or None if there is none, or the weights have changed since.
    """
    path = folder / ONNX_FILES[dtype]
    return path if path.is_file() and _exported(folder) is not None else None


def cpu_name() -> str:
    """The kind of CPU, and the number of threads that torch uses.

    :return: For people to read, and to compare.
    """
    import torch

    return f"{capabilities().get('cpu_name', 'unknown CPU')}, {torch.get_num_threads()} threads"


def capabilities() -> dict[str, Any]:
    """What torch says of this CPU.

    :return: Its name, and which instruction sets it has; nothing if torch does not tell.
    """
    import torch

    return dict(torch.cpu.get_capabilities()) if hasattr(torch.cpu, "get_capabilities") else {}


def measured_here(folder: Path) -> list[Measured]:
    """What ``segmenter export`` measured on this kind of CPU.

    :param folder: The checkpoint.
    :return: A row a backend and precision; none if nothing was measured here, or with other weights.
    :raises CheckpointError: If the file is damaged.
    """
    content = _exported(folder)
    if content is None or content.get("cpu") != cpu_name():
        return []
    try:
        return [Measured(**row) for row in content["measured"]]
    except (KeyError, TypeError) as error:
        raise _damaged(folder, error) from error


def write_measured(folder: Path, measured: Sequence[Measured]) -> None:
    """Write what was measured, for the weights that are there and this kind of CPU.

    :param folder: The checkpoint.
    :param measured: A row a backend and precision.
    """
    rows = [asdict(row) for row in measured]
    content = {"weights": weights_hash(folder), "cpu": cpu_name(), "measured": rows}
    partial = folder / f".partial-{MEASURED_FILE}"
    partial.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    partial.replace(folder / MEASURED_FILE)


def _exported(folder: Path) -> dict[str, Any] | None:
    """What the export said, if it was of the weights that are there."""
    path = folder / MEASURED_FILE
    if not path.is_file():
        return None
    try:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return content if content["weights"] == weights_hash(folder) else None
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _damaged(folder, error) from error


def _damaged(folder: Path, error: Exception) -> CheckpointError:
    return CheckpointError(
        f"{folder / MEASURED_FILE} cannot be read ({type(error).__name__}: {error}): delete it, or write it "
        "anew with `segmenter export`"
    )
