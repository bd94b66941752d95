"""How far a run is, for people who watch it or read its log."""

import sys
import time
from typing import Any

from tqdm import tqdm

__all__ = ["Progress"]

_LINE_SECONDS = 60.0
"""Where lines stay, there is one a minute."""


class Progress:
    """A bar on a terminal, lines elsewhere.

    :param total: Bytes of the input; 0 if that is not known.
    :param is_shown: Whether to show anything.
    """

    def __init__(self, total: int, is_shown: bool) -> None:
        self._total = total
        self._bar: tqdm[Any] | None = None
        self._has_lines = is_shown and not sys.stderr.isatty()
        self._started = self._last = time.monotonic()
        self._first: float | None = None
        self._share = 0.0
        self.documents = self.chunks = self.characters = self.errors = 0
        if is_shown and not self._has_lines:
            form = "{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}"
            self._bar = tqdm(
                total=100,
                desc="segmenting",
                dynamic_ncols=True,
                bar_format=form if total else "{desc} {elapsed}{postfix}",
            )

    def update(self, position: int) -> None:
        """Tell that a document more is done.

        :param position: Bytes of the input up to its end.
        """
        if self._total:
            self._share = max(self._share, min(1.0, position / self._total))
        if self._first is None:
            # What was done before took none of this process's time.
            self._first = self._share
            if self._bar is not None:
                self._bar.initial = self._bar.n = 100 * self._share
                self._bar.refresh()
        if self._bar is not None:
            self._bar.set_postfix_str(self._counts(), refresh=False)
            self._bar.update(100 * self._share - self._bar.n)
        elif self._has_lines and time.monotonic() - self._last >= _LINE_SECONDS:
            self._last = time.monotonic()
            self._print()

    def close(self) -> None:
        """Show the last state."""
        if self._bar is not None:
            self._bar.set_postfix_str(self._counts(), refresh=False)
            self._bar.close()
        elif self._has_lines:
            self._print()

    def _counts(self) -> str:
        seconds = max(1e-9, time.monotonic() - self._started)
        return (
            f"{self.documents:,} documents, {self.chunks:,} chunks, {self.characters / seconds:,.0f} "
            f"characters/s, {self.errors:,} errors"
        )

    def _print(self) -> None:
        left = ""
        done = self._share - (self._first or 0.0)
        if self._total and done > 0:
            elapsed = time.monotonic() - self._started
            remaining = tqdm.format_interval(elapsed * (1 - self._share) / done)
            left = f", {self._share:.1%} of the input, {remaining} left"
        tqdm.write(f"segmenting: {self._counts()}{left}", file=sys.stderr)
