"""Scores of documents, in groups so that batches run across them."""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from segmenter.checkpoint import LightCheckpoint
from segmenter.preparing import Prepared, Preparer
from segmenter.profiling import Profile
from segmenter.scoring import BatchBudget, Scorer, sigmoid, start_scoring

__all__ = ["GroupScorer"]

Margins = Sequence[NDArray[np.float32] | Exception]
"""The logit margins of each document, or what the model raised for it."""

_T = TypeVar("_T")

_BATCHES_A_GROUP = 16
"""How many batches' worth of windows are gathered from documents before the model runs."""

_DOCUMENTS_A_GROUP = 1024
"""Most documents that are gathered: blank ones have no windows."""

_BAR_DELAY = 1.0
"""Seconds of work before a bar is worth its place."""


class GroupScorer:
    """Scores documents in their order, a group at a time.

    :param checkpoint: What the model is.
    :param scorer: Runs it.
    :param preparer: Prepared the documents, or is like the one that did.
    :param batch_tokens: Tokens of a batch, padding included; None: what suits the device.
    :param profile: Is told where the time goes.
    """

    def __init__(
        self,
        checkpoint: LightCheckpoint,
        scorer: Scorer,
        preparer: Preparer,
        batch_tokens: int | None,
        profile: Profile,
    ) -> None:
        self._scorer = scorer
        self._preparer = preparer
        self._pad_id = checkpoint.pad_id
        self._sign = 1 if checkpoint.config.boundary_label == 1 else -1
        self._budget = BatchBudget(batch_tokens or scorer.batch_tokens)
        self._profile = profile

    @property
    def batch_tokens(self) -> int:
        """Tokens of a batch, padding included; fewer than at first once a batch did not fit."""
        return self._budget.tokens

    def score(
        self, documents: Iterable[Prepared], *, show_progress: bool = False, one_by_one: bool = False
    ) -> Iterator[tuple[Prepared, NDArray[np.float32] | Exception]]:
        """Score documents.

        :param documents: Taken as they are needed.
        :param show_progress: Whether to show a bar on the standard error.
        :param one_by_one: Whether an error costs only the documents that raise it by themselves.
        :yield: Each document with P(boundary) per gap, or with the error that it alone raised.
        :raises Exception: What the model raises; with ``one_by_one`` only what it raises for any text.
        """
        start = self._start_apart if one_by_one else self._start
        with tqdm(
            unit="gap",
            total=0,
            disable=not show_progress,
            leave=False,
            delay=_BAR_DELAY,
            dynamic_ncols=True,
            # A line a minute where lines stay.
            mininterval=0.1 if sys.stderr.isatty() else 60,
        ) as bar:
            begun = ((group, start(group, bar)) for group in self._gathered(documents))
            for group, finish in _one_ahead(begun) if self._scorer.runs_ahead else begun:
                margins = finish()
                # Off the terminal while results are given, which may be printed.
                bar.clear()
                for document, margin in zip(group, margins, strict=True):
                    if isinstance(margin, Exception):
                        yield document, margin
                        continue
                    with self._profile.stage("decoding"):
                        probabilities = np.zeros(max(0, len(document.stream.starts) - 1), dtype=np.float32)
                        probabilities[document.windows.gaps] = sigmoid(self._sign * margin)
                    yield document, probabilities

    def _start(self, group: list[Prepared], bar: "tqdm[Any]") -> Callable[[], Margins]:
        bar.total += sum(len(document.windows) for document in group)
        return start_scoring(
            self._scorer,
            self._preparer.builder,
            self._pad_id,
            [document.windows for document in group],
            self._budget,
            self._profile,
            bar.update,
        )

    def _start_apart(self, group: list[Prepared], bar: "tqdm[Any]") -> Callable[[], Margins]:
        """As ``_start``, but an error costs only the documents that raise it by themselves."""
        try:
            wait = self._start(group, bar)
        except Exception:  # whatever the backend raises
            return lambda: self._each_alone(group, bar)

        def finish() -> Margins:
            try:
                return wait()
            except Exception:  # the same, later
                return self._each_alone(group, bar)

        return finish

    def _each_alone(self, group: list[Prepared], bar: "tqdm[Any]") -> Margins:
        found: list[NDArray[np.float32] | Exception] = []
        for document in group:
            try:
                found += self._start([document], bar)()
            except Exception as error:  # the same: it is given in place of scores, and told
                found.append(error)
        # A GPU that is lost fails whatever it is given: no document is to blame then.
        smallest = self._preparer.prepare_split(["a", "b"], [1], self._profile)
        self._start([smallest], bar)()
        return found

    def _gathered(self, documents: Iterable[Prepared]) -> Iterator[list[Prepared]]:
        """Gather documents until their windows fill some batches."""
        limit = _BATCHES_A_GROUP * self._budget.tokens
        group: list[Prepared] = []
        tokens = 0
        rest = iter(documents)
        while True:
            try:
                document = next(rest, None)
            except Exception:  # whatever a document raises must not cost the good ones before it
                yield group
                raise
            if document is None:
                break
            group.append(document)
            # The document's own tokens too, since it may have few windows.
            tokens += int(document.windows.lengths.sum()) + len(document.stream.ids)
            if tokens >= limit or len(group) == _DOCUMENTS_A_GROUP:
                yield group
                group, tokens = [], 0
        yield group


def _one_ahead(values: Iterator[_T]) -> Iterator[_T]:
    """Take one more than is given, so that its work is under way; an error waits for its turn."""
    taken: list[_T] = []
    while True:
        try:
            following = [next(values)]
        except StopIteration:
            break
        except Exception:  # it goes on, after what came before it
            yield from taken
            raise
        yield from taken
        taken = following
    yield from taken
