"""How the documents of a run are cut: by a model, in batches that run across them, or each by itself."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

from segmenter.chunkers import Chunker, TopicChunker
from segmenter.config import ChunkConfig
from segmenter.corpus.documents import BadDocument
from segmenter.corpus.items import Chunking, Cut, First, Item, Preparing, Scored, Sizing, cut_of
from segmenter.errors import ConfigError, CorpusError, SegmenterError, first_line
from segmenter.preparing import Prepared
from segmenter.segmentation import Segmentation

if TYPE_CHECKING:
    from segmenter.corpus.workers import Workers
    from segmenter.segmenter import Segmenter

__all__ = ["CorpusChunker", "Cutter", "chunker_of", "score_items"]

Result = tuple[int, Item, Cut | BadDocument]
"""Place among the items of a shard, item, and what has become of it."""


class CorpusChunker(Chunker, Protocol):
    """Cuts documents, and can say what its cuts depend on: every cutter of this package."""

    def identity(self) -> dict[str, Any]:
        """What its cuts depend on, so that a run does not go on with others.

        :return: Values that JSON can hold.
        """
        ...


def chunker_of(given: "CorpusChunker | Segmenter") -> CorpusChunker:
    """Make a cutter of what a user has, and see whether its settings go together.

    :param given: A cutter, or a model, which cuts at its threshold.
    :return: The cutter.
    :raises ConfigError: If it is something else, or its settings do not suit its tokenizer.
    """
    if hasattr(given, "segment_prepared"):  # By its name: to import the class is to import torch.
        chunker: CorpusChunker = TopicChunker(cast("Segmenter", given))
    elif hasattr(given, "chunk") and hasattr(given, "identity"):
        chunker = given
    else:
        raise ConfigError(
            f"got a {type(given).__name__}, expected a Segmenter, or a cutter with the methods chunk, "
            "chunk_many and identity, as those of segmenter.chunkers"
        )
    try:
        chunker.chunk("a")
    except ConfigError:
        raise
    except Exception:  # it may be that text alone; each document has its own error
        return chunker
    return chunker


class Cutter:
    """Cuts the documents of a run; none costs another.

    :param chunker: How they are cut.
    """

    def __init__(self, chunker: CorpusChunker) -> None:
        self.segmenter: Segmenter | None = None
        """Has the model, if there is one."""
        self.first: First = Chunking(chunker)
        """What is done to each document by itself."""
        self.last: Sizing | None = None
        """What is done to it once the model has seen it, if that is worth another process."""
        self._inline: Sizing | None = None
        if isinstance(chunker, TopicChunker):
            self.segmenter, config = chunker.segmenter, chunker.config
            self.first = Preparing(self.segmenter.preparer, config.max_tokens)
            self._inline = Sizing(config, chunker.counter or self.segmenter.counter)
            if replace(config, threshold=None) != ChunkConfig():
                self.last = self._inline

    @property
    def seconds_model(self) -> float:
        """Time in the model so far."""
        return self.segmenter.profile.seconds["model"] if self.segmenter else 0.0

    @property
    def device(self) -> str | None:
        """Where the model runs, as torch names it; None if there is none."""
        if self.segmenter is None:
            return None
        return self.segmenter.runs_with.device if self.segmenter.runs_with else "cpu"

    def cut(self, items: Iterable[Item], workers: "Workers | None" = None) -> Iterator[Result]:
        """Cut documents.

        :param items: Documents whose first work is done, and bad ones.
        :param workers: Processes for what is to be done behind the model, so that it need not wait; None: it
            is done here.
        :yield: Place among the items, item, and its chunks or why it has none. Those with chunks are in
            order, but a bad one may come before one whose place is smaller.
        :raises CorpusError: If the model fails for any text.
        """
        if self.segmenter is None or self._inline is None:
            for place, item in enumerate(items):
                yield place, item, _chunked(item)
        elif self.last is not None and workers is not None and workers.has_processes:
            yield from workers.sized(score_items(self.segmenter, items))
        else:
            for place, item, result in score_items(self.segmenter, items):
                if isinstance(result, BadDocument):
                    yield place, item, result
                    continue
                with self.segmenter.profile.stage("decoding"):
                    found = self._inline(result)
                yield place, item, cut_of(item, result, found)


def _chunked(item: Item) -> Cut | BadDocument:
    """What has become of a document that needs no model."""
    if isinstance(item.document, BadDocument):
        return item.document
    assert isinstance(item.prepared, Cut)
    return item.prepared


def score_items(segmenter: "Segmenter", items: Iterable[Item]) -> Iterator[Scored]:
    """Score documents, in batches that run across them.

    :param segmenter: Has the model.
    :param items: Prepared and bad documents.
    :yield: Place among the items, item, and its result or why it has none. The results are in order, as the
        bad ones are, but a bad one may come before a result whose place is smaller.
    :raises CorpusError: If the model fails for any text.
    """
    waiting: deque[tuple[int, Item]] = deque()
    bad: deque[tuple[int, Item, BadDocument]] = deque()

    def good() -> Iterator[Prepared]:
        for place, item in enumerate(items):
            if isinstance(item.prepared, Prepared):
                waiting.append((place, item))
                yield item.prepared
            else:
                assert isinstance(item.document, BadDocument)
                bad.append((place, item, item.document))

    results = segmenter.segment_prepared(good())
    while True:
        try:
            result = next(results, None)
        except (SegmenterError, OSError):
            yield from _drain(bad)
            raise
        except Exception as error:  # whatever a backend raises for any text, however small
            raise CorpusError(
                f"the model fails ({type(error).__name__}: {first_line(error)}); what is done is kept, and "
                "the same call goes on"
            ) from error
        yield from _drain(bad)
        if result is None:
            return
        place, item = waiting.popleft()
        if not isinstance(result, Segmentation):
            cause = f"the model failed: {type(result).__name__}: {first_line(result)}"
        elif not np.isfinite(result.probabilities).all():
            cause = "the model gave something that is no number; try dtype='float32' (--dtype float32)"
        else:
            yield place, item, result
            continue
        yield place, item, BadDocument(item.document.id, cause)


def _drain(bad: "deque[tuple[int, Item, BadDocument]]") -> Iterator[tuple[int, Item, BadDocument]]:
    while bad:
        yield bad.popleft()
