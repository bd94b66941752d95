"""Chunks as rows: their columns, for ``datasets`` and for files."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from segmenter.config import ChunkConfig
from segmenter.counting import Counter, TextTokenizer
from segmenter.document import Chunk, Document
from segmenter.errors import InputError
from segmenter.markup import Markup, language_of, read_markup
from segmenter.segmentation import Segmentation

if TYPE_CHECKING:
    import pyarrow
    from datasets import Features

__all__ = ["CHUNK_COLUMNS", "ChunkMap", "arrow_fields"]

CHUNK_COLUMNS: dict[str, Any] = {
    "doc_id": "string",
    "chunk_index": "int32",
    "start": "int64",
    "end": "int64",
    "text": "string",
    "token_count": "int32",
    "probability": "float32",
    "title": "string",
    "section": ["string"],
    "page": "int32",
    "context": {"header": "string", "before": "string", "after": "string"},
    "chunk_id": "string",
    "fingerprint": "string",
    "source_start": "int64",
    "source_end": "int64",
}
"""Columns of :meth:`segmenter.Chunk.row`, and their types as Arrow names them: for a list that of its values,
for an object those of its members."""


def arrow_fields() -> "list[pyarrow.Field]":
    """The columns of a chunk, for Arrow and parquet.

    :return: Names and types.
    """
    import pyarrow

    return [pyarrow.field(name, _arrow_type(kind)) for name, kind in CHUNK_COLUMNS.items()]


def _arrow_type(kind: Any) -> "pyarrow.DataType":
    import pyarrow

    if isinstance(kind, list):
        return pyarrow.list_(_arrow_type(kind[0]))
    if isinstance(kind, dict):
        return pyarrow.struct([(name, _arrow_type(member)) for name, member in kind.items()])
    return pyarrow.type_for_alias(kind)


class _Segments(Protocol):
    def segment_many(
        self,
        texts: Iterable[str | Document],
        *,
        chunks: ChunkConfig | None = None,
        tokenizer: TextTokenizer | None = None,
    ) -> Iterator[Segmentation]: ...


@dataclass(frozen=True)
class ChunkMap:
    """A function for ``datasets``; :meth:`segmenter.Segmenter.as_map` makes it.

    :ivar segmenter: Does the work.
    :ivar chunks: How to cut.
    :ivar counter: Counts the tokens that its sizes are in.
    :ivar text_column: Column with the texts.
    :ivar id_column: Column with an id a row.
    :ivar title_column: Column with a title a row.
    :ivar markup: What the texts are written in.
    :ivar flatten: Whether to give a row a chunk.
    """

    segmenter: _Segments
    chunks: ChunkConfig | None = None
    counter: Counter | None = None
    text_column: str = "text"
    id_column: str = "id"
    title_column: str = "title"
    markup: Markup = "auto"
    flatten: bool = False

    def __call__(
        self, batch: Mapping[str, Sequence[Any]], numbers: Sequence[int] | None = None
    ) -> dict[str, list[Any]]:
        """Segment the texts of a batch of rows.

        What a chunk has not is NaN, 0 or ``""``, so that the first batch shows the types of all.

        :param batch: Values by column.
        :param numbers: Of the rows, which name them if there is no id column: ``with_indices=True``.
        :return: ``chunks``, a list a row, or null for a null text; or the columns of a row a chunk.
        :raises InputError: If a column is missing, or a text is not a string.
        """
        texts = _column(batch, self.text_column)
        ids = self._ids(batch, numbers, len(texts))
        titles = batch.get(self.title_column, [None] * len(texts))
        documents = [
            self._document(text, _string(name), _string(title))
            for text, name, title in zip(texts, ids, titles, strict=True)
            if text is not None
        ]
        results = self.segmenter.segment_many(documents, chunks=self.chunks, tokenizer=self.counter)
        rows = [None if text is None else [_typed(chunk) for chunk in next(results).chunks] for text in texts]
        if self.flatten:
            flat = [row for found in rows for row in found or ()]
            return {name: [row[name] for row in flat] for name in CHUNK_COLUMNS}
        for row in (row for found in rows for row in found or ()):
            del row["doc_id"]  # The id, if there is one, stands beside the list.
        return {"chunks": rows}

    def features(self, before: "Features") -> "Features":
        """The types of the result, for ``map(..., features=...)``.

        They are needed where no text of the first batch has a chunk.

        :param before: Those of the data set.
        :return: The types of its columns and of ``chunks``; or those of a row a chunk.
        """
        import pyarrow
        from datasets import Features, List

        columns = Features.from_arrow_schema(pyarrow.schema(arrow_fields()))
        if self.flatten:
            return columns
        return Features({**before, "chunks": List({name: columns[name] for name in list(columns)[1:]})})

    def _document(self, text: str, name: str | None, title: str | None) -> Document:
        # What is no string is told by whoever splits it.
        markup = self.markup if isinstance(text, str) else "plain"
        return read_markup(text, language_of(name, markup, is_file=False), id=name, title=title)

    def _ids(
        self, batch: Mapping[str, Sequence[Any]], numbers: Sequence[int] | None, count: int
    ) -> Sequence[Any]:
        if self.id_column in batch:
            return batch[self.id_column]
        if numbers is not None:
            return numbers
        if self.flatten:
            _column(batch, self.id_column, "; or give with_indices=True, which numbers the rows")
        return [None] * count


def _typed(chunk: Chunk) -> dict[str, Any]:
    row = chunk.row()
    row["probability"] = math.nan if chunk.probability is None else chunk.probability
    row["title"], row["page"] = chunk.title or "", chunk.page or 0
    return row


def _string(value: Any) -> str | None:
    return None if value is None else str(value)


def _column(batch: Mapping[str, Sequence[Any]], name: str, otherwise: str = "") -> Sequence[Any]:
    if name not in batch:
        raise InputError(f"got columns {', '.join(batch)}; expected one named {name}{otherwise}")
    return batch[name]
