"""From what was read to a document, or to the reason why it is none."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from segmenter.corpus.config import CorpusConfig
from segmenter.document import Document as Source
from segmenter.errors import InputError
from segmenter.markup import Language, language_of, read_markup
from segmenter.reading.rows import read_object
from segmenter.tokenizing import replace_surrogates

__all__ = ["BadDocument", "Document", "RawDocument", "parse"]

_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class RawDocument:
    """A document as it was found, bytes first.

    :ivar default_id: Names it if it does not itself: its file and place.
    :ivar kind: ``"text"``: bytes of a text file; ``"line"``: of a JSONL file; ``"row"``: values by column.
    :ivar content: Accordingly; or, for any kind and any value of a row, why it could not be had.
    :ivar position: Bytes of the whole input up to its end; 0 if that is not known.
    """

    default_id: str
    kind: Literal["text", "line", "row"]
    content: bytes | Mapping[str, Any] | InputError
    position: int = 0

    @property
    def weight(self) -> int:
        """About how many bytes it holds."""
        if isinstance(self.content, Mapping):
            return sum(len(value) for value in self.content.values() if isinstance(value, (str, bytes)))
        return len(self.content) if isinstance(self.content, bytes) else 0


@dataclass(frozen=True, slots=True)
class Document:
    """A document to cut.

    :ivar id: Names it.
    :ivar text: Any string that can be written to a file.
    :ivar title: What a reader would call it, if that is known.
    :ivar language: What the text is written in.
    :ivar carried: A value for each column to carry.
    """

    id: str
    text: str
    title: str | None = None
    language: Language = "plain"
    carried: tuple[Any, ...] = ()

    def source(self) -> Source:
        """What cutters take.

        :return: The document, its structure known if there is any.
        """
        return read_markup(self.text, self.language, id=self.id, title=self.title)


@dataclass(frozen=True, slots=True)
class BadDocument:
    """What is not segmented.

    :ivar id: Names it.
    :ivar cause: Why, for people to read.
    """

    id: str
    cause: str


def parse(raw: RawDocument, config: CorpusConfig, keep_types: bool = False) -> Document | BadDocument:
    """Make a document of what was read.

    :param raw: What was read.
    :param config: Which columns count, and what is too long.
    :param keep_types: Whether carried values stay as they are; else they become strings.
    :return: The document, or why it is none.
    """
    name = _writable(raw.default_id)
    try:
        if isinstance(raw.content, InputError):
            raise raw.content
        if raw.kind == "text":
            assert isinstance(raw.content, bytes)
            text = _checked(raw.content, config)
            language = language_of(name, config.markup)
            return Document(name, text, language=language, carried=(None,) * len(config.carry))
        row = read_object(raw.content) if isinstance(raw.content, bytes) else raw.content
        name = _id(row.get(config.id_column), name)
        if config.text_column not in row:
            columns = ", ".join(list(row)[:10]) or "no columns"
            raise InputError(f"got {columns}, expected a column {config.text_column}")
        text = _checked(row[config.text_column], config)
        title = _carried(row.get(config.title_column), False, config)
        carried = tuple(_carried(row.get(column), keep_types, config) for column in config.carry)
    except InputError as error:
        return BadDocument(name, str(error))
    return Document(name, text, title or None, language_of(name, config.markup, is_file=False), carried)


def _id(value: Any, default: str) -> str:
    """The id of a row, if it has one; else its place."""
    if isinstance(value, InputError):
        raise value
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InputError(f"got an id of type {type(value).__name__}, expected a string or a whole number")
    return _writable(str(value))


def _checked(value: Any, config: CorpusConfig) -> str:
    """A text, if it is one and can be written."""
    if isinstance(value, InputError):
        raise value
    if value is None:
        raise InputError("got null, expected a text")
    if isinstance(value, bytes):
        value = decode(value)
    if not isinstance(value, str):
        raise InputError(f"got a {type(value).__name__}, expected a text")
    # A character has up to four bytes.
    if len(value) > config.max_document_bytes // 4 and len(value.encode("utf-8", "surrogatepass")) > (
        config.max_document_bytes
    ):
        raise too_long(f"{len(value)} characters", config)
    return _without_surrogates(value, config)


def _carried(value: Any, keep_types: bool, config: CorpusConfig) -> Any:
    """A value to carry along: as it is, or as a string, JSON if it was none."""
    if isinstance(value, InputError):
        raise value
    if value is None or (keep_types and not isinstance(value, str)):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return _without_surrogates(text, config)


def _without_surrogates(text: str, config: CorpusConfig) -> str:
    found = _SURROGATE.search(text)
    if found is None:
        return text
    if config.replace_surrogates:
        return replace_surrogates(text)
    raise InputError(
        f"got a lone surrogate, U+{ord(found[0]):04X} at {found.start()}, which no file can hold; "
        "replace_surrogates (--replace-surrogates) puts U+FFFD in its place"
    )


def _writable(name: str) -> str:
    """A name as a file can hold it, other names staying others."""
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def decode(content: bytes) -> str:
    """Decode UTF-8, a byte order mark left out, line ends as they are.

    :param content: Bytes.
    :return: The text.
    :raises InputError: If they are something else.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"got byte 0x{content[error.start]:02x} at {error.start}, expected UTF-8") from error


def too_long(what: str, config: CorpusConfig) -> InputError:
    """What is said of a document that is too long.

    :param what: Its length.
    :param config: Says how long it may be.
    :return: The error.
    """
    return InputError(
        f"got {what}, expected {config.max_document_bytes} bytes or fewer; cut it up, or raise "
        "max_document_bytes (--max-megabytes)"
    )
