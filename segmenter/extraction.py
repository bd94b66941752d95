"""The text of HTML as a reader sees it, and where in the source each piece of it stands."""

import re
from dataclasses import dataclass, field

from segmenter.document import Block
from segmenter.nesting import CONTAINERS, Kind, nest
from segmenter.reading.elements import BLOCKS, GAPS, HEADINGS, LINK_SIGNS, Gap
from segmenter.source_map import SourceMap

__all__ = ["Extracted", "extract"]

# White space as HTML has it: a no-break space is none.
_SPACES = " \t\n\r\f"
_STRETCH = re.compile(r"[^ \t\n\r\f]++(?:[ \t\n\r\f][^ \t\n\r\f]++)*+")
_OTHER_SPACE = re.compile(r"[\t\n\r\f]")
_NO_NUL = re.compile(r"[^\0]+")
_LINE_END = re.compile(r"\r\n|\r|\n")
_CELLS = ("td", "th")
_ROWS = ("tr", "thead", "tbody", "tfoot", "caption")
_PARTING = BLOCKS | HEADINGS.keys() | CONTAINERS | set(_ROWS)


@dataclass(frozen=True, slots=True)
class Extracted:
    """What was taken out of a source.

    :ivar text: Paragraphs with blank lines between; rows, items and lines on lines of their own.
    :ivar source_map: Where it stands in the source.
    :ivar headings: Start, end, level (1 the highest) and title of each, in order.
    :ivar blocks: Tables, lists and ``pre``, in order.
    :ivar paragraphs: Where paragraphs start.
    :ivar title: What its ``title`` says.
    """

    text: str
    source_map: SourceMap
    headings: list[tuple[int, int, int, str]]
    blocks: list[Block]
    paragraphs: list[int]
    title: str | None


def extract(source: str) -> Extracted:
    """Take the text out of HTML.

    :param source: HTML; nothing is refused.
    :return: The text and what is known of it.
    """
    nested = nest(source)
    reader = _Reader(source)
    for number, (kind, name, start, end) in enumerate(nested.events):
        if kind is Kind.TEXT:
            reader.read(start, end)
        elif kind is Kind.OPEN:
            reader.open(name, number in nested.layouts)
        elif kind is Kind.CLOSE:
            reader.close(name)
        elif kind is Kind.PART:
            reader.part(name)
        else:
            reader.read_reference(name, start, end)
    text = "".join(reader.text.parts)
    found = ((start, end, level, _title(text[start:end])) for start, end, level in reader.headings)
    return Extracted(
        text=text,
        source_map=reader.text.source_map(),
        # A heading that holds only a picture or a sign says nothing.
        headings=[heading for heading in found if heading[3]],
        blocks=[block.finish(text) for block in reader.blocks],
        paragraphs=reader.text.paragraphs,
        title=nested.title,
    )


def _title(text: str) -> str:
    return " ".join(text.split()).strip(LINK_SIGNS)


