"""Cuts of a fixed size, and none."""

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from segmenter.chunkers.base import OneByOne
from segmenter.chunking import header_of, make_chunks
from segmenter.config import check_count, check_header
from segmenter.counting import Counter, TextTokenizer, counter_of
from segmenter.document import Chunk, Context, Document, digest
from segmenter.errors import ConfigError
from segmenter.sizing import Piece
from segmenter.sources import shipped_tokenizer

__all__ = ["FixedSizeChunker", "Style", "Unit", "WholeDocument"]

Unit = Literal["words", "characters", "tokens"]
"""What sizes are in. A word is what stands between white space."""

Style = Literal["window", "prepend", "append"]
"""``"window"``: a piece starts each size - overlap. ``"prepend"``, ``"append"``: one starts each size, and
has the end of the piece before it, or the beginning of the one after it, added."""

_SPACES = np.array([chr(code).isspace() for code in range(0x3001)])
_BLOCK = 1 << 20


class FixedSizeChunker(OneByOne):
    """Cuts into pieces of the same size, wherever that is.

    A piece is ``chunk.embed_text``; ``chunk.text`` is what is new in it, so that the texts, joined, are the
    document. The last piece ends at its end and may be smaller.

    :param size: Of a piece, 1 or more; with ``"prepend"`` and ``"append"`` of its new part.
    :param overlap: What a piece shares with the next: a whole number below ``size``, or a share of it from
        0.0 up to 1.0, rounded down.
    :param unit: What both are in.
    :param style: Where pieces start.
    :param tokenizer: What tokens are; it has to say where they are. None: the shipped model's.
    :param header: Stands in front of each piece, as in ``ChunkConfig``; its size does not count.
    :raises ConfigError: If a setting is out of its range.
    """

    def __init__(
        self,
        size: int = 150,
        overlap: float = 0.2,
        unit: Unit = "words",
        *,
        style: Style = "window",
        tokenizer: TextTokenizer | None = None,
        header: str | None = None,
    ) -> None:
        check_count("size", size, 1)
        self._size, self._overlap = size, _overlap(overlap, size)
        if unit not in ("words", "characters", "tokens"):
            raise ConfigError(f"got unit={unit!r}, expected 'words', 'characters' or 'tokens'")
        if style not in ("window", "prepend", "append"):
            raise ConfigError(f"got style={style!r}, expected 'window', 'prepend' or 'append'")
        if header is not None:
            check_header(header)
        self._unit, self._style, self._header = unit, style, header
        self._counter: Counter | None = None
        if unit == "tokens":
            self._counter = counter_of(shipped_tokenizer() if tokenizer is None else tokenizer)
        name = self._counter.name if self._counter else ""
        self._fingerprint = digest("fixed", size, self._overlap, unit, style, name, header)

    def identity(self) -> dict[str, Any]:
        """What its cuts depend on.

        :return: Values that JSON can hold.
        """
        return {
            "chunker": self._unit,
            "size": self._size,
            "overlap": self._overlap,
            "style": self._style,
            "header": self._header,
            "tokenizer": self._counter.name if self._counter else None,
        }

    def _cut(self, document: Document) -> tuple[Chunk, ...]:
        text = document.text
        if not text:
            return ()
        at = header_of(document, self._header)
        pieces = []
        for shown, begin, stop, behind in self._places(text).tolist():
            header = at(begin)
            has_context = header or shown < begin or stop < behind
            context = Context(header, text[shown:begin], text[stop:behind]) if has_context else Context()
            pieces.append(Piece(begin, stop, context))
        return make_chunks(document, pieces, fingerprint=self._fingerprint)

    def _places(self, text: str) -> NDArray[np.int64]:
        """Offsets of each piece: where it starts to show, where it begins, stops, and shows no more."""
        if self._unit == "characters":
            return self._spans(len(text))
        starts = _word_starts(text) if self._counter is None else self._counter.starts(text)
        # What stands before the first unit belongs to it; a blank text is one unit.
        bounds = np.concatenate([[0], starts[1:], [len(text)]])
        return bounds[self._spans(len(bounds) - 1)]

    def _spans(self, n_units: int) -> NDArray[np.int64]:
        """The units of each piece: the first it shows, its own, and behind the last it shows."""
        size, overlap = self._size, self._overlap
        if self._style == "window":
            shown = np.arange(0, max(1, n_units - overlap), size - overlap)
            ends = np.minimum(shown + size, n_units)
            return np.stack([shown, np.append(0, ends[:-1]), ends, ends], axis=1)
        starts = np.arange(0, n_units, size)
        ends = np.minimum(starts + size, n_units)
        shown = np.maximum(0, starts - overlap) if self._style == "prepend" else starts
        behind = np.minimum(ends + overlap, n_units) if self._style == "append" else ends
        return np.stack([shown, starts, ends, behind], axis=1)


class WholeDocument(OneByOne):
    """Does not cut, to see what cutting is worth."""

    def identity(self) -> dict[str, Any]:
        """What its cuts depend on.

        :return: Values that JSON can hold.
        """
        return {"chunker": "whole"}

    def _cut(self, document: Document) -> tuple[Chunk, ...]:
        pieces = [Piece(0, len(document.text))] if document.text else []
        return make_chunks(document, pieces, fingerprint=digest("whole"))


def _overlap(overlap: float, size: int) -> int:
    """An overlap in units."""
    if isinstance(overlap, float):
        if not 0 <= overlap < 1:
            raise ConfigError(f"got overlap={overlap!r}, expected a share of the size, from 0.0 up to 1.0")
        return int(size * overlap)
    check_count("overlap", overlap)
    if overlap >= size:
        raise ConfigError(f"got overlap={overlap} and size={size}, expected an overlap below the size")
    return overlap


def _word_starts(text: str) -> NDArray[np.int64]:
    """Where words start, found in blocks, since 50 MB have eight million of them."""
    found = [np.zeros(0, np.int64)]
    after_space = np.ones(1, np.bool_)
    for offset in range(0, len(text), _BLOCK):
        block = text[offset : offset + _BLOCK].encode("utf-32-le", "surrogatepass")
        codes = np.frombuffer(block, np.uint32)
        is_space = _SPACES[np.minimum(codes, len(_SPACES) - 1)] & (codes < len(_SPACES))
        before = np.concatenate([after_space, is_space[:-1]])
        found.append(np.flatnonzero(before & ~is_space) + offset)
        after_space = is_space[-1:]
    return np.concatenate(found)
