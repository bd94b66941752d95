"""Markdown files."""

import re
from collections.abc import Sequence
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from segmenter.labelled import LabelledDocument
from segmenter.reading.sections import Heading, cut, decode, join, split_lines

__all__ = ["front_matter", "markdown_headings", "read_markdown"]

# With tables, or a row of dashes under one would make a heading of all its rows.
# Without inline text, which only the headings need.
_MARKDOWN = MarkdownIt("commonmark").enable("table").disable("inline")
_FRONT_MATTER_START = re.compile(r"---[ \t]*")
_FRONT_MATTER_END = re.compile(r"(?:---|\.\.\.)[ \t]*")


def read_markdown(content: bytes, name: str) -> LabelledDocument:
    """Read a Markdown file. Front matter and headings are not part of its text.

    :param content: The file.
    :param name: Names the document.
    :return: The document.
    :raises InputError: If it is not UTF-8 or has no sections.
    """
    lines = split_lines(decode(content))
    lines = lines[front_matter(lines) :]
    return join(name, cut(lines, markdown_headings(lines)))


def markdown_headings(lines: Sequence[str]) -> list[Heading]:
    """Find the headings of a Markdown text, but for those in quotes and lists.

    :param lines: Its lines, with their ends.
    :return: The headings in order.
    """
    # The parser ends lines where split_lines does, so that its line numbers are ours.
    tokens = _MARKDOWN.parse("".join(lines))
    return [
        Heading(token.map[0], token.map[1], int(token.tag[1]), _title(inline.content))
        for token, inline in pairwise(tokens)
        if token.type == "heading_open" and token.level == 0 and token.map
    ]


def _title(source: str) -> str:
    """The text of a heading without its markup."""
    tokens: list[Token] = []
    _MARKDOWN.inline.parse(source, _MARKDOWN, {}, tokens)
    return " ".join("".join(map(_plain, tokens)).split())


def _plain(token: Token) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return " "
    if token.type == "html_inline":
        return ""
    return "".join(map(_plain, token.children)) if token.children else token.content


def front_matter(lines: Sequence[str]) -> int:
    """Count the lines of YAML that precede the text.

    :param lines: Its lines, with their ends.
    :return: How many there are.
    """
    # A blank line after the dashes: they are a rule.
    if len(lines) < 2 or not _FRONT_MATTER_START.fullmatch(lines[0].rstrip("\r\n")) or not lines[1].strip():
        return 0
    for number, line in enumerate(lines[1:], 1):
        if _FRONT_MATTER_END.fullmatch(line.rstrip("\r\n")):
            return number + 1
    return 0
