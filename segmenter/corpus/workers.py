"""Does what comes before the model, and behind it, in processes of their own, so that it need not wait."""

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from segmenter.corpus.config import CorpusConfig
from segmenter.corpus.documents import BadDocument, RawDocument, parse
from segmenter.corpus.items import Cut, First, Item, Scored, Sizing, begin, cut_of
from segmenter.corpus.pool import Pool
from segmenter.counting import counter_of
from segmenter.document import Chunk
from segmenter.profiling import Profile
from segmenter.segmentation import Segmentation

__all__ = ["Workers", "default_workers"]

_TASK_BYTES = 1 << 18
_TASK_DOCUMENTS = 256
_GROUP_CHARACTERS = 1 << 16
_MOST_WORKERS = 8
_DEAD = "a process died of it twice, as for want of memory"
_NO_COUNTER = counter_of(len)

Task = list[tuple[int, RawDocument]]


class _Work:
    """What a process does."""

    def __init__(self, first: First, last: Sizing | None, config: CorpusConfig, keep_types: bool) -> None:
        self._first = first
        self._last = last
        self._config = config
        self._keep_types = keep_types

    def begin(self, task: Task) -> list[Item]:
        profile = Profile()
        return [self._item(shard, raw, profile) for shard, raw in task]

    def _item(self, shard: int, raw: RawDocument, profile: Profile) -> Item:
        document = parse(raw, self._config, self._keep_types)
        return begin(shard, raw.position, document, self._first, profile)

    def end(self, results: Sequence[Segmentation]) -> list[tuple[Chunk, ...] | str]:
        assert self._last is not None
        return [self._last(result) for result in results]


class Workers:
    """Does the work on documents in order, some ahead of what is asked for.

    :param first: What is done to each document before the model.
    :param last: What is done behind it, if that is worth another process.
    :param config: How documents are read, and how many processes there are.
    :param keep_types: Whether carried values stay as they are.
    :raises ConfigError: If the work cannot be sent to other processes.
    """

    def __init__(self, first: First, last: Sizing | None, config: CorpusConfig, keep_types: bool) -> None:
        self._work = _Work(first, last, config, keep_types)
        self._pool = Pool(self._work, config.workers) if config.workers else None
        self._seconds = 0.0

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.close()

    @property
    def has_processes(self) -> bool:
        """Whether there are any beside this one."""
        return self._pool is not None

    @property
    def seconds_waited(self) -> float:
        """Time that the model had nothing to do but to wait for them."""
        return self._seconds + (self._pool.seconds_waited if self._pool else 0.0)

    def prepared(self, documents: Iterable[tuple[int, RawDocument]]) -> Iterator[Item]:
        """Do the first work on documents.

        :param documents: Each with its shard.
        :yield: An item each, in the same order.
        :raises CorpusError: If processes cannot be started.
        """
        tasks = _tasks(documents)
        if self._pool is None:
            for task in tasks:
                yield from self._timed(task)
            return
        for _, items in self._pool.map("begin", ((None, task) for task in tasks), _dead_item):
            yield from items

    def sized(self, scored: Iterable[Scored]) -> Iterator[tuple[int, Item, Cut | BadDocument]]:
        """Do the last work on documents, in other processes.

        :param scored: What the model has said of each; bad documents are passed on.
        :yield: Place, item, and what has become of it, in the same order.
        :raises CorpusError: If processes cannot be started.
        """
        assert self._pool is not None
        tasks = ((group, _light(result for _, _, result in group)) for group in _groups(scored))
        for group, found in self._pool.map("end", tasks, lambda _: _DEAD):
            rest = iter(found)
            for place, item, result in group:
                if isinstance(result, BadDocument):
                    yield place, item, result
                else:
                    yield place, item, cut_of(item, result, next(rest))

    def _timed(self, task: Task) -> list[Item]:
        started = time.perf_counter()
        items = self._work.begin(task)
        self._seconds += time.perf_counter() - started
        return items


def default_workers(device: str | None) -> int:
    """How many processes work beside a model, or for want of one.

    :param device: Where it runs, as torch names it; None: there is no model.
    :return: One beside a CPU, which computes itself; several beside a GPU or without a model, if there are
        cores for them.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return 1 if device and device.startswith("cpu") else max(1, min(_MOST_WORKERS, cores - 1))


def _tasks(documents: Iterable[tuple[int, RawDocument]]) -> Iterator[Task]:
    """Gather documents until they are worth being sent."""
    task: Task = []
    weight = 0
    for shard, raw in documents:
        task.append((shard, raw))
        weight += raw.weight
        if weight >= _TASK_BYTES or len(task) == _TASK_DOCUMENTS:
            yield task
            task, weight = [], 0
    if task:
        yield task


def _groups(scored: Iterable[Scored]) -> Iterator[list[Scored]]:
    """Gather documents that are scored until they are worth being sent."""
    group: list[Scored] = []
    weight = 0
    for place, item, result in scored:
        group.append((place, item, result))
        weight += 0 if isinstance(result, BadDocument) else len(result.text)
        if weight >= _GROUP_CHARACTERS or len(group) == _TASK_DOCUMENTS:
            yield group
            group, weight = [], 0
    if group:
        yield group


def _light(results: Iterable[Segmentation | BadDocument]) -> list[Segmentation]:
    """Results as they are sent: without the tokenizer, which the processes have."""
    return [replace(result, counter=_NO_COUNTER) for result in results if isinstance(result, Segmentation)]


def _dead_item(value: tuple[int, RawDocument]) -> Item:
    shard, raw = value
    return Item(shard, raw.position, BadDocument(raw.default_id, _DEAD), None)
