"""Runs a model with PyTorch."""

from copy import deepcopy
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from segmenter.errors import ConfigError
from segmenter.scoring import Logits

if TYPE_CHECKING:
    import torch
    from torch import nn

__all__ = ["TorchScorer"]

_OUT_OF_MEMORY = ("can't allocate memory", "out of memory", "CUBLAS_STATUS_ALLOC_FAILED")
_CPU_BATCH_TOKENS = 4096
_GPU_BATCH_TOKENS = 65536


class TorchScorer:
    """Runs a PyTorch model.

    :param model: A sequence classifier of two labels.
    :param device: ``"auto"`` (a GPU where there is one), or a name that torch knows.
    :param dtype: What the model computes with: ``"float32"``, ``"bfloat16"`` or ``"float16"``.
    :raises ConfigError: If there is no such device.
    """

    def __init__(self, model: "nn.Module", device: str = "auto", dtype: str = "float32") -> None:
        import torch

        from segmenter import encoder

        self._device = resolve_device(device)
        if dtype != "float32":
            model = deepcopy(model)  # What was loaded stays as exact as it is.
        self._logits = encoder.Logits(model).to(self._device, getattr(torch, dtype)).eval()

    @property
    def device(self) -> str:
        """The device the model runs on, as torch writes it."""
        return str(self._device)

    @property
    def batch_tokens(self) -> int:
        """Tokens of a batch that suit the device, padding included."""
        return _CPU_BATCH_TOKENS if self._device.type == "cpu" else _GPU_BATCH_TOKENS

    @property
    def runs_ahead(self) -> bool:
        """Whether the device works while the caller goes on."""
        return self._device.type == "cuda"

    def start(self, input_ids: NDArray[np.int64], attention_mask: NDArray[np.int64]) -> Logits:
        """Run the model; on a GPU, begin to.

        :param input_ids: *Shape:* ``(batch, length)``.
        :param attention_mask: 1 for a token, 0 for padding. *Shape:* ``(batch, length)``.
        :return: Waits for the logits.
        :raises MemoryError: If the batch does not fit; a smaller one may.
        """
        import torch

        try:
            with torch.inference_mode():
                # A batch without padding needs no mask.
                mask = None if attention_mask.all() else self._moved(attention_mask)
                result = self._logits(self._moved(input_ids), mask).float()
        except RuntimeError as error:
            # Not every allocator has the error class.
            if isinstance(error, torch.OutOfMemoryError) or any(
                text in str(error) for text in _OUT_OF_MEMORY
            ):
                raise MemoryError(str(error)) from error
            raise
        return lambda: result.cpu().numpy()

    def _moved(self, array: NDArray[np.int64]) -> "torch.Tensor":
        import torch

        tensor = torch.from_numpy(array)
        # From pinned memory the copy does not hold the caller up.
        return (
            tensor.pin_memory().to(self._device, non_blocking=True)
            if self.runs_ahead
            else tensor.to(self._device)
        )


def resolve_device(device: str) -> "torch.device":
    """Find a device.

    :param device: ``"auto"`` (a GPU where there is one), or a name that torch knows.
    :return: The device.
    :raises ConfigError: If there is no such device.
    """
    import torch

    if device == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        found = torch.device(device)
        torch.empty(0, device=found)
    except (RuntimeError, AssertionError) as error:
        raise ConfigError(
            f"got device={device!r}, expected 'auto', 'cpu' or a GPU of this machine, as 'cuda': {error}"
        ) from error
    return found
