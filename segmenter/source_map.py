"""Where a text stands in what it was taken out of."""

from bisect import bisect_right
from dataclasses import dataclass

__all__ = ["SourceMap"]


@dataclass(frozen=True, slots=True)
class SourceMap:
    """Places of a text in its source, in runs of characters; later ones in the text are later in the source.

    A run as long as its source is a copy of it, white space perhaps other white space. A shorter one stands
    for all of it: ``&`` for ``&amp;``. In a longer one what is too much is white space that was made up.

    :ivar starts: Where runs start in the text, from 0, rising; behind them where the text ends.
    :ivar sources: Where they start in the source.
    :ivar ends: Where they end in the source, at most where the next starts.
    """

    starts: tuple[int, ...] = (0,)
    sources: tuple[int, ...] = ()
    ends: tuple[int, ...] = ()

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Find a piece of the text in the source.

        :param start: Offset of its first character.
        :param end: Offset behind its last.
        :return: Start and end in the source, from its first character there to its last; made-up white space
            at its end takes nothing. Pieces that touch have spans that do not overlap.
        """
        first = bisect_right(self.starts, start) - 1
        # What is right behind a run belongs to it, not to the next one.
        last = max(first, bisect_right(self.starts, end - 1) - 1)
        return self._place(start, first), self._place(end, last)

    def _place(self, offset: int, run: int) -> int:
        if run == len(self.sources):
            return self.ends[-1] if self.ends else 0
        inside = offset - self.starts[run]
        length = self.ends[run] - self.sources[run]
        is_copy = length <= self.starts[run + 1] - self.starts[run]
        # What stands for something cannot be parted: the first piece of it has it all.
        return self.sources[run] + (min(inside, length) if is_copy or not inside else length)
