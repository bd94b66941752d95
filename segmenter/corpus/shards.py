"""The files of a run's output: a row a chunk, each shard a file that appears in one go."""

import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from segmenter.corpus.config import CorpusConfig
from segmenter.corpus.documents import Document
from segmenter.document import Chunk
from segmenter.mapping import arrow_fields

if TYPE_CHECKING:
    import pyarrow

__all__ = ["ShardWriter", "chunk_rows", "error_line", "open_shard", "publish", "schema", "write_text"]

_GROUP_CHARACTERS = 16_000_000
_GROUP_ROWS = 100_000
_LEVEL = 3


def schema(config: CorpusConfig, types: "Mapping[str, pyarrow.DataType] | None") -> "pyarrow.Schema":
    """The columns of the output.

    :param config: Says which columns are carried along.
    :param types: Their types; None for strings.
    :return: Their names and types.
    """
    import pyarrow

    fields = arrow_fields()
    fields += [pyarrow.field(name, (types or {}).get(name, pyarrow.string())) for name in config.carry]
    return pyarrow.schema(fields)


def chunk_rows(document: Document, chunks: Sequence[Chunk], carry: Sequence[str]) -> list[dict[str, Any]]:
    """Lay the chunks of a document out as rows.

    :param document: The document.
    :param chunks: Its chunks.
    :param carry: Names of the columns that it carries.
    :return: A row a chunk.
    """
    carried = dict(zip(carry, document.carried, strict=True))
    return [{**chunk.row(), **carried} for chunk in chunks]


class ShardWriter(Protocol):
    """Writes the rows of one shard."""

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add rows.

        :param rows: Values by column.
        """
        ...

    def close(self) -> None:
        """Write what is left."""
        ...


class _ParquetShard:
    def __init__(self, file: io.BufferedWriter, columns: "pyarrow.Schema") -> None:
        from pyarrow import parquet

        self._columns = columns
        self._rows: list[Mapping[str, Any]] = []
        self._characters = 0
        self._writer = parquet.ParquetWriter(file, columns, compression="zstd")

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self._rows += rows
        self._characters += sum(len(row["text"]) + sum(map(len, row["context"].values())) for row in rows)
        if self._characters >= _GROUP_CHARACTERS or len(self._rows) >= _GROUP_ROWS:
            self._flush()

    def close(self) -> None:
        try:
            self._flush()
            self._writer.close()
        finally:
            # Or it would try again where the file is closed already, after a full disk.
            self._writer.is_open = False

    def _flush(self) -> None:
        import pyarrow

        if self._rows:
            self._writer.write_table(pyarrow.Table.from_pylist(self._rows, schema=self._columns))
            self._rows, self._characters = [], 0


class _LineShard:
    def __init__(self, file: io.BufferedWriter, is_packed: bool) -> None:
        self._file: Any = file
        self._end: Callable[[], Any] = file.flush
        if is_packed:
            import zstandard

            self._file = zstandard.ZstdCompressor(level=_LEVEL).stream_writer(file, closefd=False)
            self._end = self._file.close

    def write(self, rows: Sequence[Mapping[str, Any]]) -> None:
        for row in rows:
            self._file.write(json.dumps(row, ensure_ascii=False, default=str).encode("utf-8") + b"\n")

    def close(self) -> None:
        self._end()


def open_shard(file: io.BufferedWriter, config: CorpusConfig, columns: "pyarrow.Schema") -> ShardWriter:
    """Begin a shard.

    :param file: An empty file.
    :param config: Says of which kind.
    :param columns: Its columns.
    :return: Its writer.
    """
    if config.output_format == "parquet":
        return _ParquetShard(file, columns)
    return _LineShard(file, config.output_format == "jsonl.zst")


def error_line(name: str, cause: str) -> str:
    """A line of ``errors.jsonl``.

    :param name: Of the bad document.
    :param cause: Why it is bad.
    :return: The line with its end.
    """
    line = json.dumps({"id": name, "cause": cause}, ensure_ascii=False) + "\n"
    # A cause may quote what no file can hold.
    return line.encode("utf-8", "replace").decode("utf-8")


def publish(partial: Path, final: Path) -> None:
    """Give a whole file its name, so that it is there as a whole or not at all, even after a power cut.

    :param partial: The file, on the same disk, its content written.
    :param final: Its name.
    """
    with partial.open("rb") as file:
        os.fsync(file.fileno())
    partial.replace(final)
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(final.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_text(partial: Path, final: Path, text: str) -> None:
    """Write a small file in one go.

    :param partial: Where it is written.
    :param final: Its name.
    :param text: Its content.
    """
    partial.write_text(text, encoding="utf-8")
    publish(partial, final)
