"""Writes a checkpoint for other backends, and measures each of them beside torch in float32."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np
from numpy.typing import NDArray

from segmenter.backends import Choice, load_scorer
from segmenter.backends.choice import possible
from segmenter.backends.measured import ONNX_FILES, Measured, write_measured
from segmenter.checkpoint import Checkpoint, write_checkpoint
from segmenter.errors import CheckpointError, InputError
from segmenter.extras import quiet, require
from segmenter.labelled import gap_flags
from segmenter.segmenter import Segmenter

__all__ = ["export"]

_ROUNDS = 3
_BASE = Choice("torch", "float32", "cpu", "what the others are compared with")


@dataclass(frozen=True, slots=True)
class _Run:
    """One pass over the texts.

    :ivar probabilities: *Shape:* ``(n_gaps,)``.
    :ivar found: Which gaps were cut. *Shape:* ``(n_gaps,)``.
    :ivar seconds: Time of the wall clock.
    """

    probabilities: NDArray[np.float32]
    found: NDArray[np.bool_]
    seconds: float


def export(
    checkpoint: Checkpoint, texts: Sequence[str], output: str | os.PathLike[str] | None = None
) -> list[Measured]:
    """Write the ONNX files of a checkpoint, and measure every backend on texts.

    Beside the checkpoint: ``onnx/model.onnx`` in float32, ``onnx/model_int8.onnx``, whose weights are 8 bit
    integers a channel of their own, and ``backends.json``, which ``backend="auto"`` reads on this kind of
    CPU.

    :param checkpoint: The model.
    :param texts: Real texts of the kind that will be read, some hundred gaps at least.
    :param output: A new folder for a copy of the checkpoint with those files; None: its own folder.
    :return: How each backend did that is installed.
    :raises InputError: If the texts have no gap.
    :raises MissingPackageError: If a package of the extra ``onnx`` is not installed.
    :raises CheckpointError: If the files cannot be written, or the output folder holds a model already.
    """
    for module in ("onnx", "onnxscript", "onnxruntime"):
        require(module)
    usual = _segmenter(checkpoint, _BASE)
    if not any(len(result.probabilities) for result in usual.segment_many(texts)):
        raise InputError("got texts without a gap, expected some of the kind that will be read")
    folder = checkpoint.folder
    if output is not None:
        folder = Path(output)
        if (folder / "config.json").exists():
            raise CheckpointError(f"{output} holds a model already, expected a new folder")
        write_checkpoint(checkpoint.model, checkpoint.tokenizer, checkpoint.config, folder)
    checkpoint = replace(checkpoint, folder=folder)
    try:
        with TemporaryDirectory(prefix=".partial-", dir=folder) as partial:
            _write_float(checkpoint, Path(partial, "model.onnx"))
            _write_int8(Path(partial, "model.onnx"), Path(partial, "model_int8.onnx"))
            (folder / "onnx").mkdir(exist_ok=True)
            for path in ONNX_FILES.values():
                Path(partial, Path(path).name).replace(folder / path)
        write_measured(folder, ())  # From now on the files count as exported.
        measured = [
            _measure(checkpoint, Choice(backend, dtype, "cpu", ""), usual, texts)
            for backend, dtype in possible(folder)
        ]
        write_measured(folder, measured)
    except OSError as error:
        raise CheckpointError(f"cannot write to {folder}: {error}") from error
    return measured


def _measure(checkpoint: Checkpoint, choice: Choice, usual: Segmenter, texts: Sequence[str]) -> Measured:
    """Run a backend, each round next to torch in float32."""
    segmenter = _segmenter(checkpoint, choice)
    pairs = [(_run(usual, texts), _run(segmenter, texts)) for _ in range(_ROUNDS)]
    base, run = pairs[0]
    return Measured(
        backend=choice.backend,
        dtype=choice.dtype,
        gaps=len(base.found),
        labels_equal=float(np.mean(run.found == base.found)),
        largest_difference=float(np.abs(run.probabilities - base.probabilities).max()),
        speedup=float(median(before.seconds / after.seconds for before, after in pairs)),
    )


def _segmenter(checkpoint: Checkpoint, choice: Choice) -> Segmenter:
    # Every gap, so that there are many.
    every = replace(checkpoint, config=replace(checkpoint.config, candidates="all"))
    return Segmenter(every, load_scorer(every, choice))


def _run(segmenter: Segmenter, texts: Sequence[str]) -> _Run:
    segmenter.segment(texts[0][:500])  # The first batch takes longer.
    started = time.perf_counter()
    results = list(segmenter.segment_many(texts))
    seconds = time.perf_counter() - started
    found = [gap_flags(result.boundaries, len(result.sentences)) for result in results]
    return _Run(np.concatenate([r.probabilities for r in results]), np.concatenate(found), seconds)


def _write_float(checkpoint: Checkpoint, path: Path) -> None:
    import torch

    from segmenter.encoder import traced

    with quiet():
        torch.onnx.export(
            traced(checkpoint.model),
            f=path,
            input_names=["input_ids", "attention_mask"],
            output_names=["logits"],
            external_data=False,
            verbose=False,
        )


def _write_int8(source: Path, path: Path) -> None:
    quantization = require("onnxruntime.quantization")
    with quiet():
        quantization.quantize_dynamic(
            source,
            path,
            per_channel=True,
            # Without VNNI units sums of full 8 bit products overflow.
            reduce_range=True,
            weight_type=quantization.QuantType.QInt8,
            op_types_to_quantize=["MatMul", "Gemm"],
            nodes_to_exclude=_head(source),
        )


def _head(path: Path) -> list[str]:
    """The classifier's own products, which cost nothing and lose the most."""
    graph = require("onnx").load(path, load_external_data=False).graph
    weights = {tensor.name for tensor in graph.initializer if "classifier" in tensor.name}
    names = [node.name for node in graph.node if weights.intersection(node.input)]
    # The quantizer turns each Gemm into a MatMul first, under such a name.
    return [*names, *(f"{name}_MatMul" for name in names)]
