"""Labelled documents from files, folders and the hub, one at a time."""

import glob
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from segmenter.errors import InputError, first_line
from segmenter.labelled import LabelledDocument, content_hash
from segmenter.reading.files import File, HubDataset, locate
from segmenter.reading.html import read_html
from segmenter.reading.markdown import read_markdown
from segmenter.reading.plain import read_plain
from segmenter.reading.rows import read_line, read_row
from segmenter.reading.underlined import read_rst

__all__ = ["SkippedRow", "read_documents"]

_Read = Callable[[str], LabelledDocument]
"""Reads a row, given a name for the document."""

_WHOLE = {"markdown": read_markdown, "html": read_html, "rst": read_rst, "plain": read_plain}


@dataclass(frozen=True)
class SkippedRow:
    """A row, or a file that is one document, that was passed over.

    :ivar where: ``"FILE, row N"`` or ``"FILE"``; rows count from 1, in JSONL they are the lines.
    :ivar reason: What was got and what was expected.
    """

    where: str
    reason: str


def read_documents(
    sources: Sequence[str | os.PathLike[str]],
    *,
    on_skip: Callable[[SkippedRow], None] | None = None,
    split: str = "train",
) -> Iterator[LabelledDocument]:
    """Read labelled documents.

    That the sources exist is checked at once; they are read while the documents are taken. A document
    without an id of its own is called by its file and row, and by a hash of its text, so that neither where
    the file lies nor how its path is written matters.

    :param sources: Files, folders, glob patterns, or names of data sets on the hub (``owner/name`` or
        ``owner/name:split`` or ``owner/name:config:split``, a plain string). Rows of ``sentences`` with
        ``boundaries`` or ``labels`` come from ``.parquet``, ``.jsonl`` and the hub; a document a file from
        Markdown, HTML, reStructuredText, and plain text with headings or the separators of Choi and
        Wiki-727K.
    :param on_skip: Gets every row that does not fit, which is then passed over. Without it the first one
        is an error.
    :param split: The split of hub data sets whose name has none.
    :return: The documents, in the order of the sources, of files sorted by name and of rows.
    :raises InputError: If a source is not there, is of no known kind or cannot be read.
    :raises InputError: If a row does not fit and there is no ``on_skip``.
    :raises InputError: If the sources have no document at all.
    """
    if isinstance(sources, str | os.PathLike) or not sources:
        raise InputError(f"got sources {sources!r}, expected a list of one or more")
    parts = [part for source in sources for part in locate(source, split)]
    return _read(parts, on_skip)


def _read(
    parts: Sequence[File | HubDataset], on_skip: Callable[[SkippedRow], None] | None
) -> Iterator[LabelledDocument]:
    n_documents = n_skipped = 0
    first_skipped = ""
    for part in parts:
        shown, name, rows = _open(part)
        for row, read in rows:
            where = shown if row is None else f"{shown}, row {row}"
            try:
                document = _named(read, name if row is None else f"{name}:{row}")
            except InputError as error:
                if on_skip is None:
                    raise InputError(f"{where}: {error}") from error
                n_skipped += 1
                first_skipped = first_skipped or f"; the first was {where}: {error}"
                on_skip(SkippedRow(where, str(error)))
            else:
                n_documents += 1
                yield document
    if not n_documents:
        looked_at = ", ".join(_shown(part) for part in parts[:5]) + (", ..." if len(parts) > 5 else "")
        raise InputError(
            f"found no document in {len(parts)} files or data sets ({looked_at}): "
            f"{n_skipped} rows or files were skipped{first_skipped}"
        )


def _named(read: _Read, name: str) -> LabelledDocument:
    """Read a document, whose own id stays; any other gets one that no other text has."""
    document = read(name)
    return replace(document, id=f"{name}#{content_hash(document)[:8]}") if document.id == name else document


def _shown(part: File | HubDataset) -> str:
    return part.shown if isinstance(part, File) else part.name


def _open(part: File | HubDataset) -> tuple[str, str, Iterator[tuple[int | None, _Read]]]:
    """How to call a part in messages and in ids, and its rows."""
    if isinstance(part, HubDataset):
        name = ":".join(filter(None, (part.name, part.config, part.split)))
        return part.name, name, _hub_rows(part)
    rows = {"parquet": _parquet_rows, "jsonl": _lines}.get(part.kind, _whole)
    return part.shown, part.name, rows(part)


def _lines(file: File) -> Iterator[tuple[int, _Read]]:
    # Not by the reader of `datasets`, which gives up a whole file for one bad row.
    try:
        with file.path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if line.strip():
                    yield number, partial(read_line, line)
    except OSError as error:
        raise _unreadable(file, error) from error


def _whole(file: File) -> Iterator[tuple[None, _Read]]:
    try:
        content = file.path.read_bytes()
    except OSError as error:
        raise _unreadable(file, error) from error
    yield None, partial(_WHOLE[file.kind], content)


def _parquet_rows(file: File) -> Iterator[tuple[int, _Read]]:
    # Imported here: reading text needs none of it.
    from datasets import load_dataset

    try:
        # A file at a time, so that errors can name it. Its name is not a pattern.
        rows: Iterable[dict[str, Any]] = load_dataset(
            "parquet", data_files=glob.escape(str(file.path)), split="train", streaming=True
        )
        yield from ((number, partial(read_row, row)) for number, row in enumerate(rows, 1))
    except Exception as error:  # whatever pyarrow and the decoding of a feature raise
        raise _unreadable(file, error) from error


def _hub_rows(dataset: HubDataset) -> Iterator[tuple[int, _Read]]:
    from datasets import load_dataset

    try:
        rows: Iterable[dict[str, Any]] = load_dataset(
            dataset.name, dataset.config, split=dataset.split, streaming=True
        )
        yield from ((number, partial(read_row, row)) for number, row in enumerate(rows, 1))
    except Exception as error:  # the hub's client lets through whatever its transport raises
        raise InputError(
            f"got {dataset.name!r}, which is no file or folder here and could not be had from the hub, "
            f"split {dataset.split!r} ({first_line(error)}); expected a path, or the name of a data set "
            "that is reachable"
        ) from error


def _unreadable(file: File, error: Exception) -> InputError:
    return InputError(f"{file.shown} cannot be read: {first_line(error)}")
