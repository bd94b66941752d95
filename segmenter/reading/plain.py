"""Plain text files: two formats with separators, or headings."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from segmenter.labelled import LabelledDocument
from segmenter.reading.markdown import markdown_headings
from segmenter.reading.sections import Section, cut, decode, join, split_lines
from segmenter.reading.underlined import underlined_headings

__all__ = ["read_plain"]

_CHOI = re.compile(r"={10,}")
_WIKI = re.compile(r"={8,},(\d+),(.*)")
_PLACEHOLDER = re.compile(r"\*{3}[\w ]+\*{3}\W*")


def read_plain(content: bytes, name: str) -> LabelledDocument:
    """Read a plain text file; the first line that is not blank says which kind.

    ``==========``: the format of Choi (2000), a line a sentence, such a line between segments.
    ``========,LEVEL,TITLE.``: the format of Wiki-727K (Koshorek et al. 2018), a line a sentence, such a
    line before each section. Else the headings are underlined, or those of Markdown.

    :param content: The file.
    :param name: Names the document.
    :return: The document; paragraphs are not known with separators, nor titles in the format of Choi.
    :raises InputError: If it is not UTF-8 or has no sections.
    """
    text = decode(content)
    lines = [line for line in map(str.strip, split_lines(text)) if line]
    if lines and _WIKI.fullmatch(lines[0]):
        return replace(join(name, _wiki_sections(lines)), paragraphs=None)
    if lines and _CHOI.fullmatch(lines[0]) and not _is_title(lines):
        return replace(join(name, _choi_sections(lines)), paragraphs=None, titles=None, levels=None)
    raw = split_lines(text)
    sections = cut(raw, underlined_headings(raw, plain=True))
    if sum(bool(section.sentences) for section in sections) < 2:
        # One underlined title over a text whose sections have # signs; Markdown knows both.
        sections = cut(raw, markdown_headings(raw))
    return join(name, sections)


def _is_title(lines: Sequence[str]) -> bool:
    """Whether a file starts with a title between two lines of ``=``, not with a segment of a sentence."""
    return len(lines) > 2 and lines[0] == lines[2] and len(lines[1]) <= len(lines[0])


def _choi_sections(lines: Sequence[str]) -> Iterator[Section]:
    sentences: list[str] = []
    for line in lines:
        if _CHOI.fullmatch(line):
            yield Section("", 1, sentences)
            sentences = []
        else:
            sentences.append(line)
    yield Section("", 1, sentences)


def _wiki_sections(lines: Sequence[str]) -> Iterator[Section]:
    title, level, sentences = "", 1, list[str]()
    for number, line in enumerate(lines):
        if found := _WIKI.fullmatch(line):
            new_title = found[2].strip().removesuffix(".")
            if number == 0 and new_title == "preface":
                continue  # What follows is the untitled lead.
            yield Section(title, level, sentences)
            title, level, sentences = new_title, int(found[1]), []
        elif not _PLACEHOLDER.fullmatch(line):
            sentences.append(line)
    yield Section(title, level, sentences)
