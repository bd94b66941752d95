"""What the elements of HTML mean to a reader, for all that reads it."""

import re
from enum import IntEnum

__all__ = ["BLOCKS", "GAPS", "HEADINGS", "LEFT_OUT", "LINK_SIGNS", "Gap"]

LEFT_OUT = frozenset(
    ["title", "script", "style", "template", "noscript", "nav", "iframe", "noembed", "noframes"]
)
"""What is no text of the page. All text of the head is in these; its own end tag may be missing."""

HEADINGS = {f"h{level}": level for level in range(1, 7)}

BLOCKS = frozenset(
    re.findall(
        r"\w+",
        """address article aside blockquote body caption center dd details dialog dir div dl dt fieldset
        figcaption figure footer form header hgroup hr html legend li main menu nav ol optgroup option p pre
        search section summary table td th tr ul""",
    )
)
"""What starts a new line."""

LINK_SIGNS = "¶§ "
"""The text of a link to the heading it is in, by Sphinx and rustdoc."""


class Gap(IntEnum):
    """What parts two pieces of text; where several would, the greatest does."""

    NONE = 0
    SPACE = 1
    CELL = 2
    LINE = 3
    BLOCK = 4


GAPS = {Gap.NONE: "", Gap.SPACE: " ", Gap.CELL: "\t", Gap.LINE: "\n", Gap.BLOCK: "\n\n"}
