"""Runs an exported model with ONNX Runtime."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from segmenter.backends.on_cpu import CpuScorer
from segmenter.extras import require

__all__ = ["OnnxScorer"]


class OnnxScorer(CpuScorer):
    """Runs a model that :mod:`segmenter.export` wrote, on the CPU.

    :param path: The ONNX file.
    :param threads: Threads to compute with; 0 for as many as there are cores.
    :raises MissingPackageError: If onnxruntime is not installed.
    """

    def __init__(self, path: Path, threads: int = 0) -> None:
        runtime = require("onnxruntime")
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads
        self._session = runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])

    def _run(self, input_ids: NDArray[np.int64], attention_mask: NDArray[np.int64]) -> NDArray[np.float32]:
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask}
        result: NDArray[np.float32] = self._session.run(["logits"], inputs)[0]
        return result
