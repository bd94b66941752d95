"""What runs a model: PyTorch, ONNX Runtime or OpenVINO."""

from typing import TYPE_CHECKING

from segmenter.backends.choice import Backend, Choice, Dtype, choose
from segmenter.backends.measured import ONNX_FILES, exported_file
from segmenter.backends.pytorch import TorchScorer

if TYPE_CHECKING:
    from segmenter.checkpoint import LightCheckpoint
    from segmenter.scoring import Scorer

__all__ = ["Backend", "Choice", "Dtype", "TorchScorer", "choose", "load_scorer"]


def load_scorer(checkpoint: "LightCheckpoint", choice: Choice) -> "Scorer":
    """Set a backend up.

    :param checkpoint: The model.
    :param choice: What is to run it.
    :return: The scorer.
    :raises MissingPackageError: If a package is not installed.
    """
    if choice.backend == "onnx":
        from segmenter.backends.onnx import OnnxScorer

        return OnnxScorer(checkpoint.folder / ONNX_FILES[choice.dtype])
    if choice.backend == "openvino":
        from segmenter.backends.openvino import OpenVinoScorer

        # The exported file starts sooner.
        return OpenVinoScorer(exported_file(checkpoint.folder, "float32") or checkpoint.model, choice.dtype)
    return TorchScorer(checkpoint.model, choice.device, choice.dtype)
