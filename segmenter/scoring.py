"""From windows to probabilities: batches of like length across documents, order restored."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from segmenter.profiling import Profile
from segmenter.windows import WindowBuilder, Windows

__all__ = ["BatchBudget", "Logits", "Scorer", "sigmoid", "start_scoring"]

logger = logging.getLogger(__name__)

_ALIKE = 0.8
"""Windows this share as long as the longest of a batch may join it, however many there are."""

_LEAST_SHARE = 8
"""Shorter ones may too, up to this part of a full batch: more of them is not faster by itself."""


Logits = Callable[[], NDArray[np.float32]]
"""Waits for a batch, and gives its logits in float32. *Shape:* ``(batch, 2)``."""


class Scorer(Protocol):
    """Runs a model on one batch. The only thing a backend has to do."""

    @property
    def batch_tokens(self) -> int:
        """Tokens of a batch that suit the device, padding included."""
        ...

    @property
    def runs_ahead(self) -> bool:
        """Whether the device works while the caller goes on."""
        ...

    def start(self, input_ids: NDArray[np.int64], attention_mask: NDArray[np.int64]) -> Logits:
        """Run the model, or begin to.

        :param input_ids: *Shape:* ``(batch, length)``.
        :param attention_mask: 1 for a token, 0 for padding. *Shape:* ``(batch, length)``.
        :return: Waits for the logits.
        :raises MemoryError: If the batch does not fit; a smaller one may.
        """
        ...


@dataclass(slots=True)
class BatchBudget:
    """How large a batch may be; what a lack of memory teaches stays for the batches to come.

    :ivar tokens: Tokens of a batch, padding included.
    """

    tokens: int


def start_scoring(
    scorer: Scorer,
    builder: WindowBuilder,
    pad_id: int,
    documents: Sequence[Windows],
    budget: BatchBudget,
    profile: Profile,
    on_batch: Callable[[int], object] | None = None,
) -> Callable[[], list[NDArray[np.float32]]]:
    """Score the windows of several documents together, or begin to.

    :param scorer: Runs the model.
    :param builder: Lays batches out.
    :param pad_id: The token to fill up with.
    :param documents: The windows of each document; some may have none.
    :param budget: How large a batch may be. Where the memory does not suffice it is halved.
    :param profile: Counts the time.
    :param on_batch: Called with the number of windows of every batch that is handed to the scorer.
    :return: Waits for the scores, and gives the logit of label 1 minus that of label 0 for each window, in
        the order given. *Shape:* ``(n_windows,)`` each.
    :raises MemoryError: If even a single window does not fit.
    """
    with profile.stage("batching"):
        counts = [len(windows) for windows in documents]
        owner = np.repeat(np.arange(len(documents)), counts)
        number = np.concatenate([np.arange(count) for count in (0, *counts)])
        lengths = np.concatenate([np.zeros(0, np.int64), *(windows.lengths for windows in documents)])
        order = np.argsort(-lengths, kind="stable")
        falling = lengths[order]
    started: list[tuple[NDArray[np.int64], Logits]] = []
    position = 0
    while position < len(order):
        with profile.stage("batching"):
            batch = order[position : position + _batch_size(falling[position:], budget.tokens)]
            sides = [documents[owner[index]].sides(number[index]) for index in batch]
            inputs = builder.pad(sides, pad_id)
        try:
            with profile.stage("model"):
                started.append((batch, scorer.start(*inputs)))
        except MemoryError:
            if len(batch) == 1:
                raise
            budget.tokens = len(batch) // 2 * int(falling[position])
            logger.warning("out of memory: going on with batches of %d tokens", budget.tokens)
            continue
        position += len(batch)
        if on_batch is not None:
            on_batch(len(batch))

    def finish() -> list[NDArray[np.float32]]:
        margins = np.zeros(len(order), dtype=np.float32)
        for batch, wait in started:
            with profile.stage("model"):
                logits = wait()
            margins[batch] = logits[:, 1] - logits[:, 0]
        return np.split(margins, np.cumsum(counts)[:-1]) if counts else []

    return finish


def _batch_size(falling: NDArray[np.int64], tokens: int) -> int:
    """How many of the next windows to run together: little padding, but no tiny batches."""
    longest = int(falling[0])
    alike = int(np.searchsorted(-falling, -_ALIKE * longest, side="right"))
    return max(1, min(max(alike, tokens // _LEAST_SHARE // longest), tokens // longest))


def sigmoid(margins: NDArray[np.floating]) -> NDArray[np.float32]:
    """Turn differences of two logits into probabilities, as a softmax over both would.

    :param margins: Any finite numbers.
    :return: Above 0, up to 1. *Shape:* as ``margins``.
    """
    # Through logaddexp, which does not overflow; never 0, which means that a gap was not scored.
    with np.errstate(invalid="ignore"):  # No number stays none.
        chances = np.exp(-np.logaddexp(0.0, -margins.astype(np.float64)))
    return np.maximum(chances, np.finfo(np.float32).tiny).astype(np.float32)
