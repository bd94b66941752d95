"""Which windows a training run sees, as a function of seed and epoch alone."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from torch.utils.data import Sampler

from segmenter.config import Context
from segmenter.errors import ConfigError
from segmenter.training.packing import PackedDocuments
from segmenter.windows import SPECIAL_TOKENS

__all__ = ["SamplingConfig", "Shard", "WindowKey", "WindowSampler"]

_LENGTH_GROUP = 4096
"""Windows sorted by length together: enough to fill batches evenly, few enough to stay mixed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class SamplingConfig:
    """What the windows contain. The weight of a gap is the chance that an epoch has its window.

    :ivar contexts: Contexts and the share of windows that have each.
    :ivar marked_share: Share of the documents with known paragraphs whose marks are kept, 0 to 1.
    :ivar weight_breaks: Weight in the draw of a paragraph break that is no boundary, a hard negative,
        above 0 to 1; a boundary has 1.
    :ivar weight_inner: Weight of a gap inside a paragraph where marks are dropped.
    :ivar weight_marked_inner: The same where marks are kept, and tell the answer.
    :ivar most_others: Most other gaps drawn for each boundary of the documents to learn from; where
        boundaries are rarer, all weights of other gaps are made smaller alike. None: as the weights say.
    :ivar replay_share: Share of the windows that come from the replay documents, 0 up to, not including, 1.
    :ivar batch_tokens: Most tokens of a batch, padding included.
    :raises ConfigError: If a setting is out of its range.
    """

    contexts: dict[Context, float] = field(default_factory=lambda: {"sentence": 1.0})
    marked_share: float = 0.5
    weight_breaks: float = 0.4
    weight_inner: float = 0.25
    weight_marked_inner: float = 0.03
    most_others: float | None = 4.0
    replay_share: float = 0.0
    batch_tokens: int = 4096

    def __post_init__(self) -> None:
        if not 0 <= self.replay_share < 1:
            raise ConfigError(f"got replay_share={self.replay_share!r}, expected 0 up to, not including, 1")
        if not self.contexts or not all(share > 0 for share in self.contexts.values()):
            raise ConfigError(
                f"got contexts={self.contexts!r}, expected one or more, each with a share above 0"
            )
        if self.most_others is not None and not self.most_others > 0:
            raise ConfigError(f"got most_others={self.most_others!r}, expected a number above 0")
        if self.batch_tokens < 1:
            raise ConfigError(f"got batch_tokens={self.batch_tokens!r}, expected 1 or more")

    def weights(
        self, documents: PackedDocuments, marked: NDArray[np.bool_] | np.bool_
    ) -> NDArray[np.float64]:
        """Weight of the gap before each sentence in the draw.

        :param documents: The documents.
        :param marked: Whether the marks of its document are kept. *Shape:* ``(n_sentences,)``.
        :return: 0 to 1; 0 for the first sentence of a document. *Shape:* ``(n_sentences,)``.
        """
        keep = np.where(marked, self.weight_marked_inner, self.weight_inner)
        keep = np.where(documents.paragraph, self.weight_breaks, keep)
        keep = np.where(documents.boundary, 1.0, keep)
        keep[documents.sentence_offsets[:-1]] = 0.0  # No gap before the first sentence.
        return keep

    def others_per_boundary(self, documents: PackedDocuments) -> float:
        """How many times rarer boundaries are than other gaps, as they are drawn.

        :param documents: The documents.
        :return: Above 0.
        """
        counts = np.diff(documents.sentence_offsets)
        marks = np.repeat(documents.has_paragraphs * self.marked_share, counts)
        weights = marks * self.weights(documents, np.True_)
        weights += (1 - marks) * self.weights(documents, np.False_)
        return float(weights[~documents.boundary].sum() / weights[documents.boundary].sum())


@dataclass(frozen=True, slots=True)
class WindowKey:
    """One training window.

    :ivar document: Number of the document.
    :ivar gap: Gap in it.
    :ivar context: What stands on each side.
    :ivar marked: Whether paragraph marks are kept.
    """

    document: int
    gap: int
    context: Context
    marked: bool


@dataclass(frozen=True, slots=True)
class Shard:
    """The share of one of several processes that train together.

    :ivar rank: Its number, from 0.
    :ivar count: How many there are.
    """

    rank: int = 0
    count: int = 1