class _Text:
    """Writes pieces of text and what parts them, and keeps where they are from."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.length = 0
        self.paragraphs: list[int] = []
        self.gap = Gap.NONE
        self._cells = 0
        self._starts: list[int] = []
        self._sources: list[int] = []
        self._ends: list[int] = []

    def part_by(self, gap: Gap) -> None:
        """Part what is behind from what is before; of several gaps the greatest counts.

        :param gap: By what. Every cell counts, but for empty ones that a row begins with.
        """
        if gap is Gap.CELL and self.gap < Gap.LINE:
            self._cells += 1
        if gap > self.gap:
            self.gap = gap

    def write(self, text: str, start: int, end: int, *, indented: bool = False) -> int | None:
        """Write a piece.

        :param text: What it says.
        :param start: Where it starts in the source.
        :param end: Where it ends there.
        :param indented: Whether white space counts where a line begins.
        :return: Where it starts in the text; None if there is nothing to write.
        """
        if (self.gap > Gap.SPACE or not self.parts) and not indented:
            inked = text.lstrip()  # Of all white space there is: no sentence starts with any.
            if not inked:
                return None
            start += len(text) - len(inked)
            text = inked
        if not self.parts or self.gap is Gap.BLOCK:
            self.paragraphs.append(self.length + (2 if self.parts else 0))
        if self.parts and self.gap:
            gap = "\t" * self._cells if self.gap is Gap.CELL else GAPS[self.gap]
            if self._ends[-1] - self._sources[-1] > self.length - self._starts[-1]:
                self._run(self._ends[-1], self._ends[-1])
            self.parts.append(gap)
            self.length += len(gap)
        self.gap, self._cells = Gap.NONE, 0
        self._run(start, end)
        self.parts.append(text)
        self.length += len(text)
        return self._starts[-1]

    def _run(self, start: int, end: int) -> None:
        self._starts.append(self.length)
        self._sources.append(start)
        self._ends.append(end)

    def source_map(self) -> SourceMap:
        """Tell where the text is from.

        :return: The map.
        """
        return SourceMap((*self._starts, self.length), tuple(self._sources), tuple(self._ends))


@dataclass(slots=True)
class _Block:
    """A block that is read.

    :ivar name: Its tag.
    :ivar start: Where its text starts; -1 if it has none yet.
    :ivar end: Where its text ends.
    :ivar items: Where its rows and items start.
    :ivar headers: Of each row, whether it says what the others are.
    """

    name: str
    start: int = -1
    end: int = -1
    items: list[int] = field(default_factory=list)
    headers: list[bool] = field(default_factory=list)

    def finish(self, text: str) -> Block:
        if self.name == "pre":
            lines = (match.end() for match in _LINE_END.finditer(text, self.start, self.end))
            return Block(self.start, self.end, tuple(lines))
        first = 0
        if self.name == "table":
            first = self.headers.index(False) if False in self.headers else 0
        head = text[self.start : self.items[first]] if first else ""
        return Block(self.start, self.end, tuple(self.items[first + 1 :]), head)


class _Reader:
    """Goes through elements that open and close."""

    def __init__(self, source: str) -> None:
        self.text = _Text()
        self.headings: list[tuple[int, int, int]] = []  # start, end and level
        self.blocks: list[_Block] = []
        self._source = source
        self._level, self._heading = 0, -1  # of the heading that is open, and where its text starts
        self._layouts: list[bool] = []  # of the lists, tables and pre that are open
        self._tables: list[bool] = []  # of the tables that are open, whether they are not for layout
        self._depth = 0  # of blocks; the outermost counts
        self._block: _Block | None = None
        self._opens_item = self._is_header = self._is_new_pre = False
        self._in_cell = self._in_pre = self._in_head = 0
        self._held: list[tuple[int, int]] = []  # white space of a pre that text may follow

    def open(self, name: str, is_layout: bool) -> None:
        """Begin an element.

        :param name: Its tag.
        :param is_layout: Whether it only places what is in it.
        """
        self.part(name)
        if name in HEADINGS:
            self._level = HEADINGS[name]
        elif name in CONTAINERS:
            self._layouts.append(is_layout)
            self._depth += not is_layout
            if self._depth == 1 and not is_layout:
                self._block = _Block(name)
            if name == "table":
                self._tables.append(not is_layout)
            elif name == "pre":
                self._in_pre += 1
                self._is_new_pre = True
        elif name in ("li", "dt"):
            # Cells may have lists, but are not cut.
            self._opens_item = self._block is not None and self._block.name != "table"
        elif self._in_table:
            self._open_part(name)

    def _open_part(self, name: str) -> None:
        """Begin a part of a table."""
        if name == "tr":
            self._opens_item = self._is_header = True
        elif name in _CELLS:
            self._in_cell += 1
            self._is_header = self._is_header and (name == "th" or self._in_head > 0)
        self._in_head += name == "thead"

    def close(self, name: str) -> None:
        """End an element.

        :param name: Its tag.
        """
        if name in HEADINGS:
            self._end_heading()
            self._level = 0
        elif name == "tr" and self._in_table and self._block and not self._opens_item:
            self._block.headers.append(self._is_header)
        elif name in CONTAINERS:
            self._close_container(name)
        elif self._in_table:
            self._in_head -= name == "thead"
            self._in_cell -= name in _CELLS
        if name in _CELLS and self._in_table:
            self.text.part_by(Gap.SPACE)
        else:
            self.part(name)

    def _close_container(self, name: str) -> None:
        self._held = []
        self._opens_item = False
        self._in_pre -= name == "pre"
        if name == "table":
            self._tables.pop()
        self._depth -= not self._layouts.pop()
        if self._block and not self._depth:
            if self._block.start >= 0:
                self._block.end = self.text.length
                self.blocks.append(self._block)
            self._block = None

    @property
    def _in_table(self) -> bool:
        return self._tables[-1:] == [True]

    def part(self, name: str) -> None:
        """Part what is before a tag from what is after it.

        :param name: Its name.
        """
        text = self.text
        if name == "br":
            is_second = text.gap is Gap.LINE and not self._depth
            text.part_by(Gap.SPACE if self._in_cell else Gap.BLOCK if is_second else Gap.LINE)
        elif name in _PARTING:
            self._end_heading()
            if name in _CELLS and self._in_table:
                text.part_by(Gap.CELL)
            elif self._in_cell and name not in _ROWS:
                text.part_by(Gap.SPACE)
            else:
                text.part_by(Gap.LINE if self._depth else Gap.BLOCK)

    def _end_heading(self) -> None:
        """End the heading that is open: at its end tag, or at a block if that was forgotten."""
        if self._level and self._heading >= 0:
            self.headings.append((self._heading, self.text.length, self._level))
            self._level, self._heading = 0, -1

    # Text.

    def read(self, start: int, end: int) -> None:
        """Read text.

        :param start: Where it starts in the source.
        :param end: Where it ends there.
        """
        text = self._source[start:end]
        read = self._read_lines if self._in_pre else self._read_words
        if "\0" not in text:
            read(text, start)
            return
        for match in _NO_NUL.finditer(text):
            read(match[0], start + match.start())

    def read_reference(self, character: str, start: int, end: int) -> None:
        """Read what stands for a character.

        :param character: The character, or several.
        :param start: Where what stands for it starts in the source.
        :param end: Where that ends there.
        """
        if self._in_pre:
            self._write_lines(character, start, end)
        elif character in _SPACES:
            self.text.part_by(Gap.SPACE)
        else:
            self._write(character, start, end)

    def _read_words(self, text: str, start: int) -> None:
        for match in _STRETCH.finditer(text):
            if match.start():
                self.text.part_by(Gap.SPACE)
            words = _OTHER_SPACE.sub(" ", match[0])
            self._write(words, start + match.start(), start + match.end())
        if text[-1] in _SPACES:
            self.text.part_by(Gap.SPACE)

    def _read_lines(self, text: str, start: int) -> None:
        """Read text whose white space counts, but for blank lines around it."""
        end = start + len(text.rstrip(_SPACES))
        if end > start:
            self._write_lines(text[: end - start], start, end)
        if end < start + len(text):
            self._held.append((end, start + len(text)))

    def _write_lines(self, text: str, start: int, end: int) -> None:
        """Write text, and the white space before it that was held."""
        pieces = [*self._held, (start, end)]
        if self._is_new_pre:
            pieces = self._without_blank_lines(pieces)
        for first, last in pieces[:-1]:
            self._write(self._source[first:last], first, last)
        first, last = pieces[-1]
        self._write(text[first - start :], first, last)
        self._held = []

    def _without_blank_lines(self, pieces: list[tuple[int, int]]) -> list[tuple[int, int]]:
        for number in reversed(range(len(pieces))):
            first, last = pieces[number]
            piece = self._source[first:last]
            blank = piece[: len(piece) - len(piece.lstrip(_SPACES))]
            lines = max(blank.rfind("\n"), blank.rfind("\r")) + 1
            if lines:
                return [(first + lines, last), *pieces[number + 1 :]]
        return pieces

    def _write(self, text: str, start: int, end: int) -> None:
        if self._level and text == LINK_SIGNS[0]:
            return
        place = self.text.write(text, start, end, indented=self._in_pre > 0)
        self._is_new_pre = False
        if place is None:
            return
        if self._level and self._heading < 0:
            self._heading = place
        if self._block is None:
            return
        if self._block.start < 0:
            self._block.start = place
        if self._opens_item:
            self._block.items.append(place)
            self._opens_item = False
