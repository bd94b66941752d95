"""From sections to a labelled document: what every format with headings has in common."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from segmenter.errors import InputError
from segmenter.labelled import LabelledDocument
from segmenter.sentences import SentencexSplitter, split_sentences

__all__ = ["Heading", "Section", "cut", "decode", "join", "require_a_gap", "split_lines"]

# Not str.splitlines, which also ends lines at form feeds and U+2028.
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")


@dataclass(frozen=True, slots=True)
class Heading:
    """Where a heading is.

    :ivar start: Number of its first line, from 0.
    :ivar end: Number of the line after its last one.
    :ivar level: 1 the highest.
    :ivar title: Its text.
    """

    start: int
    end: int
    level: int
    title: str


@dataclass(frozen=True, slots=True)
class Section:
    """What stands under one heading, up to the next heading of any level.

    :ivar title: The heading; ``""`` for what stands before any.
    :ivar level: Its level, 1 the highest.
    :ivar sentences: None of them blank.
    :ivar paragraphs: Numbers of those that start a paragraph, from 0, rising.
    """

    title: str
    level: int
    sentences: Sequence[str]
    paragraphs: Sequence[int] = ()

    @classmethod
    def from_text(cls, title: str, level: int, text: str) -> "Section":
        """Split the text of a section as the text of a document is split.

        :param title: The heading.
        :param level: Its level.
        :param text: All that stands under it.
        :return: The section; its first sentence starts a paragraph.
        """
        spans = [span for span in split_sentences(text, SentencexSplitter()) if span.text.strip()]
        starts = [number for number, span in enumerate(spans) if span.starts_paragraph or not number]
        return cls(title, level, [span.text.strip() for span in spans], starts)


def decode(content: bytes) -> str:
    """Decode a text file.

    :param content: UTF-8, with or without a byte order mark.
    :return: The text.
    :raises InputError: If it is not UTF-8.
    """
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(
            f"got byte 0x{content[error.start]:02x} at {error.start}, expected UTF-8: {error.reason}"
        ) from error


def split_lines(text: str) -> list[str]:
    r"""Split a text at ``\n``, ``\r\n`` and ``\r`` only.

    :param text: Any text.
    :return: The lines with their ends.
    """
    return _LINE.findall(text)


def cut(lines: Sequence[str], headings: Iterable[Heading]) -> list[Section]:
    """Cut a text at its headings.

    :param lines: Its lines, with their ends.
    :param headings: In the order of the text.
    :return: What stands before the first heading, then a section a heading; some may be empty.
    """
    sections = []
    title, level, start = "", 1, 0
    for heading in headings:
        sections.append(Section.from_text(title, level, "".join(lines[start : heading.start])))
        title, level, start = heading.title, heading.level, heading.end
    sections.append(Section.from_text(title, level, "".join(lines[start:])))
    return sections


def join(name: str, sections: Iterable[Section]) -> LabelledDocument:
    """Make a document of its sections.

    Sections without a sentence are left out; their headings count for the next section, which takes the
    first title and the highest level of them.

    :param name: Names the document.
    :param sections: The first is what stands before any heading; it may be empty.
    :return: The document.
    :raises InputError: If fewer than two sections, or fewer than two sentences, are left.
    """
    sentences: list[str] = []
    boundaries: list[int] = []
    paragraphs: list[int] = []
    kept: list[tuple[str, int]] = []
    pending: list[Section] = []
    for number, section in enumerate(sections):
        if number or section.sentences:
            pending.append(section)
        if not section.sentences:
            continue
        start = len(sentences)
        boundaries.append(start)
        paragraphs.extend(start + offset for offset in section.paragraphs)
        sentences.extend(section.sentences)
        kept.append((pending[0].title, min(heading.level for heading in pending)))
        pending.clear()
    require_a_gap(sentences)
    if len(kept) < 2:
        raise InputError("found no section: expected headings, or separators, with text on both sides")
    return LabelledDocument(
        name,
        sentences,
        boundaries[1:],
        [number for number in paragraphs if number],
        [title for title, _ in kept],
        [level for _, level in kept],
    )


def require_a_gap(sentences: Sequence[str]) -> None:
    """Refuse a document in which nothing can be cut.

    :param sentences: Its sentences.
    :raises InputError: If it has fewer than two.
    """
    if len(sentences) < 2:
        raise InputError(f"got {len(sentences)} sentences, expected two or more: it has no gap")
