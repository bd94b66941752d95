"""Reads the parts of an input, bytes first: line ends stay, and one bad document costs no other."""

import csv
import gzip
import io
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import IO, TYPE_CHECKING, Any

from segmenter.corpus.config import CorpusConfig
from segmenter.corpus.documents import RawDocument, decode, too_long
from segmenter.corpus.parts import Part
from segmenter.errors import InputError, first_line

if TYPE_CHECKING:
    import pyarrow
    from datasets import IterableDataset

__all__ = ["Stream", "carried_types"]

_PIECE = 1 << 20
_ROWS_AT_ONCE = 256


class Stream:
    """The documents of an input, one after the other; some may be passed over.

    :param parts: The input.
    :param config: How to read it.
    :param types: Arrow types of the columns to carry, by name, if they have any.
    """

    def __init__(
        self, parts: Sequence[Part], config: CorpusConfig, types: "dict[str, pyarrow.DataType] | None" = None
    ) -> None:
        self._parts = iter(parts)
        self._config = config
        self._types = types
        self._begun = 0
        self._current: Iterator[RawDocument] = iter(())

    def __iter__(self) -> Iterator[RawDocument]:
        return self

    def __next__(self) -> RawDocument:
        while True:
            found = next(self._current, None)
            if found is not None:
                return found
            self._open(next(self._parts))

    def skip(self, count: int) -> int:
        """Pass documents over, where it can be without reading them.

        :param count: How many.
        :return: How many there were.
        """
        left = count - _consume(self._current, count)
        while left:
            part = next(self._parts, None)
            if part is None:
                break
            rows = _count(part)
            if rows is not None and rows <= left:
                self._begun += part.size
                left -= rows
            else:
                self._open(part)
                left -= _consume(self._current, left)
        return count - left

    def _open(self, part: Part) -> None:
        self._current = _read(part, self._config, self._begun, self._types)
        self._begun += part.size


def carried_types(parts: Sequence[Part], config: CorpusConfig) -> "dict[str, pyarrow.DataType] | None":
    """The types of the columns to carry, where the whole input has types.

    :param parts: The input.
    :param config: Says which columns.
    :return: Types by name, those of the first part; or None: they become strings.
    :raises InputError: If a column is missing.
    """
    if not config.carry or not all(part.has_types for part in parts):
        return None
    table = next(_tables(parts[0], config.carry), None)
    return {name: table.schema.field(name).type for name in config.carry} if table is not None else None


def _consume(values: Iterator[Any], count: int) -> int:
    return sum(1 for _ in islice(values, count))


def _count(part: Part) -> int | None:
    """How many documents a part has, where that is known without reading it."""
    if part.kind == "text":
        return 1
    if part.kind != "parquet" or not part.is_local:
        return None
    from pyarrow import ArrowException, parquet

    try:
        return int(parquet.read_metadata(part.where).num_rows)
    except (OSError, ArrowException):
        return None  # It will be said when it is read.


def _read(
    part: Part, config: CorpusConfig, begun: int, types: "dict[str, pyarrow.DataType] | None"
) -> Iterator[RawDocument]:
    if part.has_types:
        yield from _rows(part, config, begun, types)
        return
    read = {"text": _whole, "jsonl": _lines, "csv": _cells, "tsv": _cells}[part.kind]
    kind: Any = {"text": "text", "jsonl": "line"}.get(part.kind, "row")
    behind = ""
    try:
        with _opened(part) as (stream, tell):
            for name, content in read(stream, part, config):
                yield RawDocument(name, kind, content, begun + tell())
                behind = f" behind {name}"
    except Exception as error:  # what a file system, gzip and zstandard raise
        if isinstance(error, InputError):
            raise
        if not part.is_local:
            raise InputError(f"cannot read {part.where}: {first_line(error)}; try again") from error
        # A file that is damaged costs itself, not the run.
        cause = InputError(f"cannot read {part.where}{behind}: {first_line(error)}")
        yield RawDocument(part.name, "row", cause, begun + part.size)


class _opened:  # noqa: N801 (a context manager that reads like a function)
    """The bytes of a part, unpacked, and how many of its own were read."""

    def __init__(self, part: Part) -> None:
        self._part = part

    def __enter__(self) -> tuple[Any, Callable[[], int]]:
        if self._part.is_local:
            raw: IO[bytes] = open(self._part.where, "rb")  # noqa: PTH123
        else:
            from fsspec.core import url_to_fs

            system, path = url_to_fs(self._part.where)
            raw = system.open(path, "rb")
        self._raw = raw
        name = self._part.where.lower()
        if name.endswith(".gz"):
            return gzip.GzipFile(fileobj=raw), raw.tell
        if name.endswith(".zst"):
            import zstandard

            unpacked = zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True)
            return io.BufferedReader(unpacked, _PIECE), raw.tell
        return raw, raw.tell

    def __exit__(self, *_: object) -> None:
        self._raw.close()


def _whole(stream: IO[bytes], part: Part, config: CorpusConfig) -> Iterator[tuple[str, bytes | InputError]]:
    content = stream.read(config.max_document_bytes + 1)
    if len(content) > config.max_document_bytes:
        yield part.name, too_long(f"more than {config.max_document_bytes} bytes", config)
    else:
        yield part.name, content


