"""The values that go through the pipeline."""

from bisect import bisect_right
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from segmenter.source_map import SourceMap

__all__ = ["Block", "Chunk", "Context", "Document", "Section", "Sentence", "digest"]


@dataclass(frozen=True, slots=True)
class Section:
    """Where a heading is, or several in a row, and what they are.

    :ivar start: Offset of the first of them.
    :ivar body: Offset of what stands under the last.
    :ivar path: The headings that hold for it, the highest first.
    """

    start: int
    body: int
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """A table, a list or code, which is not cut but where it is too long for a chunk.

    :ivar start: Offset of its first character.
    :ivar end: Offset behind its last.
    :ivar items: Offsets of its rows, items or lines, rising: where it is cut then.
    :ivar head: What is repeated in front of its later parts: the header of a table.
    """

    start: int
    end: int
    items: tuple[int, ...] = ()
    head: str = ""


@dataclass(frozen=True, kw_only=True, slots=True)
class Document:
    """A text and what is known about it.

    :ivar text: All of it.
    :ivar id: Names it in its chunks, and tells their ids from those of other documents.
    :ivar title: What a reader would call it; the id where it has none.
    :ivar sections: Its headings, in order.
    :ivar blocks: What should stay whole, in order, without overlap.
    :ivar paragraphs: Offsets at which paragraphs start, where they are known; None: blank lines say it.
    :ivar source_map: Where its text stands in what it was taken out of; None: it is the source.
    """

    text: str
    id: str | None = None
    title: str | None = None
    sections: tuple[Section, ...] = ()
    blocks: tuple[Block, ...] = ()
    paragraphs: tuple[int, ...] | None = None
    source_map: SourceMap | None = None

    def path_at(self, offset: int) -> tuple[str, ...]:
        """The headings that a place stands under.

        :param offset: The place, in characters.
        :return: The highest first.
        """
        number = bisect_right(self.sections, offset, key=lambda section: section.start)
        return self.sections[number - 1].path if number else ()

    def head_at(self, offset: int) -> str:
        """What is to be repeated in front of a chunk that starts inside a block.

        :param offset: Where it starts.
        :return: The header of the table; empty where there is none, or it is in the chunk.
        """
        number = bisect_right(self.blocks, offset, key=lambda block: block.start)
        block = self.blocks[number - 1] if number else None
        return block.head if block and block.start < offset < block.end else ""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence and the white space behind it.

    :ivar text: Exactly ``document[start:end]``.
    :ivar start: Offset of its first character in the document, in code points.
    :ivar end: Offset behind its last character.
    :ivar starts_paragraph: Whether a blank line stands before it.
    """

    text: str
    start: int
    end: int
    starts_paragraph: bool = False


@dataclass(frozen=True, slots=True)
class Context:
    """What an embedder gets to see beside the text of a chunk.

    :ivar header: Titles in front.
    :ivar before: Exactly what stands in the document right before the chunk.
    :ivar after: Exactly what stands right behind it.
    """

    header: str = ""
    before: str = ""
    after: str = ""

    def __bool__(self) -> bool:
        return bool(self.header or self.before or self.after)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document; where a model cut it, neighbouring sentences about one topic.

    :ivar text: Exactly ``document[start:end]``; the chunks of a document, joined, are the document.
    :ivar start: Offset of its first character in the document, in code points.
    :ivar end: Offset behind its last character.
    :ivar token_count: Where sizes were asked for in tokens, those of ``embed_text`` by the tokenizer that was
        named, special tokens included; else those of its sentences by the checkpoint's tokenizer, without
        special tokens; 0 where no tokenizer was needed.
    :ivar index: Its number in the document, from 0.
    :ivar probability: P(boundary) of the gap that opens it, 0 to 1; None where no model was asked: for the
        first chunk, inside a sentence, and in fixed-size cuts.
    :ivar section: The headings it stands under, the highest first; empty where they are not known.
    :ivar page: The page its text begins on, from 1; None in a document without form feeds.
    :ivar document_id: The document's.
    :ivar context: What was added to it for the embedder.
    :ivar fingerprint: Of the settings that cut it: other settings, another fingerprint. Hexadecimal.
    :ivar source_start: Offset of its first character in what the document's text was taken out of, such as an
        HTML file with its tags; ``start`` where the text is the source, or if left out.
    :ivar source_end: Offset behind its last character there.
    """

    text: str
    start: int
    end: int
    token_count: int
    index: int
    probability: float | None = None
    section: tuple[str, ...] = ()
    page: int | None = None
    document_id: str | None = None
    context: Context = Context()
    fingerprint: str = ""
    source_start: int = -1
    source_end: int = -1

    def __post_init__(self) -> None:
        if self.source_start < 0:
            object.__setattr__(self, "source_start", self.start)
        if self.source_end < 0:
            object.__setattr__(self, "source_end", self.end)

    @property
    def embed_text(self) -> str:
        """What goes to an embedder: the text between its context."""
        return self.context.header + self.context.before + self.text + self.context.after

    @property
    def title(self) -> str | None:
        """The heading it stands under, where one is known."""
        return self.section[-1] if self.section else None

    @property
    def id(self) -> str:
        """Names it: the same document, place and embedded text, the same id. 32 hexadecimal digits."""
        return digest(self.document_id, self.start, self.end, self.embed_text)

    def row(self) -> dict[str, Any]:
        """All of it as plain values: a line of JSON, a row of a table.

        :return: A value for each of :data:`segmenter.mapping.CHUNK_COLUMNS`, in their order.
        """
        context = {"header": self.context.header, "before": self.context.before, "after": self.context.after}
        return {
            "doc_id": self.document_id,
            "chunk_index": self.index,
            "start": self.start,
            "end": self.end,
            "text": self.text,
            "token_count": self.token_count,
            "probability": self.probability,
            "title": self.title,
            "section": list(self.section),
            "page": self.page,
            "context": context,
            "chunk_id": self.id,
            "fingerprint": self.fingerprint,
            "source_start": self.source_start,
            "source_end": self.source_end,
        }


def digest(*values: object) -> str:
    """Tell values from others, the same on every machine.

    :param *values: Plain values: their ``repr`` says all of them.
    :return: 32 hexadecimal digits.
    """
    return sha256(repr(values).encode("utf-8", "surrogatepass")).hexdigest()[:32]
