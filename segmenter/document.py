"""The values that go through the pipeline."""

from dataclasses import dataclass

__all__ = ["Chunk", "Sentence"]


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
class Chunk:
    """Neighbouring sentences about one topic.

    :ivar text: Exactly ``document[start:end]``; the chunks of a document, joined, are the document.
    :ivar start: Offset of its first character in the document, in code points.
    :ivar end: Offset behind its last character.
    :ivar token_count: Tokens of its sentences by the checkpoint's tokenizer, special tokens not
        counted.
    :ivar index: Its number in the document, from 0.
    :ivar probability: P(boundary) of the gap that opens it, 0 to 1; None for the first chunk.
    :ivar title: The heading of its section, where one is known.
    """

    text: str
    start: int
    end: int
    token_count: int
    index: int
    probability: float | None = None
    title: str | None = None
