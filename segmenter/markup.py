"""What texts are written in, and texts as documents whose structure is known."""

import re
from typing import Literal

from segmenter.document import Document

__all__ = ["HTML_SUFFIXES", "MARKDOWN_SUFFIXES", "Language", "Markup", "language_of", "read_markup"]

Language = Literal["plain", "markdown", "html"]
"""What a text is written in."""

Markup = Literal["auto", "plain", "markdown", "html"]
"""What texts are written in. ``"auto"``: what their files' names say."""

MARKDOWN_SUFFIXES = (".md", ".markdown")
HTML_SUFFIXES = (".html", ".htm")
"""Files that are read as Markdown and HTML without being told."""

_PACKED = re.compile(r"\.(gz|zst)\Z")


def language_of(name: str | None, markup: Markup = "auto", *, is_file: bool = True) -> Language:
    """What a text is written in.

    :param name: A file's name, which may end in ``.gz`` or ``.zst`` too; or the id of a text.
    :param markup: Says it, or that the name does.
    :param is_file: Whether the text is all that a file of this name holds. The id of any other may well be
        the address of a page of HTML out of which it was taken long ago: those are plain.
    :return: Markdown or HTML if the name ends as that of such a file does, else plain.
    """
    if markup != "auto":
        return markup
    name = _PACKED.sub("", (name or "").lower())
    if name.endswith(MARKDOWN_SUFFIXES):
        return "markdown"
    return "html" if is_file and name.endswith(HTML_SUFFIXES) else "plain"


def read_markup(
    text: str,
    language: Language,
    *,
    id: str | None = None,  # noqa: A002
    title: str | None = None,
) -> Document:
    """Make a document of a text.

    :param text: The text.
    :param language: What it is written in.
    :param id: Names the document.
    :param title: What a reader would call it; None: what the text itself says, if anything.
    :return: The document, its structure known if there is any.
    """
    if language == "plain":
        return Document(text=text, id=id, title=title)
    # Not above, so that those who have plain texts do not wait for what reads others.
    from segmenter.structure import from_html, from_markdown

    return (from_markdown if language == "markdown" else from_html)(text, id=id, title=title)
