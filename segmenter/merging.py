"""Retrieved chunks that belong together, as one."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby

from segmenter.document import Chunk, Context

__all__ = ["merge"]


def merge(chunks: Iterable[Chunk]) -> list[Chunk]:
    """Join chunks that touch or overlap, context included, so that no word is there twice.

    What lies between two chunks may be known from their context only; it becomes text of the joined one. Of
    the first stay the header, the index, the section, the page and the probability; tokens are added up, so
    that they are too many by those of what overlapped.

    :param chunks: Of one or more documents, in any order, of the same cut or of different ones.
    :return: The joined chunks, by document, in the order in which these come first, and place.
    """
    places: dict[str | None, int] = {}
    ordered = sorted(
        chunks, key=lambda chunk: (places.setdefault(chunk.document_id, len(places)), chunk.start, -chunk.end)
    )
    found: list[Chunk] = []
    for _, group in groupby(ordered, key=lambda chunk: chunk.document_id):
        rest = sorted(group, key=_first)
        current = rest[0]
        for chunk in rest[1:]:
            if _first(chunk) <= _last(current):
                current = _join(current, chunk)
            else:
                found.append(current)
                current = chunk
        found.append(current)
    return found


def _first(chunk: Chunk) -> int:
    return chunk.start - len(chunk.context.before)


def _last(chunk: Chunk) -> int:
    return chunk.end + len(chunk.context.after)


def _source(chunk: Chunk) -> str:
    """What the chunk shows of its document."""
    return chunk.context.before + chunk.text + chunk.context.after


def _join(left: Chunk, right: Chunk) -> Chunk:
    """Join two chunks, of which the left shows more at its left."""
    source = _source(left) + _source(right)[_last(left) - _first(right) :]
    offset = _first(left)
    start, end = min(left.start, right.start), max(left.end, right.end)
    leading = min(left, right, key=lambda chunk: chunk.start)
    trailing = max(left, right, key=lambda chunk: chunk.end)
    return replace(
        leading,
        text=source[start - offset : end - offset],
        start=start,
        end=end,
        token_count=left.token_count + right.token_count,
        context=Context(leading.context.header, source[: start - offset], source[end - offset :]),
        fingerprint=left.fingerprint if left.fingerprint == right.fingerprint else "",
        source_end=trailing.source_end,
    )
