"""Where the time goes, by stage, and how much memory was needed."""

import re
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

__all__ = ["STAGES", "Profile", "peak_memory"]

STAGES = ("splitting", "tokenizing", "windows", "batching", "model", "decoding")
"""In the order of the way of the data."""


class Profile:
    """Adds up the time of each stage; several threads may share one.

    :ivar seconds: Time of the wall clock by stage, that of all threads together.
    """

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(STAGES, 0.0)
        self._lock = Lock()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count what happens inside.

        :param name: One of ``STAGES``.
        :yield: Nothing.
        """
        started = time.perf_counter()
        try:
            yield
        finally:
            taken = time.perf_counter() - started
            with self._lock:
                self.seconds[name] += taken

    @property
    def outside_model(self) -> float:
        """Share of the time that is not the model's, 0 to 1; 0 if nothing was counted."""
        total = sum(self.seconds.values())
        return 1 - self.seconds["model"] / total if total else 0.0

    def __str__(self) -> str:
        total = sum(self.seconds.values()) or 1.0
        rows = [f"{name:10} {taken:9.3f} s {taken / total:7.1%}" for name, taken in self.seconds.items()]
        return "\n".join(rows)


def peak_memory() -> int:
    """Most memory that this process had at once, in bytes of resident set.

    Not what ``getrusage`` says where ``/proc`` has it, since that is never below what the process had that
    started this one.

    :return: Bytes.
    """
    status = Path("/proc/self/status")
    if status.exists() and (found := re.search(r"VmHWM:\s+(\d+) kB", status.read_text(encoding="ascii"))):
        return int(found[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
