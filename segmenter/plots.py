"""Pictures of an evaluation."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from segmenter.errors import InputError
from segmenter.evaluation import Mode, ScoredDocument
from segmenter.extras import require
from segmenter.metrics import (
    average_precision,
    calibration_curve,
    precision_recall_curve,
    precision_recall_f1,
)
from segmenter.retrieval import MEASURES, Retrieval

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["check_plot", "plot_evaluation", "plot_retrieval"]


def check_plot(path: Path) -> None:
    """Make sure that a picture can be drawn, before the work for it begins.

    :param path: The picture.
    :raises MissingPackageError: If matplotlib is not installed.
    :raises InputError: If it cannot draw such a file, or there is no such folder.
    """
    require("matplotlib")
    from matplotlib.backend_bases import FigureCanvasBase

    suffixes = sorted(FigureCanvasBase.get_supported_filetypes())
    if path.suffix.removeprefix(".").lower() not in suffixes:
        raise InputError(f"got {path} to draw, expected a name that ends in one of {', '.join(suffixes)}")
    if not path.absolute().parent.is_dir():
        raise InputError(f"got {path} to draw, but there is no such folder")


def plot_evaluation(results: Mapping[Mode, Sequence[ScoredDocument]], path: Path) -> None:
    """Draw precision against recall with the point of the threshold, and the calibration curve.

    :param results: What a model said, by way of measuring.
    :param path: The picture to write; its suffix says the format, such as ``.png`` or ``.svg``.
    :raises MissingPackageError: If matplotlib is not installed.
    :raises InputError: If the picture cannot be written.
    """
    check_plot(path)
    from matplotlib.figure import Figure

    # Without pyplot, which keeps state and looks for a display.
    figure = Figure(figsize=(10, 4.6), layout="constrained")
    curve_axes, calibration_axes = figure.subplots(1, 2)
    for mode, documents in results.items():
        reference = np.concatenate([document.reference for document in documents])
        found = np.concatenate([document.found for document in documents])
        chances = np.concatenate([d.probabilities for d in documents if d.probabilities is not None])
        precision, recall, _ = precision_recall_curve(reference, chances)
        label = f"{mode}, AP {average_precision(reference, chances):.3f}"
        # AP takes each precision for the recall gained up to it, so the step lies before its point.
        recall, precision = np.append(0.0, recall), np.append(precision[:1], precision)
        (line,) = curve_axes.step(recall, precision, where="pre", label=label)
        point = precision_recall_f1(reference, found)
        curve_axes.plot(point.recall, point.precision, "o", color=line.get_color())
        curve = calibration_curve(reference[chances > 0], chances[chances > 0])
        calibration_axes.plot(
            curve.predicted,
            curve.observed,
            "o-",
            color=line.get_color(),
            label=f"{mode}, error {curve.error:.3f}",
        )
    curve_axes.set(xlabel="recall", ylabel="precision", xlim=(0, 1), ylim=(0, 1.02))
    curve_axes.set_title("Boundaries (dot: at the threshold)")
    calibration_axes.plot([0, 1], [0, 1], ":", color="grey", label="perfect")
    calibration_axes.set(xlabel="P(boundary)", ylabel="share of boundaries", xlim=(0, 1), ylim=(0, 1.02))
    calibration_axes.set_title("Calibration")
    for axes in (curve_axes, calibration_axes):
        axes.grid(alpha=0.3)
        axes.legend()
    _save(figure, path)


def plot_retrieval(results: Mapping[str, Retrieval], path: Path) -> None:
    """Draw each measure against the number of chunks retrieved, with its intervals.

    :param results: By the name of the way of cutting.
    :param path: The picture to write; its suffix says the format.
    :raises MissingPackageError: If matplotlib is not installed.
    :raises InputError: If the picture cannot be written.
    """
    check_plot(path)
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4.2), layout="constrained")
    for axes, measure in zip(figure.subplots(1, len(MEASURES)), MEASURES, strict=True):
        for name, result in results.items():
            found = [result.figures[k][measure] for k in result.ks]
            values = np.array([one.value for one in found])
            spread = [values - [one.low for one in found], [one.high for one in found] - values]
            axes.errorbar(result.ks, values, np.maximum(spread, 0), fmt="o-", capsize=2, label=name)
        axes.set(title=measure, xlabel="chunks retrieved", ylim=(0, None))
        axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    _save(figure, path)


def _save(figure: "Figure", path: Path) -> None:
    try:
        figure.savefig(path, dpi=120)
    except (OSError, ValueError) as error:
        raise InputError(f"cannot draw {path}: {error}") from error
