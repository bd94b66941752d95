"""Chunks on a terminal: each in a colour of its own, under a sparkline of the probabilities."""

import re
from collections.abc import Iterator, Sequence

import numpy as np
from rich.console import Console, ConsoleOptions, Group, RenderableType
from rich.rule import Rule
from rich.text import Text

from segmenter.document import Chunk
from segmenter.segmentation import Segmentation
from segmenter.tokenizing import replace_surrogates

__all__ = ["show_chunks", "show_result"]

_BARS = "▁▂▃▄▅▆▇█"
_COLOURS = ("cyan", "magenta")
_CUT = "bold red"
# All but tabs and line ends: a terminal would obey them.
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")


def show_result(console: Console, result: Segmentation) -> None:
    """Print a sparkline of the probabilities, and the chunks.

    :param console: Where to.
    :param result: The result.
    """
    name = result.document.id or ""
    counts = (_counted(len(result.chunks), "chunk"), _counted(len(result.sentences), "sentence"))
    about = ", ".join([*counts, f"threshold {result.threshold:.2f}"])
    console.print(Text.assemble((_plain(name), "bold"), "  " if name else "", (about, "dim")))
    if result.scored.any():
        console.print(sparkline(result, console.width))
    console.print()
    show_chunks(console, result.chunks)


def show_chunks(console: Console, chunks: Sequence[Chunk]) -> None:
    """Print chunks, each with a rule above it and a bar beside it.

    :param console: Where to.
    :param chunks: The chunks of a document.
    """
    for chunk in chunks:
        console.print(_drawn(chunk))
        console.print()


def sparkline(result: Segmentation, width: int) -> Text:
    """Draw the probabilities of a document as a bar a gap that was scored, boundaries in another colour.

    :param result: The result.
    :param width: Most characters there may be. Where there are more gaps, each bar is the highest of several.
    :return: The line.
    """
    gaps = np.flatnonzero(result.scored)
    chances, cut = result.probabilities[gaps], np.isin(gaps + 1, result.boundaries)
    line = Text(no_wrap=True)
    for number in np.array_split(np.arange(len(gaps)), max(1, min(width, len(gaps)))):
        if not len(number):
            break
        height = int(chances[number].max() * len(_BARS))
        line.append(_BARS[min(height, len(_BARS) - 1)], style=_CUT if cut[number].any() else "dim")
    return line


def _drawn(chunk: Chunk) -> RenderableType:
    colour = _COLOURS[chunk.index % len(_COLOURS)]
    title = Text(" · ".join(_facts(chunk)), style=colour)
    rule = Rule(title, style=f"dim {colour}", align="left")
    return Group(rule, _Barred(_plain(chunk.text.strip("\r\n")), colour))


class _Barred:
    """Text with a bar on its left, however many lines it takes."""

    def __init__(self, text: str, style: str) -> None:
        self._text, self._style = text, style

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[RenderableType]:
        for line in Text(self._text, tab_size=4).wrap(console, max(1, options.max_width - 2)):
            line.rstrip()
            yield Text.assemble(("▌ ", self._style), line)


def _facts(chunk: Chunk) -> Iterator[str]:
    yield f"── chunk {chunk.index} · {chunk.start}–{chunk.end}"
    if chunk.token_count:
        yield f"{chunk.token_count} tokens"
    if chunk.probability is not None:
        yield f"p = {chunk.probability:.2f}"
    if chunk.page is not None:
        yield f"page {chunk.page}"
    if chunk.section:
        yield _plain(" > ".join(chunk.section))


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _plain(text: str) -> str:
    """Text that a terminal only prints."""
    return _CONTROLS.sub("\ufffd", replace_surrogates(text)).replace("\r\n", "\n")
