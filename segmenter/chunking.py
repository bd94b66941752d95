"""From pieces of a document to chunks that say where they are from."""

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence

from segmenter.document import Chunk, Document
from segmenter.sizing import Piece

__all__ = ["header_of", "make_chunks"]

_FORM_FEED = re.compile("\f")
_SEPARATORS = " \t\r\n>|/:·–—-"


def make_chunks(
    document: Document,
    pieces: Sequence[Piece],
    *,
    fingerprint: str,
    probabilities: Mapping[int, float] | None = None,
    token_counts: Sequence[int] | None = None,
) -> tuple[Chunk, ...]:
    """Make chunks of pieces.

    :param document: The document.
    :param pieces: The pieces, which cover it.
    :param fingerprint: Of the settings that cut it.
    :param probabilities: P(boundary) by the offset behind the gap.
    :param token_counts: Tokens of the pieces that do not say; 0 if left out.
    :return: The chunks, which cover the document.
    """
    pages = _pages(document.text)
    chunks = []
    for index, piece in enumerate(pieces):
        text = document.text[piece.start : piece.end]
        count = piece.token_count
        if count is None:
            count = token_counts[index] if token_counts is not None else 0
        source = piece.start, piece.end
        if document.source_map is not None:
            source = document.source_map.span(*source)
        chunks.append(
            Chunk(
                text=text,
                start=piece.start,
                end=piece.end,
                token_count=count,
                index=index,
                probability=None if probabilities is None else probabilities.get(piece.start),
                section=document.path_at(piece.start),
                page=None if pages is None else _page(pages, text, piece.start),
                document_id=document.id,
                context=piece.context,
                fingerprint=fingerprint,
                source_start=source[0],
                source_end=source[1],
            )
        )
    return tuple(chunks)


def header_of(document: Document, header: str | None) -> Callable[[int], str]:
    """What stands in front of the chunks of a document: titles, and the header of a table that was cut.

    :param document: The document.
    :param header: As :class:`segmenter.config.ChunkConfig` has it.
    :return: Takes the offset at which a chunk starts.
    """
    name = document.title or document.id or ""

    def at(start: int) -> str:
        text = ""
        if header is not None:
            path = document.path_at(start)
            values = {"document": name, "section": " > ".join(path), "title": path[-1] if path else ""}
            # What parts two titles is not wanted where there is but one.
            text = header.format(**values).strip(_SEPARATORS)
        return (f"{text}\n\n" if text else "") + document.head_at(start)

    return at


def _pages(text: str) -> list[int] | None:
    """Where pages start; None if the text has none."""
    ends = [match.end() for match in _FORM_FEED.finditer(text)]
    return ends or None


def _page(pages: list[int], text: str, start: int) -> int:
    """The page of the first character that is not white space."""
    return 1 + bisect_right(pages, start + len(text) - len(text.lstrip()))
