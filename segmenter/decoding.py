"""From probabilities to boundaries: by a threshold, or the best cut there is under limits of size."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = ["Limits", "Units", "best_cut", "cut_at_threshold", "gains"]

_CLIP = 1e-6
"""Probabilities are kept this far from 0 and 1, whose logits are infinite."""

_LEAST_GAIN = 1e-9
_PRIOR_DEVIATION = 0.3
"""Chosen on half of the questions of a retrieval set (docs/how-to/retrieval.md): wider, and large chunks are
found more often than small ones, which costs precision; narrower, and answers are cut."""

_NEVER = np.iinfo(np.int64).max


def cut_at_threshold(probabilities: NDArray[np.float32], threshold: float) -> tuple[int, ...]:
    """Cut at every gap whose probability is above the threshold.

    At 0.5 this is the label of the published recipe. An unscored gap has probability 0 and is never
    cut.

    :param probabilities: P(boundary) per gap. *Shape:* ``(n_gaps,)``.
    :param threshold: 0 to 1.
    :return: Sentence numbers that open a chunk, in order, each from 1 to ``n_gaps``; the first
        sentence, 0, is not among them.
    """
    return tuple(int(gap) + 1 for gap in np.flatnonzero(probabilities > threshold))


def gains(probabilities: NDArray[np.float32], threshold: float) -> NDArray[np.float64]:
    """What a cut at each gap is worth: logit(p) - logit(threshold), above 0 just where the threshold cuts.

    :param probabilities: P(boundary) per gap, clipped to 1e-6 from 0 and 1. *Shape:* ``(n_gaps,)``.
    :param threshold: 0 to 1, clipped likewise.
    :return: *Shape:* ``(n_gaps,)``.
    """
    values = _logit(probabilities.astype(np.float64)) - _logit(np.float64(threshold))
    above = probabilities > threshold
    found: NDArray[np.float64] = np.where(above, np.maximum(values, _LEAST_GAIN), np.minimum(values, 0.0))
    return found


def _logit(chances: NDArray[np.float64] | np.float64) -> NDArray[np.float64]:
    clipped = np.clip(chances, _CLIP, 1 - _CLIP)
    return np.asarray(np.log(clipped) - np.log1p(-clipped))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Units:
    """What is never cut, in the order of the text; a chunk is one or more in a row.

    :ivar sizes: Tokens of each, 0 or more. *Shape:* ``(n,)``.
    :ivar gains: What a cut before each is worth; that of the first does not count. *Shape:* ``(n,)``.
    :ivar forced: Before which there must be a cut. *Shape:* ``(n,)``.
    :ivar opening: Tokens that a chunk has before its first unit, if that is this one. *Shape:* ``(n,)``.
    :ivar closing: Tokens that it has behind its last unit, if that is this one. *Shape:* ``(n,)``.
    """

    sizes: NDArray[np.int64]
    gains: NDArray[np.float64]
    forced: NDArray[np.bool_]
    opening: NDArray[np.int64]
    closing: NDArray[np.int64]


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """How big chunks may and should be.

    :ivar most: Tokens of a chunk with what opens and closes it; None for no limit.
    :ivar fewest: Tokens of its units below which it is small.
    :ivar target: Tokens of its units that it should have; None if any size is as good.
    """

    most: int | None
    fewest: int = 0
    target: int | None = None


def best_cut(units: Units, limits: Limits) -> list[int]:
    r"""Find the best cut by a dynamic programme over all units.

    First as few small chunks as can be, then the greatest sum of the gains of all cuts, no chunk being over
    the most, unless it is a single unit. With a target the sum also has, for each chunk of ``s`` tokens,
    :math:`-\log(s / \text{target})^2 / (2 \cdot 0.3^2)`, the logarithm of a log-normal prior. Of equal cuts
    the one with the longest last chunk. Time is linear in the units, times those that fit into a chunk; a
    target without a most has none to bound it.

    :param units: What is never cut.
    :param limits: Sizes.
    :return: Numbers of the units that open a chunk, in order, 0 not among them.
    """
    n_units = len(units.sizes)
    totals = np.concatenate([[0], np.cumsum(units.sizes)])
    values = units.gains.copy()
    values[:1] = 0.0
    small = np.zeros(n_units + 1, np.int64)
    best = np.zeros(n_units + 1)
    origin = np.zeros(n_units + 1, np.int64)
    # Without a most, all units from which a chunk is not small are one candidate: the best of them.
    absorbs = limits.most is None and limits.target is None
    far: tuple[int, float, int] | None = None
    low = 0
    for end in range(1, n_units + 1):
        if units.forced[end - 1] and end > 1:
            low, far = end - 1, None
        if limits.most is not None:
            while low < end - 1 and totals[end] - totals[low] > limits.most:
                low += 1
        while absorbs and low < end and totals[end] - totals[low] >= limits.fewest:
            far = _better(far, (int(small[low]), float(best[low] + values[low]), low))
            low += 1
        found = far
        if low < end:
            window = slice(low, end)
            own = totals[end] - totals[window]
            counts = small[window] + (own < limits.fewest)
            sums = best[window] + values[window]
            if limits.target is not None:
                sums = sums - np.log(np.maximum(own, 1) / limits.target) ** 2 / (2 * _PRIOR_DEVIATION**2)
            if limits.most is not None:
                over = own + units.opening[window] + units.closing[end - 1] > limits.most
                over[-1] = False
                counts = np.where(over, _NEVER, counts)
            fewest = counts.min()
            number = int(np.argmax(np.where(counts == fewest, sums, -np.inf)))
            found = _better(far, (int(fewest), float(sums[number]), low + number))
        assert found is not None
        small[end], best[end], origin[end] = found
    cuts = []
    while n_units and (n_units := int(origin[n_units])):
        cuts.append(n_units)
    return cuts[::-1]


def _better(first: tuple[int, float, int] | None, second: tuple[int, float, int]) -> tuple[int, float, int]:
    """The one with fewer small chunks, then the greater sum; the first of equals."""
    if first is None or (second[0], -second[1]) < (first[0], -first[1]):
        return second
    return first
