"""A figure of a segmentation, for papers."""

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from segmenter.errors import InputError
from segmenter.extras import require
from segmenter.segmentation import Segmentation

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["plot"]

_STRIP = 0.09
"""Height of a strip, as a share of the axis."""

_MANY = 300
_THICK, _THIN = 1.2, 0.5
_CUT, _QUIET, _LABEL = "#b8401f", "#8b857a", "#2f6f8f"


def plot(
    result: Segmentation,
    *,
    boundaries: Sequence[int] | None = None,
    size: tuple[float, float] = (6.8, 2.2),
) -> "Figure":
    """Draw P(boundary) over a document, with the threshold and the chunks.

    Nothing is drawn at gaps that were not scored. Save it with ``figure.savefig("figure.pdf")``.

    :param result: The result.
    :param boundaries: Numbers of the sentences that really start a section, drawn below, each from 1 to
        ``n_sentences - 1``; None if that is not known.
    :param size: Width and height in inches; the width of two columns by default.
    :return: A figure of matplotlib, which belongs to no window.
    :raises MissingPackageError: If matplotlib is not installed.
    :raises InputError: If a number is out of its range.
    """
    require("matplotlib")
    from matplotlib.figure import Figure
    from matplotlib.ticker import MaxNLocator

    n_sentences = len(result.sentences)
    for number in boundaries or ():
        if not 1 <= number < n_sentences:
            raise InputError(f"got boundary {number}, expected 1 to {n_sentences - 1}: sentence numbers")
    # Without pyplot, which keeps state and looks for a display.
    figure = Figure(figsize=size, layout="constrained")
    axes = figure.subplots()
    gaps = np.flatnonzero(result.scored)
    chances = result.probabilities[gaps]
    cut = np.isin(gaps + 1, result.boundaries)
    width = _THICK if n_sentences < _MANY else _THIN
    for chosen, color in ((~cut, _QUIET), (cut, _CUT)):
        axes.vlines(gaps[chosen] + 1, 0, chances[chosen], color=color, linewidth=width)
    axes.plot(gaps[cut] + 1, chances[cut], "o", color=_CUT, markersize=3)
    axes.axhline(result.threshold, color=_CUT, linewidth=0.8, linestyle=(0, (4, 3)))
    axes.annotate(
        f"threshold {result.threshold:.2f}",
        (1, result.threshold),
        (3, 0),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        va="center",
        fontsize="x-small",
        color=_CUT,
    )
    rows = [result.boundaries] if boundaries is None else [result.boundaries, sorted(boundaries)]
    for row, (starts, kind) in enumerate(zip(rows, (("chunks", _CUT), ("sections", _LABEL)), strict=False)):
        _draw_strip(axes, [0, *starts, n_sentences], row, kind)
    axes.set(xlim=(0, max(1, n_sentences)), ylim=(0, 1), ylabel="P(boundary)", xlabel="sentence")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.tick_params(labelsize="small")
    axes.tick_params(axis="x", pad=4 + 9 * len(rows), length=0)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _draw_strip(axes: "Axes", edges: Sequence[int], row: int, kind: tuple[str, str]) -> None:
    """Draw stretches of sentences as a strip below the axis, in two shades in turn."""
    name, color = kind
    bottom, top = (-_STRIP * (row + share) for share in (0.85, 0.25))
    place = (1.005, (bottom + top) / 2)
    axes.text(*place, name, color=color, fontsize="x-small", va="center", transform=axes.transAxes)
    for index, (start, end) in enumerate(pairwise(edges)):
        axes.fill_between(
            [start, end],
            bottom,
            top,
            color=color,
            alpha=0.8 if index % 2 else 0.35,
            linewidth=0,
            clip_on=False,
        )