def _lines(stream: IO[bytes], part: Part, config: CorpusConfig) -> Iterator[tuple[str, bytes | InputError]]:
    number = 0
    while line := stream.readline(config.max_document_bytes + 1):
        number += 1
        size = len(line)
        if size > config.max_document_bytes and not line.endswith(b"\n"):
            # The rest of it, in pieces.
            while piece := stream.readline(_PIECE):
                size += len(piece)
                if piece.endswith(b"\n"):
                    break
            if size > config.max_document_bytes + 1:
                yield f"{part.name}:{number}", too_long(f"a line of {size - 1} bytes", config)
                continue
        if line.strip():
            yield f"{part.name}:{number}", line


def _cells(
    stream: IO[bytes], part: Part, config: CorpusConfig
) -> Iterator[tuple[str, dict[str, Any] | InputError]]:
    # Not by the reader of `datasets`, which makes 7 of an id 007, null of a text NA, and gives up a whole
    # file for one bad row. Latin-1 keeps bytes as they are, so that each cell is decoded for itself.
    csv.field_size_limit(config.max_document_bytes)
    text = io.TextIOWrapper(stream, encoding="latin-1", newline="")
    try:
        yield from _csv_rows(csv.reader(text, delimiter="\t" if part.kind == "tsv" else ","), part, config)
    finally:
        text.detach()  # The file is closed by whoever opened it.


def _csv_rows(
    rows: Iterator[list[str]], part: Part, config: CorpusConfig
) -> Iterator[tuple[str, dict[str, Any] | InputError]]:
    header = [decode(name.encode("latin-1")) for name in next(rows, [])]
    if header and config.text_column not in header:
        raise _no_column(part, config.text_column, header)
    number = 0
    while True:
        number += 1
        name = f"{part.name}:{number}"
        try:
            row = next(rows, None)
        except csv.Error as error:
            # Where a cell has no end the rows behind it are not to be trusted.
            yield name, InputError(f"{first_line(error)}; the rest of {part.where} is not read")
            return
        if row is None:
            return
        if len(row) == len(header):
            yield name, {column: _cell(value) for column, value in zip(header, row, strict=True)}
        elif row:
            yield name, InputError(f"got {len(row)} cells, expected {len(header)}; quote what has commas")


def _cell(value: str) -> str | InputError:
    try:
        return decode(value.encode("latin-1"))
    except InputError as error:
        return error


def _rows(
    part: Part, config: CorpusConfig, begun: int, types: "dict[str, pyarrow.DataType] | None"
) -> Iterator[RawDocument]:
    """Documents of a part that has types."""
    expected = _count(part)
    number = 0
    names = (config.text_column, *config.carry)
    try:
        for table in _tables(part, names, (config.id_column, config.title_column)):
            _check_types(table, types, part)
            columns = [_values(table.column(name)) for name in table.column_names]
            for row in zip(*columns, strict=True):
                number += 1
                position = part.size * number // expected if expected else 0
                content = dict(zip(table.column_names, row, strict=True))
                yield RawDocument(f"{part.name}:{number}", "row", content, begun + position)
    except InputError:
        raise
    except Exception as error:  # whatever pyarrow, datasets and the hub's client raise
        if not part.is_local:
            raise InputError(f"cannot read {part.where}: {first_line(error)}; try again") from error
        # As many as it should have had, so that the shards behind it stay what they are.
        cause = InputError(f"cannot read {part.where} behind row {number}: {first_line(error)}")
        for lost in range(number + 1, max(number + 1, expected or 0) + 1):
            yield RawDocument(f"{part.name}:{lost}", "row", cause, begun + part.size)


def _tables(part: Part, names: Sequence[str], others: Sequence[str] = ()) -> "Iterator[pyarrow.Table]":
    """Some rows at a time, of the columns that count and of others, if they are there."""
    data = _streamed(part)
    known = data.column_names or list(next(iter(data), {}))
    missing = [name for name in names if name not in known]
    if missing and known:
        raise _no_column(part, missing[0], known)
    data = data.select_columns([name for name in dict.fromkeys((*names, *others)) if name in known])
    yield from data.with_format("arrow").iter(batch_size=_ROWS_AT_ONCE)


def _streamed(part: Part) -> "IterableDataset":
    import glob

    from datasets import load_dataset

    if part.kind == "hub":
        return load_dataset(
            part.where, part.config, split=part.split, revision=part.version or None, streaming=True
        )
    # A file at a time, so that errors can name it. Its name is not a pattern.
    return load_dataset(part.kind, data_files=glob.escape(part.where), split="train", streaming=True)


def _check_types(table: "pyarrow.Table", types: "dict[str, pyarrow.DataType] | None", part: Part) -> None:
    for name, expected in (types or {}).items():
        found = table.schema.field(name).type
        if found != expected:
            raise InputError(
                f"got a column {name} of type {found} in {part.where}, expected {expected} as in the first "
                "file"
            )


def _values(column: "pyarrow.ChunkedArray") -> list[Any]:
    try:
        return list(column.to_pylist())
    except Exception:  # bytes that are no UTF-8, numbers that Python cannot hold
        return [_value(cell) for cell in column]


def _value(cell: Any) -> Any:
    try:
        return cell.as_py()
    except Exception as error:  # the same, for this row alone
        return InputError(f"got a value that cannot be read: {first_line(error)}")


def _no_column(part: Part, name: str, known: Sequence[str]) -> InputError:
    return InputError(
        f"got columns {', '.join(known)} in {part.where}, expected one named {name}; name yours with "
        "text_column, id_column and carry (--text-column, --id-column, --carry)"
    )
