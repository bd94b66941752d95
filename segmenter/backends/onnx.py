"""Runs an exported model with ONNX Runtime."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from segmenter.extras import require
from segmenter.scoring import Logits

__all__ = ["OnnxScorer"]

_BATCH_TOKENS = 4096


class OnnxScorer:
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
        inputs = {"input_ids": input_ids, "attention_mask": attention_mask}
        result: NDArray[np.float32] = self._session.run(["logits"], inputs)[0]
        return lambda: result
