"""Runs a model with OpenVINO."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from segmenter.backends.on_cpu import CpuScorer
from segmenter.extras import quiet, require

if TYPE_CHECKING:
    from torch import nn

__all__ = ["OpenVinoScorer"]

_PRECISIONS = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}


class OpenVinoScorer(CpuScorer):
    """Runs a model on the CPU.

    :param source: A model, which takes seconds to convert, or an ONNX file.
    :param dtype: What it computes with: ``"float32"``, ``"bfloat16"`` or ``"float16"``.
    :param threads: Threads to compute with; 0 for as many as there are cores.
    :raises MissingPackageError: If openvino is not installed.
    """

    def __init__(self, source: "nn.Module | Path", dtype: str = "float32", threads: int = 0) -> None:
        openvino = require("openvino")
        core = openvino.Core()
        model = core.read_model(source) if isinstance(source, Path) else _converted(openvino, source)
        settings: dict[str, Any] = {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_PRECISION_HINT": _PRECISIONS[dtype],
        }
        if threads:
            settings["INFERENCE_NUM_THREADS"] = threads
        self._compiled = core.compile_model(model, "CPU", settings)

    def _run(self, input_ids: NDArray[np.int64], attention_mask: NDArray[np.int64]) -> NDArray[np.float32]:
        # A request a call, so that threads may share the model.
        outputs = self._compiled.create_infer_request().infer([input_ids, attention_mask])
        result: NDArray[np.float32] = outputs[0].copy()
        return result


def _converted(openvino: Any, model: "nn.Module") -> Any:
    from segmenter.encoder import traced

    with quiet():
        return openvino.convert_model(traced(model))
