"""Pieces of a text that fit, context and all, into a number of tokens."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from segmenter.config import ChunkConfig
from segmenter.counting import Counter
from segmenter.decoding import Limits, Units, best_cut
from segmenter.document import Context
from segmenter.errors import ConfigError
from segmenter.inside import cut_inside

__all__ = ["Piece", "Spans", "add_context", "cut_to_size"]

_WORDS = re.compile(r"\S+\s*|\s+")
_SPACE = re.compile(r"\s+")
_CHARACTERS_A_TOKEN = 16
_OF_CONTEXT = 2
"""Context may take this part of a chunk's room: a half."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A chunk to be.

    :ivar start: Offset of its first character.
    :ivar end: Offset behind its last.
    :ivar context: What is added to it.
    :ivar token_count: Tokens of all of it, special tokens included; None if they were not counted.
    """

    start: int
    end: int
    context: Context = Context()
    token_count: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Spans:
    """A text in parts that should not be cut.

    :ivar text: The document.
    :ivar starts: Where each part starts; they cover the text. *Shape:* ``(n,)``.
    :ivar gains: What a cut before each is worth. *Shape:* ``(n,)``.
    :ivar forced: Before which there must be a cut. *Shape:* ``(n,)``.
    :ivar sentences: Where each sentence starts, which context is taken by. *Shape:* ``(n_sentences,)``.
    :ivar items: Where a part that is too long is best cut, rising.
    :ivar header: Says what stands in front of a chunk that starts at an offset.
    :ivar has_headers: Whether it ever says anything.
    """

    text: str
    starts: NDArray[np.int64]
    gains: NDArray[np.float64]
    forced: NDArray[np.bool_]
    sentences: Sequence[int]
    items: Sequence[int]
    header: Callable[[int], str]
    has_headers: bool


def cut_to_size(spans: Spans, config: ChunkConfig, counter: Counter) -> list[Piece]:
    """Cut a text at the best places there are, so that all of it fits.

    Parts are counted each by itself, then every piece whole with its context, and only a piece that has more
    than its parts together is cut again.

    :param spans: The text and its parts.
    :param config: The limits and the context.
    :param counter: Counts tokens.
    :return: The pieces in order, which cover the text.
    :raises ConfigError: If ``max_tokens`` leaves no room beside the tokenizer's special tokens.
    """
    return _Cutter(spans, config, counter).cut()


def add_context(spans: Spans, pieces: Sequence[Piece], config: ChunkConfig, counter: Counter) -> list[Piece]:
    """Add context to pieces that have no limit.

    :param spans: The text and its parts.
    :param pieces: The pieces.
    :param config: Which context.
    :param counter: Counts the tokens of an overlap.
    :return: The pieces with their context.
    """
    return _Cutter(spans, config, counter).with_context(pieces)


@dataclass(frozen=True, slots=True, eq=False)
class _Parts:
    """Parts of the text, each with its size."""

    bounds: NDArray[np.int64]  # (n + 1,)
    sizes: NDArray[np.int64]  # (n,)
    gains: NDArray[np.float64]
    forced: NDArray[np.bool_]

    def between(self, first: int, last: int) -> "_Parts":
        part = slice(first, last)
        return _Parts(self.bounds[first : last + 1], self.sizes[part], self.gains[part], self.forced[part])


class _Cutter:
    """Cuts one text."""

    def __init__(self, spans: Spans, config: ChunkConfig, counter: Counter) -> None:
        self._spans = spans
        self._text = spans.text
        self._config = config
        self._counter = counter
        self._special = int(counter.count([""])[0]) if config.counts_tokens else 0
        self._behind = config.neighbours
        self._in_front = max(config.neighbours, config.overlap_sentences)
        kinds = (spans.has_headers, bool(self._in_front or config.overlap_tokens), bool(self._behind))
        self._room: int | None = None
        self._most_context: int | None = None
        if config.max_tokens is not None:
            self._room = config.max_tokens - self._special
            if self._room < 1:
                raise ConfigError(
                    f"got max_tokens={config.max_tokens}, but the tokenizer adds {self._special} special "
                    f"tokens to every text; expected {self._special + 1} or more"
                )
            self._most_context = self._room // _OF_CONTEXT // max(1, sum(kinds))
            taken = self._most_context * sum(kinds)
            self._most_of_part = self._room - taken
        self._headers: dict[str, int] = {}

    def cut(self) -> list[Piece]:
        parts = self._parts()
        # Sizes of what is between two offsets, which context is reckoned by.
        self._offsets = parts.bounds.astype(np.float64)
        self._totals = np.concatenate([[0.0], np.cumsum(parts.sizes)])
        todo, done = [parts], list[Piece]()
        while todo:
            found = [part for parts in todo for part in self._solve(parts)]
            pieces = self.with_context([Piece(int(p.bounds[0]), int(p.bounds[-1])) for p in found])
            todo = []
            for piece, part, count in zip(pieces, found, self._count(pieces), strict=True):
                if self._config.max_tokens is None or count <= self._config.max_tokens:
                    done.append(replace(piece, token_count=int(count)))
                elif piece.end - piece.start > 1:
                    todo.append(self._finer(part, piece, int(count)))
                else:
                    bare = Piece(piece.start, piece.end)
                    done.append(replace(bare, token_count=int(self._count([bare])[0])))
        return sorted(done, key=lambda piece: piece.start)

    def _parts(self) -> _Parts:
        spans = self._spans
        bounds = np.append(spans.starts, len(self._text))
        texts = [self._text[start:end] for start, end in pairwise(bounds)]
        sizes = np.maximum(self._counter.count(texts) - self._special, 0)
        return self._split(_Parts(bounds, sizes, spans.gains, spans.forced))

    def _split(self, parts: _Parts) -> _Parts:
        """Cut what is too long by itself."""
        if self._room is None or not (parts.sizes > self._most_of_part).any():
            return parts
        starts: list[int] = []
        sizes: list[int] = []
        values: list[float] = []
        forced: list[bool] = []
        for number, size in enumerate(parts.sizes.tolist()):
            start, end = int(parts.bounds[number]), int(parts.bounds[number + 1])
            pieces = [(0, size, 0.0)]
            if size > self._most_of_part and end - start > 1:
                pieces = self._cut_inside(start, end, size, self._most_of_part)
            starts.extend(start + offset for offset, _, _ in pieces)
            sizes.extend(count for _, count, _ in pieces)
            values.extend([float(parts.gains[number]), *(worth for _, _, worth in pieces[1:])])
            forced.extend([bool(parts.forced[number]), *(False for _ in pieces[1:])])
        return _Parts(
            np.array([*starts, int(parts.bounds[-1])]), np.array(sizes), np.array(values), np.array(forced)
        )

    def _cut_inside(self, start: int, end: int, size: int, most: int) -> list[tuple[int, int, float]]:
        items = self._spans.items
        inside = items[bisect_right(items, start) : bisect_left(items, end)]
        return cut_inside(self._text[start:end], size, most, [offset - start for offset in inside])

    def _solve(self, parts: _Parts) -> list[_Parts]:
        limits = Limits(
            # Sizes that were asked for are those that embedders count, special tokens included.
            most=self._room,
            fewest=max(0, (self._config.min_tokens or 0) - self._special),
            target=self._config.target_tokens and max(1, self._config.target_tokens - self._special),
        )
        units = Units(
            sizes=parts.sizes,
            gains=parts.gains,
            forced=parts.forced,
            opening=np.array([self._opening(int(start)) for start in parts.bounds[:-1]], dtype=np.int64),
            closing=np.array([self._closing(int(end)) for end in parts.bounds[1:]], dtype=np.int64),
        )
        firsts = [0, *best_cut(units, limits), len(parts.sizes)]
        return [parts.between(a, b) for a, b in pairwise(firsts)]

    def _finer(self, parts: _Parts, piece: Piece, count: int) -> _Parts:
        """Parts of a piece that is too long, each with its share of the tokens there are."""
        estimated = self._special + self._opening(piece.start) + self._closing(piece.end)
        real = max(count - estimated, int(parts.sizes.sum()) + 1)
        share = real / max(1, int(parts.sizes.sum()))
        sizes = np.ceil(np.maximum(parts.sizes, 1) * share).astype(np.int64)
        if len(sizes) == 1:
            assert self._room is not None
            # Into even pieces, or the last would be a rest that nothing is left to be joined to.
            size = int(sizes[0])
            most = max(1, min(-(-size // -(-size // self._most_of_part)), size - 1))
            found = self._cut_inside(piece.start, piece.end, size, most)
            offsets, counts, values = zip(*found, strict=True)
            return _Parts(
                np.array([*(piece.start + offset for offset in offsets), piece.end]),
                np.array(counts),
                np.array([parts.gains[0], *values[1:]]),
                np.zeros(len(counts), np.bool_),
            )
        return self._split(replace(parts, sizes=sizes))

    def _count(self, pieces: Sequence[Piece]) -> NDArray[np.int64]:
        texts = []
        for piece in pieces:
            context = piece.context
            text = self._text[piece.start : piece.end]
            texts.append(context.header + context.before + text + context.after)
        return self._counter.count(texts)

    # Context.

    def with_context(self, pieces: Sequence[Piece]) -> list[Piece]:
        before = [self._before(piece.start) for piece in pieces]
        after = [self._after(piece.end) for piece in pieces]
        tails = self._fit([self._text[a:b] for a, b in before], self._limit_before(), from_end=True)
        heads = self._fit([self._text[a:b] for a, b in after], self._most_context, from_end=False)
        headers = [self._header(piece.start)[0] for piece in pieces]
        return [
            replace(piece, context=Context(*parts)) if any(parts) else piece
            for piece, *parts in zip(pieces, headers, tails, heads, strict=True)
        ]

    def _limit_before(self) -> int | None:
        given = [n for n in (self._config.overlap_tokens or None, self._most_context) if n is not None]
        return min(given) if given else None

    def _before(self, start: int) -> tuple[int, int]:
        if self._config.overlap_tokens and not self._in_front:
            first = max(0, start - _CHARACTERS_A_TOKEN * self._config.overlap_tokens)
            # Not with half a word, unless that is all there is.
            space = _SPACE.search(self._text, max(0, first - 1), start) if first else None
            return space.end() if space and space.end() < start else first, start
        if not self._in_front or not start:
            return start, start
        number = bisect_left(self._spans.sentences, start) - self._in_front
        return self._spans.sentences[max(0, number)], start

    def _after(self, end: int) -> tuple[int, int]:
        sentences = self._spans.sentences
        number = bisect_right(sentences, end) + self._behind - 1
        if not self._behind or end == len(self._text):
            return end, end
        return end, sentences[number] if number < len(sentences) else len(self._text)

    def _header(self, start: int) -> tuple[str, int]:
        """Titles in front, and their tokens; none where they take too much of the room."""
        header = self._spans.header(start)
        if not header or self._room is None:
            return header, 0
        if header not in self._headers:
            self._headers[header] = int(self._counter.count([header])[0]) - self._special
        count = self._headers[header]
        return (header, count) if self._most_context is None or count <= self._most_context else ("", 0)

    def _opening(self, start: int) -> int:
        if self._room is None:
            return 0
        return self._header(start)[1] + self._between(self._before(start), self._limit_before())

    def _closing(self, end: int) -> int:
        return 0 if self._room is None else self._between(self._after(end), self._most_context)

    def _between(self, span: tuple[int, int], most: int | None) -> int:
        if span[0] == span[1]:
            return 0
        first, last = np.interp(span, self._offsets, self._totals)
        size = int(np.ceil(last - first))
        return size if most is None else min(size, most)

    def _fit(self, texts: list[str], most: int | None, *, from_end: bool) -> list[str]:
        """The ends, or the beginnings, of texts that have so many tokens, at a word if there is one."""
        if most is None or not any(texts):
            return texts
        is_over = self._counter.count(texts) - self._special > most
        found = list(texts)
        words = {
            number: [match[0] for match in _WORDS.finditer(texts[number])]
            for number in np.flatnonzero(is_over).tolist()
        }
        for number, parts in words.items():
            found[number] = self._fit_one(parts, most, from_end=from_end)
        return found

    def _fit_one(self, words: list[str], most: int, *, from_end: bool) -> str:
        ordered = words[::-1] if from_end else words
        sizes = np.maximum(self._counter.count(ordered) - self._special, 0)
        kept = int(np.searchsorted(np.cumsum(sizes), most, side="right"))
        if not kept:  # Not even one word: some of its characters.
            length = len(ordered[0])
            ordered = list(ordered[0][::-1] if from_end else ordered[0])
            kept = int(length * most / max(1, int(sizes[0])))
        while kept:
            text = "".join(ordered[:kept][::-1] if from_end else ordered[:kept])
            over = int(self._counter.count([text])[0]) - self._special - most
            if over <= 0:
                return text
            kept -= max(1, over // 2)
        return ""
