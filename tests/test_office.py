"""PDF and Word files, made here."""

from pathlib import Path

import docx
import matplotlib as mpl
import pytest
from matplotlib.backends.backend_pdf import PdfPages
from matplotlib.figure import Figure

from segmenter import ChunkConfig, InputError
from segmenter.chunkers import FixedSizeChunker, ParagraphChunker
from segmenter.office import from_docx, from_pdf

from .cutting import words
from .test_cli import rows, run


def write_pdf(path: Path, lines: list[str]) -> None:
    with mpl.rc_context({"pdf.fonttype": 42}), PdfPages(path) as pages:
        for line in lines:
            figure = Figure()
            figure.text(0.1, 0.5, line)
            pages.savefig(figure)


def test_pages_of_a_pdf_are_form_feeds(tmp_path: Path) -> None:
    lines = ["The harbour lies in a fjord.", "", "Fog is common in autumn."]
    write_pdf(tmp_path / "a.pdf", lines)
    document = from_pdf(tmp_path / "a.pdf")
    assert document.id == "a.pdf"
    assert [page.strip() for page in document.text.split("\f")] == lines
    chunks = FixedSizeChunker(6, 0).chunk(document)
    assert "".join(chunk.text for chunk in chunks) == document.text
    assert [(chunk.text.split()[0], chunk.page) for chunk in chunks] == [("The", 1), ("Fog", 3)]
    assert from_pdf(tmp_path / "a.pdf", id="mine").id == "mine"


def test_headings_and_tables_of_a_word_file(tmp_path: Path) -> None:
    file = docx.Document()
    file.add_heading("Handbook", level=0)
    file.add_paragraph("Before any heading.")
    file.add_heading("Care", level=1)
    file.add_heading("Daily", level=2)
    file.add_paragraph("Flush the group head. Oils turn bitter.")
    table = file.add_table(rows=30, cols=2)
    for number, row in enumerate(table.rows):
        for cell, text in zip(
            row.cells, ("part", "days") if not number else (f"part{number}", "7"), strict=True
        ):
            cell.text = text
    file.add_paragraph("")
    file.add_heading("Storage", level=1)
    file.add_paragraph("Keep it dry.")
    file.save(tmp_path / "a.docx")
    document = from_docx(tmp_path / "a.docx")
    assert (document.id, document.title) == ("a.docx", "Handbook")
    assert [section.path for section in document.sections] == [("Care", "Daily"), ("Storage",)]
    chunks = ParagraphChunker(ChunkConfig(max_tokens=30, header="{section}"), words).chunk(document)
    assert "".join(chunk.text for chunk in chunks) == document.text
    assert chunks[0].section == ()
    assert chunks[-1].text == "Storage\n\nKeep it dry.\n\n"
    rows = [chunk for chunk in chunks if chunk.text.startswith("part")]
    assert len(rows) > 2
    for chunk in rows[1:]:
        assert chunk.context.header == "Care > Daily\n\npart\tdays\n"
        assert chunk.section == ("Care", "Daily")
        assert words(chunk.embed_text) <= 30


@pytest.mark.parametrize("read", [from_pdf, from_docx])
def test_files_that_are_something_else(tmp_path: Path, read) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "no").write_bytes(b"plain text")
    for path in (tmp_path / "no", tmp_path / "missing", tmp_path):
        with pytest.raises(InputError, match="cannot read"):
            read(path)


def test_the_command_knows_them_by_name(tmp_path: Path) -> None:
    file = docx.Document()
    file.add_heading("The bell", level=1)
    file.add_paragraph("It was cast in 1887.")
    file.save(str(tmp_path / "a.DOCX"))
    write_pdf(tmp_path / "b.pdf", ["Fog is common.", "A bell helps."])
    (tmp_path / "c.docx").write_bytes(b"not a Word file")
    paths = [tmp_path / name for name in ("a.DOCX", "c.docx", "b.pdf")]
    done = run("segment", "--chunker", "paragraphs", "--format", "jsonl", *paths)
    found = {(Path(str(row["doc_id"])).name, str(row["section"]), row["page"]) for row in rows(done.stdout)}
    assert found == {("a.DOCX", "['The bell']", None), ("b.pdf", "[]", 1)}
    assert done.returncode == 2
    assert b"c.docx, expected a Word file" in done.stderr
