"""From a row of a data set to a labelled document."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from segmenter.errors import InputError
from segmenter.labelled import LabelledDocument
from segmenter.reading.sections import require_a_gap

__all__ = ["read_line", "read_object", "read_row"]

_COLUMNS_SHOWN = 10


def read_line(line: bytes, name: str) -> LabelledDocument:
    """Read a line of a JSONL file.

    :param line: A JSON object in UTF-8, a row as in :func:`read_row`.
    :param name: Names the document if the row does not.
    :return: The document.
    :raises InputError: If it is none.
    """
    return read_row(read_object(line), name)


def read_object(line: bytes) -> dict[str, Any]:
    """Read a line of a JSONL file, whatever its columns are.

    :param line: A JSON object in UTF-8.
    :return: The object.
    :raises InputError: If it is none.
    """
    try:
        row = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise InputError(f"got byte 0x{line[error.start]:02x} at {error.start}, expected UTF-8") from error
    except (ValueError, RecursionError) as error:  # also numbers too long and lists too deep
        raise InputError(f"got no JSON ({error}), expected an object a line") from error
    if not isinstance(row, dict):
        raise InputError(f"got JSON of type {type(row).__name__}, expected an object a line")
    return row


def read_row(row: Mapping[str, Any], name: str) -> LabelledDocument:
    """Read a row.

    :param row: ``sentences``, and ``boundaries`` or ``labels``: 1 for a sentence that ends a section, 0
        for another. Perhaps ``id``, ``paragraphs``, ``titles`` and ``levels``. Null is the same as nothing.
    :param name: Names the document if the row does not.
    :return: The document.
    :raises InputError: If columns are missing or do not fit, or it has fewer than two sentences.
    """
    row = {column: value for column, value in row.items() if value is not None}
    if "sentences" not in row or ("boundaries" in row) == ("labels" in row):
        columns = ", ".join(list(row)[:_COLUMNS_SHOWN]) or "no values"
        raise InputError(f"got {columns}; expected sentences and either boundaries or labels")
    sentences = row["sentences"]
    if not isinstance(sentences, list):
        raise InputError(f"got sentences of type {type(sentences).__name__}, expected a list of strings")
    document = LabelledDocument(
        _id(row.get("id", name)),
        sentences,
        row["boundaries"] if "boundaries" in row else _boundaries(row["labels"], len(sentences)),
        _paragraphs(row.get("paragraphs")),
        row.get("titles"),
        row.get("levels"),
    )
    require_a_gap(sentences)
    return document


def _id(value: Any) -> Any:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _paragraphs(values: Any) -> Any:
    """Drop the first sentence, which some say starts a paragraph. Not False: flags are no numbers."""
    if isinstance(values, list) and values and values[0] == 0 and not isinstance(values[0], bool):
        return values[1:]
    return values


def _boundaries(labels: Any, n_sentences: int) -> Sequence[int]:
    """Turn labels of last sentences into numbers of first ones."""
    if not isinstance(labels, list):
        raise InputError(f"got labels of type {type(labels).__name__}, expected a list of 0 and 1")
    if len(labels) != n_sentences:
        raise InputError(f"got {len(labels)} labels, expected {n_sentences}: one a sentence")
    for number, label in enumerate(labels):
        if not isinstance(label, int) or label not in (0, 1):
            raise InputError(f"got label {label!r} of sentence {number}, expected 1 (it ends a section) or 0")
    return [number for number, label in enumerate(labels[:-1], 1) if label]
