"""Where the time goes, by stage."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

__all__ = ["STAGES", "Profile"]

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
