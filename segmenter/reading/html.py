"""HTML files."""

import re
import warnings

from bs4 import BeautifulSoup, MarkupResemblesLocatorWarning, XMLParsedAsHTMLWarning
from bs4.element import CData, NavigableString, PageElement, Tag
from bs4.exceptions import ParserRejectedMarkup

from segmenter.errors import InputError
from segmenter.labelled import LabelledDocument
from segmenter.reading.elements import BLOCKS, GAPS, HEADINGS, LEFT_OUT, LINK_SIGNS, Gap
from segmenter.reading.sections import Section, join

__all__ = ["read_html"]

# As HTML has it; str.split would take no-break spaces too.
_SPACE = re.compile(r"[ \t\n\r\f]+")


def read_html(content: bytes, name: str) -> LabelledDocument:
    """Read an HTML file: its only ``main``, else its only ``article``, else all of it.

    Blocks become paragraphs, rows of a table lines, and white space a space but in ``pre``.

    :param content: The file; its encoding is found by Beautiful Soup.
    :param name: Names the document.
    :return: The document.
    :raises InputError: If it is not HTML or has no sections.
    """
    with warnings.catch_warnings():
        # XHTML is read well enough as HTML, and a file is a file even if it holds but a name.
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)
        warnings.simplefilter("ignore", MarkupResemblesLocatorWarning)
        try:
            soup = BeautifulSoup(content, "html.parser")
        except ParserRejectedMarkup as error:
            raise InputError(f"got markup that cannot be parsed, expected HTML: {error}") from error
    for found in (soup.find_all("main"), soup.find_all(role="main"), soup.find_all("article")):
        if len(found) == 1:
            return join(name, _Reader().read(found[0]))
    return join(name, _Reader().read(soup))


class _Reader:
    """Walks through the elements and writes the text of each section."""

    def __init__(self) -> None:
        self._sections: list[Section] = []
        self._title, self._level = "", 1
        self._heading: list[str] | None = None  # the text of the heading that is open
        self._heading_level = 1
        self._out: list[str] = []
        self._gap = Gap.NONE
        self._in_pre = self._in_cell = 0
        self._layouts: list[bool] = []  # of each table that is open, whether it only places things

    def read(self, root: Tag) -> list[Section]:
        """Read an element.

        :param root: The element.
        :return: What stands before any heading, then a section a heading.
        """
        # No recursion: tags that nobody closed nest as deep as the page is long.
        stack: list[tuple[PageElement, bool]] = [(root, False)]
        while stack:
            node, is_end = stack.pop()
            if isinstance(node, Tag):
                if is_end:
                    self._close(node)
                elif node.name not in LEFT_OUT:
                    self._open(node)
                    stack.append((node, True))
                    stack.extend((child, False) for child in reversed(node.contents))
            elif type(node) in (NavigableString, CData):  # Comments are subclasses.
                self._text(str(node))
        self._end_heading()
        self._end_section()
        return self._sections

    def _open(self, tag: Tag) -> None:
        if tag.name in BLOCKS or tag.name in HEADINGS:
            self._end_heading()
        if tag.name in HEADINGS:
            self._heading, self._heading_level = [], HEADINGS[tag.name]
        if tag.name == "table":
            self._layouts.append(tag.find([*HEADINGS, "table"]) is not None)
        self._part(tag)
        if tag.name == "br":
            if self._heading is not None:
                self._heading.append(" ")
            self._part_by(Gap.BLOCK if self._gap == Gap.LINE else Gap.LINE)
        self._in_cell += self._is_cell(tag)
        self._in_pre += tag.name == "pre"

    def _close(self, tag: Tag) -> None:
        if tag.name in HEADINGS:
            self._end_heading()
            self._heading = None  # A heading that holds only a picture says nothing.
        self._in_pre -= tag.name == "pre"
        self._in_cell -= self._is_cell(tag)
        self._part(tag)
        if tag.name == "table":
            self._layouts.pop()

    def _is_cell(self, tag: Tag) -> bool:
        return tag.name in ("td", "th") and self._layouts[-1:] == [False]

    def _part(self, tag: Tag) -> None:
        """Part what is before a tag from what is after it."""
        if self._is_cell(tag):
            self._part_by(Gap.CELL)
        elif tag.name == "tr" and self._layouts[-1:] == [False]:
            self._part_by(Gap.LINE)
        elif tag.name in BLOCKS:
            self._part_by(Gap.SPACE if self._in_cell else Gap.BLOCK)

    def _part_by(self, gap: Gap) -> None:
        self._gap = max(self._gap, gap)

    def _text(self, text: str) -> None:
        if self._heading is not None:
            self._heading.append(text)
        elif self._in_pre:
            self._write(text)
        else:
            text = _SPACE.sub(" ", text)
            if text.startswith(" "):
                self._part_by(Gap.SPACE)
            if text.strip(" "):
                self._write(text.strip(" "))
            if text.endswith(" "):
                self._part_by(Gap.SPACE)

    def _write(self, text: str) -> None:
        if self._out:
            self._out.append(GAPS[self._gap])
        self._out.append(text)
        self._gap = Gap.NONE

    def _end_heading(self) -> None:
        """End the heading that is open: at its end tag, or at a block if that was forgotten."""
        title = " ".join("".join(self._heading or ()).split()).strip(LINK_SIGNS)
        if not title:
            return
        self._end_section()
        self._title, self._level, self._heading = title, self._heading_level, None

    def _end_section(self) -> None:
        self._sections.append(Section.from_text(self._title, self._level, "".join(self._out)))
        self._out, self._gap = [], Gap.NONE
