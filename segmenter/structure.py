"""Documents whose headings, tables, lists and code are known.

.. code-block:: python

    document = from_markdown(path.read_bytes().decode(), id=path.name)  # or from_html
    chunks = segmenter.segment(document, chunks=ChunkConfig(max_tokens=256)).chunks
"""

import re
from collections.abc import Iterable, Sequence
from itertools import accumulate

from markdown_it import MarkdownIt
from markdown_it.token import Token

from segmenter.document import Block, Document, Section
from segmenter.extraction import extract
from segmenter.reading.markdown import front_matter, markdown_headings
from segmenter.reading.sections import split_lines

__all__ = ["from_html", "from_markdown", "make_sections"]

_MARKDOWN = MarkdownIt("commonmark").enable("table").disable("inline")
_ITEMS = {
    "bullet_list_open": "list_item_open",
    "ordered_list_open": "list_item_open",
    "table_open": "tr_open",
}
_INK = re.compile(r"\S")
_OF_LINES = ("fence", "code_block", "html_block")


def from_markdown(text: str, *, id: str | None = None, title: str | None = None) -> Document:  # noqa: A002
    """Read the structure of a Markdown text, whose offsets stay those of the source.

    Headings start sections. Tables, lists, fenced and indented code, HTML and front matter are blocks; the
    paragraphs of block quotes are some like others.

    :param text: Markdown.
    :param id: Names the document.
    :param title: What a reader would call it; None: its heading of the highest level, if there is but one.
    :return: The document.
    """
    lines = split_lines(text)
    offsets = [0, *accumulate(map(len, lines))]
    skipped = front_matter(lines)
    rest = lines[skipped:]
    tokens = _MARKDOWN.parse("".join(rest))
    headings = [
        (offsets[found.start + skipped], offsets[found.end + skipped], found.level, found.title)
        for found in markdown_headings(rest)
    ]
    sections = make_sections(headings, text)
    blocks = [Block(0, offsets[skipped], tuple(offsets[1:skipped]))] if skipped else []
    blocks += _blocks(tokens, offsets[skipped:], text)
    starts = {offsets[line + skipped] for line in _paragraphs(tokens)}
    return Document(
        text=text,
        id=id,
        title=title if title is not None else _only_highest(headings),
        sections=sections,
        blocks=tuple(blocks),
        paragraphs=tuple(sorted(starts)),
    )


def from_html(source: str, *, id: str | None = None, title: str | None = None) -> Document:  # noqa: A002
    """Take the text out of HTML as a reader sees it, and its structure.

    Headings start sections. Tables, lists and ``pre`` are blocks, but for those that only place other things:
    that have headings in them, or are tables with tables in them or with one column and no header. Other
    elements that start a new line are paragraphs. Scripts, styles, templates, ``nav`` and the head are left
    out. Each chunk says where it stands in the source: ``source[chunk.source_start : chunk.source_end]``.

    :param source: HTML, however broken.
    :param id: Names the document.
    :param title: What a reader would call it; None: what its ``title`` says, else its heading of the highest
        level, if there is but one.
    :return: The document, whose text has no tags.
    """
    found = extract(source)
    return Document(
        text=found.text,
        id=id,
        title=title if title is not None else found.title or _only_highest(found.headings),
        sections=make_sections(found.headings, found.text),
        blocks=tuple(found.blocks),
        paragraphs=tuple(found.paragraphs),
        source_map=found.source_map,
    )


def make_sections(headings: Iterable[tuple[int, int, int, str]], text: str) -> tuple[Section, ...]:
    """Make sections of headings; those with nothing between them are one.

    :param headings: Start, end, level (1 the highest) and title of each, in order.
    :param text: The document.
    :return: The sections.
    """
    sections: list[Section] = []
    open_: list[tuple[int, str]] = []
    for start, end, level, title in headings:
        open_ = [(number, name) for number, name in open_ if number < level] + [(level, title)]
        path = tuple(name for _, name in open_ if name)
        if sections and not text[sections[-1].body : start].strip():
            start = sections.pop().start
        ink = _INK.search(text, end)
        sections.append(Section(start, ink.start() if ink else len(text), path))
    return tuple(sections)


def _only_highest(headings: Sequence[tuple[int, int, int, str]]) -> str | None:
    top = min((level for _, _, level, _ in headings), default=0)
    names = [name for _, _, level, name in headings if level == top]
    return names[0] if len(names) == 1 else None


def _blocks(tokens: Sequence[Token], offsets: Sequence[int], text: str) -> Iterable[Block]:
    for number, token in enumerate(tokens):
        if token.level or not token.map:
            continue
        first, last = token.map
        if token.type in _OF_LINES:
            yield Block(offsets[first], offsets[last], tuple(offsets[first + 1 : last]))
        elif token.type in _ITEMS:
            rows = _rows(tokens[number + 1 :], _ITEMS[token.type], token)
            head = text[offsets[first] : offsets[first + 2]] if token.type == "table_open" else ""
            items = tuple(offsets[row] for row in rows if row > first + (2 if head else 0))
            yield Block(offsets[first], offsets[last], items, head)


def _paragraphs(tokens: Iterable[Token]) -> Iterable[int]:
    """First lines of what stands at the top, and of paragraphs in quotes."""
    depth = 0  # of lists
    end = 0  # of the paragraph before in a quote: the sign of a line without text belongs to the next one
    for token in tokens:
        depth += token.nesting if token.type.startswith("list_item") else 0
        if not token.map or token.nesting < 0:
            continue
        if token.level == 0:
            yield token.map[0]
            end = token.map[0]
        elif token.type == "paragraph_open" and not depth:
            yield end
            end = token.map[1]


def _rows(tokens: Sequence[Token], kind: str, parent: Token) -> Iterable[int]:
    """First lines of the rows of a table, or the items of a list and of lists in it."""
    closing = parent.type.replace("_open", "_close")
    for token in tokens:
        if token.type == closing and token.level == parent.level:
            return
        if token.type == kind and token.map:
            yield token.map[0]