class WindowSampler(Sampler[list[WindowKey]]):
    """Batches of windows of like length, in an order that seed and epoch decide.

    The number of batches is that of the first epoch in every epoch, as the trainer needs it. Of several
    processes each takes every n-th batch, all the same number of them.

    :param documents: The labelled documents; those to replay come last.
    :param config: What to draw.
    :param seed: Of all that is drawn.
    :param n_replay: How many of the documents are to replay.
    :param shard: Whose batches.
    """

    def __init__(
        self,
        documents: PackedDocuments,
        config: SamplingConfig,
        seed: int,
        n_replay: int = 0,
        shard: Shard = Shard(),
    ) -> None:
        self._documents = documents
        self._config = config
        self._seed = seed
        self._first_replay = int(documents.sentence_offsets[len(documents) - n_replay])
        self._shard = shard
        self._epoch = 0
        self._n_batches = len(self._plan(0)[1]) // shard.count

    def set_epoch(self, epoch: int) -> None:
        """Choose the epoch to iterate next.

        :param epoch: From 0.
        """
        self._epoch = epoch

    def __len__(self) -> int:
        return self._n_batches

    def __iter__(self) -> Iterator[list[WindowKey]]:
        keys, batches = self._plan(self._epoch)
        for number in range(self._n_batches):
            place = number * self._shard.count + self._shard.rank
            yield [keys[index] for index in batches[place % len(batches)]]

    def _plan(self, epoch: int) -> tuple[list[WindowKey], list[NDArray[np.int64]]]:
        rng = np.random.default_rng((self._seed, epoch))
        docs = self._documents
        counts = np.diff(docs.sentence_offsets)
        marked_documents = docs.has_paragraphs & (rng.random(len(docs)) < self._config.marked_share)
        marked = np.repeat(marked_documents, counts)
        chosen = self._draw(marked, rng)
        contexts = list(self._config.contexts)
        shares = np.array([self._config.contexts[c] for c in contexts])
        context = rng.choice(len(contexts), size=len(chosen), p=shares / shares.sum())
        document = np.searchsorted(docs.sentence_offsets, chosen, side="right") - 1
        lengths = np.zeros(len(chosen), dtype=np.int64)
        for number, value in enumerate(contexts):
            lengths = np.where(context == number, self._lengths(chosen, document, value), lengths)
        keys = [
            WindowKey(int(d), int(s - docs.sentence_offsets[d] - 1), contexts[c], bool(marked[s]))
            for d, s, c in zip(document, chosen, context, strict=True)
        ]
        batches: list[NDArray[np.int64]] = []
        for start in range(0, len(keys), _LENGTH_GROUP):
            group = lengths[start : start + _LENGTH_GROUP]
            batches.extend(start + batch for batch in _token_batches(group, self._config.batch_tokens))
        return keys, [batches[index] for index in rng.permutation(len(batches))]

    def _draw(self, marked: NDArray[np.bool_], rng: np.random.Generator) -> NDArray[np.int64]:
        config = self._config
        keep = config.weights(self._documents, marked)
        new, old = np.split(keep, [self._first_replay])
        if config.most_others is not None:
            is_boundary = self._documents.boundary[: self._first_replay]
            others = new[~is_boundary].sum()
            new[~is_boundary] *= min(1.0, config.most_others * is_boundary.sum() / max(others, 1e-9))
        share = config.replay_share
        # Never more of the old than their weights allow: fewer documents than the share asks for stay
        # what they are, and do not change how the new ones are drawn.
        old *= min(1.0, new.sum() * share / (1 - share) / max(old.sum(), 1e-9))
        return rng.permutation(np.concatenate([_draw(new, rng), self._first_replay + _draw(old, rng)]))

    def _lengths(
        self, sentence: NDArray[np.int64], document: NDArray[np.int64], context: Context
    ) -> NDArray[np.int64]:
        # Without paragraph marks, which hardly change a length.
        offsets = self._documents.token_offsets
        middle = offsets[sentence]
        if isinstance(context, str):
            width = 255
            first, last = offsets[sentence - 1], offsets[sentence + 1]
        else:
            width = context
            first = offsets[self._documents.sentence_offsets[document]]
            last = offsets[self._documents.sentence_offsets[document + 1]]
        lengths: NDArray[np.int64] = np.minimum(middle - first, width) + np.minimum(last - middle, width)
        return lengths + SPECIAL_TOKENS


def _draw(chances: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw each with its own chance, and about as many as the chances add up to.

    Systematic sampling in a random order (Madow 1949): what has chance 1 is always drawn.
    """
    order = rng.permutation(len(chances))
    places = np.cumsum(chances[order]) + rng.random()
    found: NDArray[np.int64] = order[np.diff(np.floor(places), prepend=0.0) >= 1]
    return found


def _token_batches(lengths: NDArray[np.int64], batch_tokens: int) -> Iterator[NDArray[np.int64]]:
    """Group windows of like length into batches of a bounded number of tokens.

    :param lengths: Tokens of each window. *Shape:* ``(n_windows,)``.
    :param batch_tokens: Most tokens a batch may have, padding included; a window that is longer
        alone is a batch of its own.
    :yield: Window numbers of one batch, longest first.
    """
    order = np.argsort(-lengths, kind="stable")
    start = 0
    while start < len(order):
        size = max(1, batch_tokens // int(lengths[order[start]]))
        yield order[start : start + size]
        start += size
