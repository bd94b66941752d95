"""What is open where in HTML, whatever tags were forgotten, as a browser would have it.

Nothing recurses and nothing is searched for from the top: 100,000 tags that nobody closes take no longer than
others.
"""

import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import IntEnum

from turbohtml import Token, TokenType, tokenize

from segmenter.reading.elements import BLOCKS, HEADINGS, LEFT_OUT

__all__ = ["CONTAINERS", "Event", "Kind", "Nested", "nest"]

LISTS = frozenset(["ul", "ol", "dl", "menu", "dir"])
CONTAINERS = LISTS | {"table", "pre"}
"""What may be a block of its own."""

_LINE_END = re.compile(r"\r\n|\r|\n")
_SECTIONS_OF_TABLE = frozenset(["caption", "thead", "tbody", "tfoot"])
_CELLS = frozenset(["td", "th"])
_OF_TABLE = _SECTIONS_OF_TABLE | _CELLS | {"tr"}
_VOID = frozenset(["br", "hr", "html", "head", "body"])
"""What is told but never open: of the last three one is enough for a document."""

_PARAGRAPH = frozenset(["p"])
_WALLS = frozenset(["table", "td", "th", "caption", "template"])
"""What an end tag inside does not reach beyond, nor does a tag that implies one."""

_IN_LINE = frozenset(["option", "optgroup", "td", "th", "tr", "caption", "legend"])
_ENDS_PARAGRAPH = (BLOCKS | HEADINGS.keys()) - _IN_LINE - {"html", "head", "body"}

_IMPLIED = {
    "li": (frozenset(["li"]), _WALLS | (LISTS - {"dl"})),
    "dt": (frozenset(["dt", "dd"]), _WALLS | LISTS),
    "dd": (frozenset(["dt", "dd"]), _WALLS | LISTS),
    "option": (frozenset(["option"]), _WALLS),
    "td": (frozenset(["td", "th", "caption"]), frozenset(["table", "tr"])),
    "th": (frozenset(["td", "th", "caption"]), frozenset(["table", "tr"])),
    "tr": (frozenset(["tr", "td", "th", "caption"]), frozenset(["table"])),
    **{name: (_OF_TABLE, frozenset(["table"])) for name in _SECTIONS_OF_TABLE},
}
"""Which open elements a start tag ends, and beyond what it does not reach."""

_KNOWN = BLOCKS | HEADINGS.keys() | LEFT_OUT | _SECTIONS_OF_TABLE | _VOID | {"svg"}


_TEXTS = (TokenType.TEXT, TokenType.CHARACTER_REFERENCE)


class Kind(IntEnum):
    """What happens."""

    OPEN = 0
    CLOSE = 1
    PART = 2
    """A tag that only parts what is before it from what is behind."""
    TEXT = 3
    REFERENCE = 4


Event = tuple[Kind, str, int, int]
"""What happens, the name of the element or what a reference stands for, and where text is in the source.

A plain tuple, since 10 MB have a million of them.
"""


@dataclass(frozen=True, slots=True)
class Nested:
    """A document whose elements are all closed.

    :ivar events: What happens; nothing inside of what is left out.
    :ivar layouts: Numbers of the events that open a list, table or ``pre`` which only places other things.
    :ivar title: What its ``title`` says.
    """

    events: list[Event]
    layouts: set[int]
    title: str | None


def nest(source: str) -> Nested:
    """Find what is open where.

    :param source: HTML; nothing is refused.
    :return: What happens in it.
    """
    nesting = _Nesting(source)
    nesting.read()
    titles = (" ".join(title.split()) for title in nesting.titles)
    return Nested(nesting.events, nesting.layouts, next(filter(None, titles), None))


@dataclass(slots=True)
class _Container:
    """A list, table or ``pre`` that is open.

    :ivar name: Its tag.
    :ivar place: Where it is on the stack.
    :ivar event: Number of the event that opened it.
    :ivar has_heading: Whether there is a heading in it, or around it.
    :ivar has_table: Whether there is a table in it.
    :ivar has_header: Whether it has a cell or a row that says what the others are.
    :ivar cells: Cells of the row that is open.
    :ivar most_cells: Cells of the row that had most.
    """

    name: str
    place: int
    event: int
    has_heading: bool
    has_table: bool = False
    has_header: bool = False
    cells: int = 0
    most_cells: int = 0

    @property
    def is_layout(self) -> bool:
        """Whether it only places things."""
        if self.name != "table":
            return self.has_heading
        return self.has_heading or self.has_table or not (self.has_header or self.most_cells > 1)


