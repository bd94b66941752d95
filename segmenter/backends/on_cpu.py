"""What backends have in common that run on the CPU, while the caller waits."""

from abc import ABC, abstractmethod

import numpy as np
from numpy.typing import NDArray

from segmenter.scoring import Logits

__all__ = ["CpuScorer"]


class CpuScorer(ABC):
    """A scorer that is done when it has started."""

    batch_tokens = 4096
    runs_ahead = False

    def start(self, input_ids: NDArray[np.int64], attention_mask: NDArray[np.int64]) -> Logits:
        """Run the model.

        :param input_ids: *Shape:* ``(batch, length)``.
        :param attention_mask: 1 for a token, 0 for padding. *Shape:* ``(batch, length)``.
        :return: The logits.
        """
        result = self._run(input_ids, attention_mask)
        return lambda: result

    @abstractmethod
    def _run(self, input_ids: NDArray[np.int64], attention_mask: NDArray[np.int64]) -> NDArray[np.float32]:
        """The logits. *Shape:* ``(batch, 2)``."""
