"""Processes that do tasks in order, some ahead of what is asked for, and are replaced when they die."""

import multiprocessing
import os
import pickle
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from multiprocessing.connection import wait
from typing import Any, TypeVar

from segmenter.errors import ConfigError, CorpusError

__all__ = ["Pool"]

_JOBS_A_PROCESS = 3
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Job:
    """A method of the work, and what it is given."""

    method: str
    values: Sequence[Any]
    future: "Future[list[Any]]"
    executor: ProcessPoolExecutor


class Pool:
    """Processes that have the same work.

    :param work: Has methods that take some values and return as many; each process gets a copy.
    :param count: How many processes, 1 or more; started when they are needed.
    :raises ConfigError: If the work cannot be sent to other processes.
    """

    def __init__(self, work: object, count: int) -> None:
        self._count = count
        self._executor: ProcessPoolExecutor | None = None
        self.seconds_waited = 0.0
        """Time that was spent here with nothing else to do."""
        try:
            self._sent = pickle.dumps(work)
        except Exception as error:  # whatever the parts of a user's splitter raise
            raise ConfigError(
                f"got a sentence splitter, a tokenizer or a cutter that cannot be sent to other processes "
                f"({error}); give workers=0 (--workers 0)"
            ) from error

    def close(self) -> None:
        """End the processes."""
        self._end(self._executor)

    def map(
        self, method: str, tasks: Iterable[tuple[_T, Sequence[Any]]], dead: Callable[[Any], Any]
    ) -> Iterator[tuple[_T, list[Any]]]:
        """Have tasks done; several maps may be under way at once.

        :param method: Of the work.
        :param tasks: Values, and what to know them by; taken some ahead of what is asked for.
        :param dead: Says what becomes of a value that a process has died of twice.
        :yield: What the values became, in order.
        :raises CorpusError: If processes cannot be started.
        """
        jobs: deque[tuple[_T, _Job]] = deque()
        for key, values in tasks:
            jobs.append((key, self._submit(method, values)))
            if len(jobs) >= _JOBS_A_PROCESS * self._count:
                yield self._oldest(jobs, dead)
        while jobs:
            yield self._oldest(jobs, dead)

    def _oldest(self, jobs: "deque[tuple[_T, _Job]]", dead: Callable[[Any], Any]) -> tuple[_T, list[Any]]:
        key, job = jobs.popleft()
        started = time.perf_counter()
        try:
            return key, job.future.result()
        except BrokenProcessPool:
            self._end(job.executor)
            found = self._again(job, dead)
            # What was on its way is lost with the others.
            for number, (other, later) in enumerate(jobs):
                if later.executor is not self._executor:
                    jobs[number] = other, self._submit(later.method, later.values)
            return key, found
        finally:
            self.seconds_waited += time.perf_counter() - started

    def _again(self, job: _Job, dead: Callable[[Any], Any]) -> list[Any]:
        """Do a job anew after a process has died, a value at a time to find one that it died of."""
        found: list[Any] = []
        for value in job.values:
            alone = self._submit(job.method, [value])
            try:
                found += alone.future.result()
            except BrokenProcessPool as error:
                self._end(alone.executor)
                if not self._is_alive(job.method):
                    raise CorpusError(
                        "worker processes die as soon as they start; a script that calls run(...) needs "
                        "`if __name__ == '__main__':` around it; else give workers=0 (--workers 0)"
                    ) from error
                found.append(dead(value))
        return found

    def _is_alive(self, method: str) -> bool:
        """Whether a process can do anything at all."""
        try:
            return self._submit(method, []).future.result() == []
        except BrokenProcessPool:
            return False

    def _submit(self, method: str, values: Sequence[Any]) -> _Job:
        if self._executor is None:
            # Spawned, never forked: a tokenizer that was used, and CUDA, do not survive a fork.
            self._executor = ProcessPoolExecutor(
                self._count,
                mp_context=multiprocessing.get_context("spawn"),
                initializer=_begin,
                initargs=(self._sent,),
            )
        try:
            future = self._executor.submit(_do, method, values)
        except BrokenProcessPool as error:
            # A process has died since; that is seen to when the job is waited for.
            future = Future()
            future.set_exception(error)
        return _Job(method, values, future, self._executor)

    def _end(self, executor: ProcessPoolExecutor | None) -> None:
        """End processes, unless they have been ended and there are others, perhaps for another map."""
        if executor is not None and executor is self._executor:
            executor.shutdown(wait=True, cancel_futures=True)
            self._executor = None


_work: Any = None


def _begin(sent: bytes) -> None:
    """Set a process up."""
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


def _do(method: str, values: Sequence[Any]) -> list[Any]:
    found: list[Any] = getattr(_work, method)(values)
    return found
