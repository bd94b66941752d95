"""From probabilities to boundaries."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["cut_at_threshold"]


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
