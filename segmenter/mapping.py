"""Chunks as rows: for ``datasets`` and for files."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from segmenter.document import Chunk
from segmenter.errors import InputError
from segmenter.segmentation import Segmentation

if TYPE_CHECKING:
    from datasets import Features

__all__ = ["CHUNK_COLUMNS", "ChunkMap", "chunk_row"]

CHUNK_COLUMNS = {
    "chunk_index": "int32",
    "start": "int64",
    "end": "int64",
    "text": "string",
    "token_count": "int32",
    "probability": "float32",
    "title": "string",
}
"""Columns of a chunk, and their types as ``datasets`` and Arrow name them."""


class _Segments(Protocol):
    def segment_many(self, texts: Iterable[str]) -> Iterator[Segmentation]: ...


def chunk_row(chunk: Chunk) -> dict[str, Any]:
    """Lay a chunk out as a row.

    :param chunk: The chunk.
    :return: A value for each of ``CHUNK_COLUMNS``.
    """
    return {
        "chunk_index": chunk.index,
        "start": chunk.start,
        "end": chunk.end,
        "text": chunk.text,
        "token_count": chunk.token_count,
        "probability": chunk.probability,
        "title": chunk.title,
    }


@dataclass(frozen=True)
class ChunkMap:
    """A function for ``datasets``; :meth:`segmenter.Segmenter.as_map` makes it.

    :ivar segmenter: Does the work.
    :ivar text_column: Column with the texts.
    :ivar id_column: Column with an id a row.
    :ivar flatten: Whether to give a row a chunk.
    """

    segmenter: _Segments
    text_column: str = "text"
    id_column: str = "id"
    flatten: bool = False

    def __call__(
        self, batch: Mapping[str, Sequence[Any]], numbers: Sequence[int] | None = None
    ) -> dict[str, list[Any]]:
        """Segment the texts of a batch of rows.

        What a chunk has not is NaN or ``""``, so that the first batch shows the types of all.

        :param batch: Values by column.
        :param numbers: Of the rows, which name them if there is no id column: ``with_indices=True``.
        :return: ``chunks``, a list a row, or null for a null text; or the columns of a row a chunk.
        :raises InputError: If a column is missing, or a text is not a string.
        """
        texts = _column(batch, self.text_column)
        results = self.segmenter.segment_many([text for text in texts if text is not None])
        rows = [None if text is None else [_typed(chunk) for chunk in next(results).chunks] for text in texts]
        if not self.flatten:
            return {"chunks": rows}
        if numbers is None or self.id_column in batch:
            ids = _column(batch, self.id_column, "; or give with_indices=True, which numbers the rows")
        else:
            ids = numbers
        flat = [
            {"doc_id": str(name), **row} for name, found in zip(ids, rows, strict=True) for row in found or ()
        ]
        return {name: [row[name] for row in flat] for name in ("doc_id", *CHUNK_COLUMNS)}

    def features(self, before: "Features") -> "Features":
        """The types of the result, for ``map(..., features=...)``.

        They are needed where no text of the first batch has a chunk.

        :param before: Those of the data set.
        :return: The types of its columns and of ``chunks``; or those of a row a chunk.
        """
        from datasets import Features, List, Value

        columns = {name: Value(kind) for name, kind in CHUNK_COLUMNS.items()}
        if self.flatten:
            return Features({"doc_id": Value("string"), **columns})
        return Features({**before, "chunks": List(columns)})


def _typed(chunk: Chunk) -> dict[str, Any]:
    probability = math.nan if chunk.probability is None else chunk.probability
    return chunk_row(chunk) | {"probability": probability, "title": chunk.title or ""}


def _column(batch: Mapping[str, Sequence[Any]], name: str, otherwise: str = "") -> Sequence[Any]:
    if name not in batch:
        raise InputError(f"got columns {', '.join(batch)}; expected one named {name}{otherwise}")
    return batch[name]
