"""Which backend and which precision run a model fastest here, and as right as float32."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

from segmenter.backends.measured import ONNX_FILES, capabilities, exported_file, measured_here
from segmenter.backends.pytorch import resolve_device
from segmenter.errors import CheckpointError, ConfigError
from segmenter.extras import is_installed, require

__all__ = ["Backend", "Choice", "Dtype", "choose", "possible"]

Backend = Literal["auto", "torch", "onnx", "openvino"]
"""What runs the model."""

Dtype = Literal["auto", "float32", "bfloat16", "float16", "int8"]
"""What it computes with."""

_ON_A_CPU = {
    "torch": ("float32", "bfloat16", "float16"),
    "onnx": ("float32", "int8"),
    "openvino": ("float32", "bfloat16", "float16"),
}
_HEAD_START = 1.1
_ISA_LIMIT = "ONEDNN_MAX_CPU_ISA"
"""The variable by which users keep oneDNN, which computes for torch and OpenVINO, from newer units."""
_ISAS_WITHOUT_HALF = ("SSE41", "AVX", "AVX2", "AVX2_VNNI", "AVX512_CORE", "AVX512_CORE_VNNI")
_MODULE = {"onnx": "onnxruntime", "openvino": "openvino"}


@dataclass(frozen=True, slots=True)
class Choice:
    """What runs a model.

    :ivar backend: ``"torch"``, ``"onnx"`` or ``"openvino"``.
    :ivar dtype: ``"float32"``, ``"bfloat16"``, ``"float16"`` or ``"int8"``.
    :ivar device: As torch names it.
    :ivar reason: Why, for people to read.
    """

    backend: str
    dtype: str
    device: str
    reason: str


def choose(backend: Backend, dtype: Dtype, device: str, folder: Path) -> Choice:
    """Choose what runs a model.

    A GPU runs torch, in bfloat16 where it has units for it. On a CPU the fastest is taken that ``segmenter
    export`` measured on this kind of CPU, if its labels are those of float32; without such figures bfloat16
    where the CPU has units for it, by OpenVINO if that is installed, else torch in float32. Without units
    half precision is several times slower. With ``ONEDNN_MAX_CPU_ISA=AVX2`` in the environment a CPU counts
    as one without.

    :param backend: What the user asked for.
    :param dtype: The same.
    :param device: ``"auto"``, or a name that torch knows.
    :param folder: The checkpoint.
    :return: The choice.
    :raises ConfigError: If there is no such backend, precision or device, or they do not go together, or this
        CPU has no units for it (torch imitates them, slowly).
    :raises MissingPackageError: If a package is not installed.
    :raises CheckpointError: If a file has to be exported first.
    """
    for name, value, known in (("backend", backend, get_args(Backend)), ("dtype", dtype, get_args(Dtype))):
        if value not in known:
            raise ConfigError(f"got {name}={value!r}, expected one of {', '.join(known)}")
    found = resolve_device(device)
    if found.type != "cpu":
        return _on_a_gpu(backend, dtype, str(found))
    pairs = possible(folder, backend, dtype)
    if not pairs:
        _refuse(backend, dtype, folder)
    measured = [row for row in measured_here(folder) if (row.backend, row.dtype) in pairs]
    good = [row for row in measured if row.is_as_right]
    if good:
        # Torch starts sooner, so that little is not enough.
        best = max(good, key=lambda row: row.speedup * (_HEAD_START if row.backend == "torch" else 1))
        reason = (
            f"the fastest that was measured on this kind of CPU, {best.speedup:.2f} times torch in float32, "
            f"{best.labels_equal:.1%} of labels equal"
        )
        return Choice(best.backend, best.dtype, "cpu", reason)
    has_units = _has_units("bfloat16")
    wished = [("openvino", "bfloat16"), ("torch", "bfloat16")] if has_units else []
    for pair in [*wished, ("torch", "float32"), ("openvino", "float32"), ("onnx", "float32"), *pairs]:
        if pair in pairs:
            units = "bfloat16 units" if has_units else "no bfloat16 units"
            asked = "as asked for" if len(pairs) == 1 else f"this CPU has {units}"
            return Choice(*pair, "cpu", asked)
    raise AssertionError("one of the pairs is among the pairs")


def possible(folder: Path, backend: Backend = "auto", dtype: Dtype = "auto") -> list[tuple[str, str]]:
    """What can run a checkpoint on this CPU, with what is installed and exported.

    Half precision is left out where the CPU has no units for it, unless torch is asked for it by name.

    :param folder: The checkpoint.
    :param backend: The only one to look at; ``"auto"`` for all.
    :param dtype: The same.
    :return: Backends and precisions.
    """
    return [
        (name, kind)
        for name, kinds in _ON_A_CPU.items()
        if backend in ("auto", name) and (name not in _MODULE or is_installed(_MODULE[name]))
        for kind in kinds
        if dtype in ("auto", kind)
        and _has_file(name, kind, folder)
        and (_has_units(kind) or (name, kind) == (backend, dtype) == ("torch", kind))
    ]


def _on_a_gpu(backend: str, dtype: str, device: str) -> Choice:
    import torch

    if backend not in ("auto", "torch") or dtype == "int8":
        raise ConfigError(
            f"got backend={backend!r}, dtype={dtype!r} on {device}, expected torch in float32, bfloat16 or "
            "float16; the others run with device='cpu'"
        )
    if dtype != "auto":
        return Choice("torch", dtype, device, "as asked for")
    if not device.startswith("cuda"):
        return Choice("torch", "float32", device, "nothing else was measured on such a device")
    if torch.cuda.is_bf16_supported(including_emulation=False):
        return Choice("torch", "bfloat16", device, "this GPU has bfloat16 units")
    return Choice("torch", "float16", device, "this GPU has no bfloat16 units")


def _has_file(backend: str, dtype: str, folder: Path) -> bool:
    # OpenVINO converts a model itself.
    return backend != "onnx" or exported_file(folder, dtype) is not None


def _refuse(backend: str, dtype: str, folder: Path) -> None:
    """Say why nothing is possible."""
    kinds = {kind for name in _ON_A_CPU if backend in ("auto", name) for kind in _ON_A_CPU[name]}
    if dtype not in {"auto", *kinds}:
        raise ConfigError(
            f"got dtype={dtype!r} with backend={backend!r}, expected {', '.join(sorted(kinds))}"
        )
    if not _has_units(dtype):
        raise ConfigError(f"got dtype={dtype!r}, for which this CPU has no units; expected 'float32'")
    require(_MODULE[backend if backend in _MODULE else "onnx"])
    raise CheckpointError(
        f"{folder} has no {ONNX_FILES['int8' if dtype == 'int8' else 'float32']}, or one of other "
        "weights; run `segmenter export` first"
    )


def _has_units(dtype: str) -> bool:
    """Whether this CPU computes with such numbers, and does not only imitate it."""
    unit = {"bfloat16": "bf16", "float16": "fp16"}.get(dtype)
    if unit is not None and os.environ.get(_ISA_LIMIT, "").upper() in _ISAS_WITHOUT_HALF:
        return False
    return unit is None or any(unit in name and value is True for name, value in capabilities().items())
