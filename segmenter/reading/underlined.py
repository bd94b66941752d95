"""Headings that are underlined: reStructuredText, and plain text that looks like it.

docutils knows best what a heading is, but not where it is: it keeps no ranges of the source, and what
directives it does not know hold is lost. So this scans lines by its rules; the tests compare the two.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from segmenter.labelled import LabelledDocument
from segmenter.reading.sections import Heading, cut, decode, join, split_lines

__all__ = ["read_rst", "underlined_headings"]

_RULE = re.compile(r"([!-/:-@\[-`{-~])\1*")

# What starts a list, field, doctest, line block, directive, target or table is no title.
_NOT_A_TITLE = re.compile(
    r"""[-+*\u2022\u2023\u2043](\s|$)|:[^:\s][^:]*:(\s|$)|>>>(\s|$)|\|(\s|$)|\.\.(\s|$)|__(\s|$)
      | \+-[-+]+-\+$ | =+([ ]+=+)+$""",
    re.VERBOSE,
)
_LABEL = re.compile(r"\.\. _[^:]+:")
_MARKUP = re.compile(r"(?::[\w:.+-]+:)?(``|\*\*|`|\*)(?=\S)(.+?)(?<=\S)\1")


class _Rules(NamedTuple):
    """What counts as an underline.

    :ivar shortest: Its fewest characters.
    :ivar any_title: From so many characters on it may be shorter than its title.
    :ivar needs_blank: Whether a heading has to follow a blank line or another heading.
    """

    shortest: int
    any_title: float
    needs_blank: bool


# docutils: a warning for a short underline of four characters, no heading for a shorter one.
_RST = _Rules(shortest=2, any_title=4, needs_blank=False)
_PLAIN = _Rules(shortest=3, any_title=float("inf"), needs_blank=True)


def read_rst(content: bytes, name: str) -> LabelledDocument:
    """Read a reStructuredText file. Directives are part of its text, headings are not.

    :param content: The file.
    :param name: Names the document.
    :return: The document.
    :raises InputError: If it is not UTF-8 or has no sections.
    """
    lines = split_lines(decode(content))
    return join(name, cut(lines, underlined_headings(lines)))


def underlined_headings(lines: Sequence[str], *, plain: bool = False) -> list[Heading]:
    """Find the headings of a text that are underlined, and perhaps overlined.

    Levels are numbered in order of appearance of character and overline, as reStructuredText does.

    :param lines: The lines, with their ends.
    :param plain: Whether it is no reStructuredText: an underline has three characters or more and is as
        long as its title, and a heading follows a blank line.
    :return: The headings in order.
    """
    rules = _PLAIN if plain else _RST
    bare = [line.rstrip() for line in lines]
    levels: dict[tuple[str, bool], int] = {}
    headings: list[Heading] = []
    position = 0
    may_start = True
    while position < len(bare):
        has_overline = _is_overlined(bare, position, rules)
        if may_start and (has_overline or _is_underlined(bare, position, rules)):
            end = position + 2 + has_overline
            level = levels.setdefault((bare[end - 1][0], has_overline), len(levels) + 1)
            start = position if plain else _with_labels(bare, position)
            headings.append(Heading(start, end, level, _plain_title(bare[end - 2])))
            position = end
        else:
            may_start = _ends_block(bare[position], may_start, rules)
            position += 1
    return headings


def _is_underlined(bare: Sequence[str], position: int, rules: _Rules) -> bool:
    if position + 1 >= len(bare):
        return False
    title, underline = bare[position : position + 2]
    return (
        bool(title)
        and not title[0].isspace()
        and not _RULE.fullmatch(title)
        and not _NOT_A_TITLE.match(title)
        and _fits(underline, title, rules)
    )


def _is_overlined(bare: Sequence[str], position: int, rules: _Rules) -> bool:
    if position + 2 >= len(bare):
        return False
    overline, title, underline = bare[position : position + 3]
    return (
        bool(title.strip())
        and underline[:1] == overline[:1]
        and not _RULE.fullmatch(title)
        and _fits(overline, title.strip(), rules)
        and _fits(underline, title.strip(), rules)
        and not _is_table(bare, position)
    )


def _fits(line: str, title: str, rules: _Rules) -> bool:
    """Whether a line can go over or under a title."""
    if len(line) < min(len(title), rules.any_title) or len(line) < rules.shortest:
        return False
    return _RULE.fullmatch(line) is not None


def _is_table(bare: Sequence[str], position: int) -> bool:
    """Whether an overline is the top of a table of one column, which has a third such line at its end."""
    for line in bare[position + 3 :]:
        if not line:
            return False
        if line == bare[position]:
            return True
    return False


def _ends_block(line: str, starts_block: bool, rules: _Rules) -> bool:
    """Whether the next line may be a heading: not after the text of a paragraph."""
    if not line or rules.needs_blank:
        return not line
    # An indented line belongs to a block that ends where the indentation does.
    return line[0].isspace() or (starts_block and line.startswith((".. ", "__ ")))


def _with_labels(bare: Sequence[str], position: int) -> int:
    """The first line of the labels of a heading, which are as little text as the heading is."""
    start = position
    for number in range(position - 1, -1, -1):
        if _LABEL.fullmatch(bare[number]):
            start = number
        elif bare[number]:
            break
    return start


def _plain_title(line: str) -> str:
    return _MARKUP.sub(r"\2", line.strip())
