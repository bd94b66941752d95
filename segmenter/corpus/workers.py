"""Reads, splits and tokenizes documents ahead of the model, in processes of their own."""

import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Any

from segmenter.corpus.config import CorpusConfig
from segmenter.corpus.documents import BadDocument, Document, RawDocument, parse
from segmenter.errors import ConfigError, CorpusError, first_line
from segmenter.preparing import Prepared, Preparer
from segmenter.profiling import Profile

__all__ = ["Item", "Workers", "default_workers", "prepare_document"]

_TASK_BYTES = 1 << 18
_TASK_DOCUMENTS = 256
_TASKS_A_WORKER = 3
_MOST_WORKERS = 8


@dataclass(frozen=True, slots=True)
class Item:
    """A document on its way through a run.

    :ivar shard: Where it goes.
    :ivar position: Bytes of the input up to its end.
    :ivar document: What it is, without its text if it is prepared, which has it.
    :ivar prepared: What the model needs; None if it is bad.
    """

    shard: int
    position: int
    document: Document | BadDocument
    prepared: Prepared | None


Task = list[tuple[int, RawDocument]]


class _Work:
    """What a worker does with a task."""

    def __init__(self, preparer: Preparer, config: CorpusConfig, keep_types: bool) -> None:
        self._preparer = preparer
        self._config = config
        self._keep_types = keep_types

    def __call__(self, task: Task) -> list[Item]:
        profile = Profile()
        return [self._item(shard, raw, profile) for shard, raw in task]

    def _item(self, shard: int, raw: RawDocument, profile: Profile) -> Item:
        document = parse(raw, self._config, self._keep_types)
        return prepare_document(shard, raw.position, document, self._preparer, profile)


def prepare_document(
    shard: int, position: int, document: Document | BadDocument, preparer: Preparer, profile: Profile
) -> Item:
    """Prepare a document, unless it is bad or turns out to be.

    :param shard: Where it goes.
    :param position: Bytes of the input up to its end.
    :param document: The document.
    :param preparer: Does the work.
    :param profile: Counts the time.
    :return: The item.
    """
    prepared = None
    if isinstance(document, Document):
        try:
            prepared = preparer.prepare(document.text, profile)
            document = Document(document.id, "", document.carried)
        except Exception as error:  # a splitter of the user's, memory: it must not cost the others
            document = BadDocument(document.id, f"{type(error).__name__}: {first_line(error)}")
    return Item(shard, position, document, prepared)


class Workers:
    """Prepares documents in order, some ahead of what is asked for.

    :param preparer: Does the work.
    :param config: How documents are read, and how many processes there are.
    :param keep_types: Whether carried values stay as they are.
    :raises ConfigError: If the preparer cannot be sent to other processes.
    """

    def __init__(self, preparer: Preparer, config: CorpusConfig, keep_types: bool) -> None:
        self._work = _Work(preparer, config, keep_types)
        self._count = config.workers or 0
        self._pool: ProcessPoolExecutor | None = None
        self.seconds_waited = 0.0
        """Time that the model had nothing to do but to wait for them."""
        if self._count:
            try:
                self._sent = pickle.dumps(self._work)
            except Exception as error:  # whatever the parts of a user's splitter raise
                raise ConfigError(
                    f"got a sentence splitter that cannot be sent to other processes ({error}); give "
                    "workers=0 (--workers 0)"
                ) from error

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *_: object) -> None:
        self._end_pool()

    def prepared(self, documents: Iterable[tuple[int, RawDocument]]) -> Iterator[Item]:
        """Prepare documents.

        :param documents: Each with its shard.
        :yield: An item each, in the same order.
        :raises CorpusError: If a process dies twice of the same document, or cannot be started.
        """
        tasks = _tasks(documents)
        if not self._count:
            for task in tasks:
                yield from self._timed(task)
            return
        pending: deque[tuple[Task, Future[list[Item]]]] = deque()
        for task in tasks:
            pending.append((task, self._submit(task)))
            if len(pending) >= _TASKS_A_WORKER * self._count:
                yield from self._oldest(pending)
        while pending:
            yield from self._oldest(pending)

    def _timed(self, task: Task) -> list[Item]:
        started = time.perf_counter()
        items = self._work(task)
        self.seconds_waited += time.perf_counter() - started
        return items

    def _oldest(self, pending: "deque[tuple[Task, Future[list[Item]]]]") -> list[Item]:
        task, future = pending.popleft()
        started = time.perf_counter()
        try:
            return future.result()
        except BrokenProcessPool:
            self._end_pool()
            items = self._again(task)
            # What was on its way is lost with the others.
            for number, (later, _) in enumerate(pending):
                pending[number] = later, self._submit(later)
            return items
        finally:
            self.seconds_waited += time.perf_counter() - started

    def _again(self, task: Task) -> list[Item]:
        """Do a task anew after a process has died, a document at a time to find one that it died of."""
        items = []
        for shard, raw in task:
            try:
                items += self._submit([(shard, raw)]).result()
            except BrokenProcessPool as error:
                self._end_pool()
                if not self._is_alive():
                    raise CorpusError(
                        "worker processes die as soon as they start; a script that calls run(...) needs "
                        "`if __name__ == '__main__':` around it; else give workers=0 (--workers 0)"
                    ) from error
                cause = "a process died of it twice, as for want of memory"
                items.append(Item(shard, raw.position, BadDocument(raw.default_id, cause), None))
        return items

    def _is_alive(self) -> bool:
        """Whether a process can do anything at all."""
        try:
            return self._submit([]).result() == []
        except BrokenProcessPool:
            return False

    def _submit(self, task: Task) -> "Future[list[Item]]":
        if self._pool is None:
            # Spawned, never forked: a tokenizer that was used, and CUDA, do not survive a fork.
            self._pool = ProcessPoolExecutor(
                self._count,
                mp_context=multiprocessing.get_context("spawn"),
                initializer=_begin,
                initargs=(self._sent,),
            )
        try:
            return self._pool.submit(_do, task)
        except BrokenProcessPool as error:
            # A process has died since; that is seen to when the task is waited for.
            failed: Future[list[Item]] = Future()
            failed.set_exception(error)
            return failed

    def _end_pool(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None


def default_workers(device: str) -> int:
    """How many processes feed a model.

    :param device: Where it runs, as torch names it.
    :return: One beside a CPU, which computes itself; several beside a GPU, if there are cores for them.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return 1 if device.startswith("cpu") else max(1, min(_MOST_WORKERS, cores - 1))


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


_work: Any = None


def _begin(sent: bytes) -> None:
    """Set a worker process up."""
    global _work
    # There is a process a core already.
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    # The run decides what an interrupt means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_end_with, args=(parent.sentinel,), daemon=True).start()
    _work = pickle.loads(sent)


def _end_with(sentinel: int) -> None:
    """End when the run does, though it be killed."""
    wait([sentinel])
    os._exit(1)


def _do(task: Task) -> list[Item]:
    found: list[Item] = _work(task)
    return found