@dataclass(slots=True)
class _Nesting:
    """Keeps what is open, and by name where on the stack it is."""

    source: str
    events: list[Event] = field(default_factory=list)
    layouts: set[int] = field(default_factory=set)
    titles: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    places: defaultdict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    containers: list[_Container] = field(default_factory=list)
    hidden: int = 0

    def read(self) -> None:
        starts = [0, *(match.end() for match in _LINE_END.finditer(self.source))]
        # `</>` is nothing, and no token: an empty comment of its length keeps the text around it apart.
        readable = self.source.replace("</>", "<!>")
        for token in tokenize(
            readable, resolve_references=False, capture_source=True, capture_attributes=False
        ):
            tag = token.tag
            if tag is None:
                if token.type in _TEXTS:
                    self._text(token, starts)
            elif tag in _KNOWN:
                if token.type == TokenType.START_TAG:
                    self._start(tag)
                else:
                    self._end(tag)
        self._pop(0)

    def _text(self, token: Token, starts: list[int]) -> None:
        data = token.data or ""
        if self.hidden:
            if self.hidden == 1 and self.names[-1] == "title" and not self.places["svg"]:
                self.titles[-1] += data
            return
        start = starts[token.line - 1] + token.col
        if token.type is TokenType.CHARACTER_REFERENCE:
            self.events.append((Kind.REFERENCE, data, start, start + len(token.source or "")))
            return
        lines = data.count("\n")  # Of the source, where \r\n is one too.
        end = (
            starts[token.line - 1 + lines] + len(data) - data.rfind("\n") - 1 if lines else start + len(data)
        )
        self.events.append((Kind.TEXT, "", start, end))

    def _start(self, name: str) -> None:
        if name in _ENDS_PARAGRAPH:
            self._end_implied(_PARAGRAPH, _WALLS)
        if name in HEADINGS and self.names and self.names[-1] in HEADINGS:
            self._pop(len(self.names) - 1)
        if name in _VOID or (name in _OF_TABLE and self._nearest(("table",)) <= self._nearest(("template",))):
            self._tell(Kind.PART, name)
            return
        if name in _IMPLIED:
            self._end_implied(*_IMPLIED[name])
        if name in _CELLS and self._nearest(("tr",)) < self._nearest(("table",)):
            self._open("tr")
        self._open(name)

    def _end(self, name: str) -> None:
        if name == "br" or (name == "p" and self._nearest(("p",)) <= self._nearest(_WALLS)):
            self._tell(Kind.PART, name)  # Browsers make an element of it.
            return
        walls = frozenset(["table"]) if name in _OF_TABLE else _WALLS - {name}
        if name == "table":
            walls = frozenset(["template"])
        elif name == "li":
            walls |= LISTS
        place = self._nearest(HEADINGS if name in HEADINGS else (name,))
        if place > self._nearest(walls):
            self._pop(place)

    def _open(self, name: str) -> None:
        self._tell(Kind.OPEN, name)
        self.places[name].append(len(self.names))
        self.names.append(name)
        if name in LEFT_OUT:
            self.hidden += 1
        if name == "title":
            self.titles.append("")
        if self.hidden:
            return
        parent = self.containers[-1] if self.containers else None
        if name in CONTAINERS:
            in_heading = self._nearest(HEADINGS) >= 0
            self.containers.append(_Container(name, len(self.names) - 1, len(self.events) - 1, in_heading))
        elif name in HEADINGS and parent:
            parent.has_heading = True
        elif name in _OF_TABLE and parent and parent.name == "table":
            parent.has_header = parent.has_header or name in ("th", "thead", "caption")
            parent.cells = 0 if name == "tr" else parent.cells + (name in _CELLS)
            parent.most_cells = max(parent.most_cells, parent.cells)

    def _pop(self, first: int) -> None:
        """Close all that is open from a place on."""
        while len(self.names) > first:
            name = self.names.pop()
            self.places[name].pop()
            if name in LEFT_OUT:
                self.hidden -= 1
            if self.containers and self.containers[-1].place == len(self.names):
                self._close_container(self.containers.pop())
            self._tell(Kind.CLOSE, name)

    def _close_container(self, container: _Container) -> None:
        if container.is_layout:
            self.layouts.add(container.event)
        if self.containers:
            outer = self.containers[-1]
            outer.has_heading |= container.has_heading
            outer.has_table |= container.has_table or container.name == "table"

    def _tell(self, kind: Kind, name: str) -> None:
        if not self.hidden:
            is_open = kind is not Kind.PART and name not in LEFT_OUT
            self.events.append((kind if is_open else Kind.PART, name, 0, 0))

    def _end_implied(self, names: frozenset[str], walls: frozenset[str]) -> None:
        """Close the outermost of some elements that is within walls."""
        is_open = [places for name in names if (places := self.places[name])]
        if not is_open:
            return
        wall = self._nearest(walls)
        found = [places[bisect_right(places, wall)] for places in is_open if places[-1] > wall]
        if found:
            self._pop(min(found))

    def _nearest(self, names: Iterable[str]) -> int:
        """Where the innermost of some elements is on the stack; -1 if none is open."""
        found = -1
        for name in names:
            places = self.places[name]
            if places and places[-1] > found:
                found = places[-1]
        return found
