"""What the frameworks are told of a chunk beside its text."""

from collections.abc import Iterable
from typing import Any

from segmenter.document import Chunk

__all__ = ["inked", "metadata_of"]


def metadata_of(chunk: Chunk) -> dict[str, Any]:
    """Where a chunk is from, as plain values.

    :param chunk: The chunk.
    :return: ``start_index`` and ``end_index`` of its own text, ``chunk_index``, ``chunk_id`` and
        ``fingerprint``; ``section`` and ``page`` where they are known, ``context_before`` and
        ``context_header``, the characters in front of its own text, where there are any.
    """
    found: dict[str, Any] = {
        "start_index": chunk.start,
        "end_index": chunk.end,
        "chunk_index": chunk.index,
        "chunk_id": chunk.id,
        "fingerprint": chunk.fingerprint,
    }
    if chunk.section:
        found["section"] = " > ".join(chunk.section)
    if chunk.page is not None:
        found["page"] = chunk.page
    if chunk.context.before:
        found["context_before"] = len(chunk.context.before)
    if chunk.context.header:
        found["context_header"] = len(chunk.context.header)
    return found


def inked(chunks: Iterable[Chunk]) -> list[Chunk]:
    """Leave out blank chunks, such as that of a blank page, which embedders refuse.

    :param chunks: The chunks of a document.
    :return: Those that have more than white space.
    """
    return [chunk for chunk in chunks if chunk.text.strip()]
