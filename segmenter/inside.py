"""Where to cut inside what is too long for a chunk: at a clause, else a word, else a character."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from unicodedata import combining

import numpy as np
from numpy.typing import NDArray

__all__ = ["UNDER_HEADING", "cut_inside"]

UNDER_HEADING, ITEM, CLAUSE, WORD, MARK, CHARACTER = -40.0, -70.0, -80.0, -90.0, -100.0, -110.0
"""What a cut is worth there; a gap between other sentences is worth more than any of them, -27.6 or more.

So two cuts around a table, one of them under its heading, are better than one in it.
"""

_CLAUSES = re.compile(
    r"""[,;:.!?…)\]]["'”’»]*\s+ | \s[-–—]+\s+ | [—、。，；：！？]["'”’»」』）]*\s* | [\r\n]\s*""", re.VERBOSE
)
_WORDS = re.compile(r"\s+")
_MARKS = re.compile(r"[^\w\s]+|_+")
_JOINED = frozenset("\u200d\ufe0f\n")

_ASCII = np.full(128, 1.0)
_ASCII[[code for code in range(128) if chr(code).isalpha()]] = 0.25
_ASCII[[code for code in range(128) if chr(code).isdigit()]] = 0.5
_ASCII[[code for code in range(128) if chr(code).isspace()]] = 0.0
_LATIN, _LAST_LATIN = 0.4, 0x52F


def cut_inside(text: str, size: int, most: int, items: Sequence[int] = ()) -> list[tuple[int, int, float]]:
    """Cut a text into pieces of about as many tokens as may be.

    Its tokens are spread over its characters by their kind, since no tokenizer need say where its tokens
    are. So a piece may turn out to have more, and is then cut again.

    :param text: Two characters or more.
    :param size: Its tokens, more than ``most``.
    :param most: Tokens of a piece.
    :param items: Offsets of its rows, items or lines, rising, which are the best places.
    :return: Offset in the text, estimated tokens and the worth of the cut before it, of two pieces or more.
    """
    weights = _weights(text)
    ends = np.concatenate([[0.0], np.cumsum(weights)])
    ends *= size / ends[-1]
    places = [(ITEM, list(items))]
    places += [(kind, [m.end() for m in found.finditer(text)]) for kind, found in _KINDS]
    # A piece less than the whole, even if a single character has more tokens.
    room = min(float(most), size * 0.999)
    pieces: list[tuple[int, int, float]] = []
    start, kind = 0, CLAUSE
    while start < len(text):
        last = int(np.searchsorted(ends, ends[start] + max(room, 0.0), side="right")) - 1
        last = max(last, start + 1)
        # All of it in one piece would be no cut.
        end, following = (len(text), kind) if last >= len(text) else _place(text, start, last, ends, places)
        if not pieces and end == len(text):
            end, following = len(text) - 1, CHARACTER
        # Together no more than the whole has, or what fits in one piece would be taken for too long.
        pieces.append((start, int(np.ceil(ends[end])) - int(np.ceil(ends[start])), kind))
        start, kind = end, following
    return pieces


_KINDS = ((CLAUSE, _CLAUSES), (WORD, _WORDS), (MARK, _MARKS))


def _place(
    text: str, start: int, last: int, ends: NDArray[np.float64], places: list[tuple[float, list[int]]]
) -> tuple[int, float]:
    """The best place for a piece to end, up to ``last``: a clause or a mark where the piece is half full."""
    half = int(np.searchsorted(ends, (ends[start] + ends[last]) / 2, side="right"))
    for kind, offsets in places:
        first = start + 1 if kind in (ITEM, WORD) else max(half, start + 1)
        number = bisect_right(offsets, last) - 1
        if number >= bisect_left(offsets, first):
            return offsets[number], kind
    end = last
    while end > start + 1 and (combining(text[end]) or text[end] in _JOINED or text[end - 1] == "\u200d"):
        end -= 1
    return end if end > start + 1 else last, CHARACTER


def _weights(text: str) -> NDArray[np.float64]:
    """Tokens of each character, but for a factor."""
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)
    weights = np.where(codes <= _LAST_LATIN, _LATIN, 1.0)
    is_ascii = codes < len(_ASCII)
    weights[is_ascii] = _ASCII[codes[is_ascii]]
    return weights if weights.sum() else np.ones(len(codes))
