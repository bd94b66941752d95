"""PDF and Word files as documents. Their offsets are those of the text that is taken out of them."""

import os
from collections.abc import Iterator
from typing import Any

from segmenter.document import Block, Document
from segmenter.errors import InputError
from segmenter.extras import require
from segmenter.structure import make_sections

__all__ = ["from_docx", "from_pdf"]

_HEADING = "heading "
_TITLE = "title"


def from_pdf(path: str | os.PathLike[str], *, id: str | None = None) -> Document:  # noqa: A002
    """Read the text of a PDF file, a form feed between pages, so that chunks know theirs.

    :param path: The file.
    :param id: Names the document; None: the file's name.
    :return: The document; a page that is a picture is blank.
    :raises InputError: If the file cannot be read.
    :raises MissingPackageError: If pypdfium2 is not installed.
    """
    pdfium = require("pypdfium2")
    try:
        file = pdfium.PdfDocument(os.fspath(path))
    except (OSError, pdfium.PdfiumError) as error:
        raise InputError(f"cannot read {path}, expected a PDF file: {error}") from error
    try:
        pages = []
        for page in file:
            text = page.get_textpage()
            pages.append(text.get_text_range().replace("\r\n", "\n").replace("\f", " "))
            text.close()
            page.close()
    finally:
        file.close()
    return Document(text="\n\f".join(pages), id=os.path.basename(path) if id is None else id)  # noqa: PTH119


def from_docx(path: str | os.PathLike[str], *, id: str | None = None) -> Document:  # noqa: A002
    """Read the text of a Word file: paragraphs with blank lines between, rows of tables as lines.

    Paragraphs of the styles Heading 1 to 9 start sections, one of the style Title is the title; a table is a
    block, its first row the header.

    :param path: The file.
    :param id: Names the document; None: the file's name.
    :return: The document.
    :raises InputError: If the file cannot be read.
    :raises MissingPackageError: If python-docx is not installed.
    """
    docx = require("docx")
    from docx.opc.exceptions import PackageNotFoundError

    try:
        file = docx.Document(os.fspath(path))
    except (OSError, KeyError, ValueError, PackageNotFoundError) as error:
        raise InputError(f"cannot read {path}, expected a Word file (.docx): {error}") from error
    text = ""
    title: str | None = None
    headings: list[tuple[int, int, int, str]] = []
    blocks: list[Block] = []
    starts: list[int] = []
    for kind, content in _parts(file):
        start = len(text)
        body = "".join(content)
        text += f"{body}\n\n"
        starts.append(start)
        if kind == "table":
            ends = [start]
            for row in content:
                ends.append(ends[-1] + len(row))
            blocks.append(Block(start, len(text), tuple(ends[2:-1]), content[0]))
        elif kind.startswith(_HEADING) and kind[len(_HEADING) :].isdecimal():
            headings.append((start, len(text), int(kind[len(_HEADING) :]), " ".join(body.split())))
        elif kind == _TITLE and title is None:
            title = " ".join(body.split())
    return Document(
        text=text,
        id=os.path.basename(path) if id is None else id,  # noqa: PTH119
        title=title,
        sections=make_sections(headings, text),
        blocks=tuple(blocks),
        paragraphs=tuple(starts),
    )


def _parts(file: Any) -> Iterator[tuple[str, list[str]]]:
    """What a body has: the style of each paragraph and its text, or a table and its rows."""
    for part in file.iter_inner_content():
        if hasattr(part, "rows"):
            rows = ["\t".join(" ".join(cell.text.split()) for cell in row.cells) + "\n" for row in part.rows]
            if rows:
                yield "table", rows
        elif part.text.strip():
            yield (part.style.name if part.style is not None else "").lower(), [part.text]
