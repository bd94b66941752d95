"""Runs a model with OpenVINO."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from segmenter.extras import quiet, require
from segmenter.scoring import Logits

if TYPE_CHECKING:
    from torch import nn

__all__ = ["OpenVinoScorer"]

_BATCH_TOKENS = 4096
_PRECISIONS = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}


class OpenVinoScorer:
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

    @property
    def batch_tokens(self) -> int:
        """Tokens of a batch that suit a CPU, padding included."""
        return _BATCH_TOKENS

    @property
    def runs_ahead(self) -> bool:
        """Never: a CPU works while the caller waits."""
        return False

    def start(self, input_ids: NDArray[np.int64], attention_mask: NDArray[np.int64]) -> Logits:
        """Run the model.

        :param input_ids: *Shape:* ``(batch, length)``.
        :param attention_mask: 1 for a token, 0 for padding. *Shape:* ``(batch, length)``.
        :return: The logits.
        """
        # A request a call, so that threads may share the model.
        outputs = self._compiled.create_infer_request().infer([input_ids, attention_mask])
        result: NDArray[np.float32] = outputs[0].copy()
        return lambda: result


def _converted(openvino: Any, model: "nn.Module") -> Any:
    from segmenter.encoder import traced

    with quiet():
        return openvino.convert_model(traced(model))
