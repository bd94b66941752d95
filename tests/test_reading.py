"""Reading labelled documents: every format gives back what was written, every fault says where it is."""

import io
import json
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NoReturn

import datasets
import pytest
from docutils import nodes
from docutils.core import publish_doctree
from hypothesis import given, settings
from hypothesis import strategies as st

from segmenter import InputError
from segmenter.labelled import LabelledDocument
from segmenter.reading import SkippedRow, read_documents
from segmenter.reading.sections import split_lines
from segmenter.reading.underlined import underlined_headings
from segmenter.sentences import SentencexSplitter, split_sentences

ROW: dict[str, Any] = {"sentences": ["Fog came.", "Boats waited.", "Bread rose."], "boundaries": [2]}


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read_text(name: str, text: str | bytes) -> LabelledDocument:
    """The one document of a file in the working directory."""
    Path(name).write_bytes(text.encode() if isinstance(text, str) else text)
    (document,) = read_documents([name])
    return document


def sections(document: LabelledDocument) -> list[tuple[str, int, list[str]]]:
    """Title, level and sentences of each section."""
    cuts = [0, *document.boundaries, len(document.sentences)]
    parts = [list(document.sentences[start:end]) for start, end in pairwise(cuts)]
    assert document.titles is not None
    assert document.levels is not None
    return list(zip(document.titles, document.levels, parts, strict=True))


def write_rows(name: str, *rows: object) -> str:
    Path(name).write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    return name


# Rows.


def test_rows_have_boundaries_or_labels(here: Path) -> None:
    full = {**ROW, "paragraphs": [0, 1, 2], "titles": ["", "Ovens"], "levels": [1, 2], "id": 7, "source": "x"}
    labels = {"sentences": ROW["sentences"], "labels": [False, True, True], "boundaries": None, "id": None}
    write_rows("a.jsonl", full, labels, {**ROW, "labels": None, "id": "third"})
    first, second, third = read_documents(["a.jsonl"])
    assert first == LabelledDocument("7", ROW["sentences"], [2], [1, 2], ["", "Ovens"], [1, 2])
    assert second == LabelledDocument(second.id, ROW["sentences"], [2])
    assert name_of(second) == "a.jsonl:2"
    assert third == LabelledDocument("third", ROW["sentences"], [2])


BAD_ROWS = {
    "no JSON": ('{"sentences": ["A."', "got no JSON"),
    "a list": ("[1, 2]", "got JSON of type list"),
    "too deep": ("[" * 100_000, "got no JSON"),
    "bad byte": (b'{"id": "\xff"}', "got byte 0xff at 8, expected UTF-8"),
    "no sentences": ({"id": "x", "boundaries": [1]}, "got id, boundaries; expected sentences and either"),
    "no values": ({}, "got no values; expected sentences"),
    "no boundaries": ({"sentences": ["A.", "B."]}, "got sentences; expected"),
    "both": ({**ROW, "labels": [0, 1, 0]}, "either boundaries or labels"),
    "a string": ({**ROW, "sentences": "A. B."}, "got sentences of type str"),
    "a null sentence": ({**ROW, "sentences": ["A.", None, "C."]}, "got sentence 1 of type NoneType"),
    "boundary 0": ({**ROW, "boundaries": [0]}, "got 0 among boundaries"),
    "too few labels": ({"sentences": ["A.", "B."], "labels": [1]}, "got 1 labels, expected 2"),
    "label 2": ({"sentences": ["A.", "B."], "labels": [2, 0]}, "got label 2 of sentence 0"),
    "label 1.0": ({"sentences": ["A.", "B."], "labels": [1.0, 0]}, "got label 1.0 of sentence 0"),
    "label string": ({"sentences": ["A.", "B."], "labels": "10"}, "got labels of type str"),
    "paragraph flags": ({**ROW, "paragraphs": [False, True, False]}, "got False among paragraphs"),
    "titles": ({**ROW, "titles": ["One"]}, "got 1 titles"),
    "levels": ({**ROW, "levels": [1, "2"]}, "got 2 levels"),
    "id": ({**ROW, "id": True}, "got id True"),
    "one sentence": ({"sentences": ["A."], "boundaries": []}, "it has no gap"),
}


@pytest.mark.parametrize(("row", "reason"), BAD_ROWS.values(), ids=BAD_ROWS)
def test_a_bad_row_is_named_or_skipped(here: Path, row: object, reason: str) -> None:
    line = row if isinstance(row, bytes) else (row if isinstance(row, str) else json.dumps(row)).encode()
    good = json.dumps(ROW).encode()
    Path("rows.ndjson").write_bytes(b"\xef\xbb\xbf" + good + b"\r\n\n" + line + b"\n" + good)
    with pytest.raises(InputError, match=r"^rows\.ndjson, row 3: ") as caught:
        list(read_documents(["rows.ndjson"]))
    assert reason in str(caught.value)
    skipped: list[SkippedRow] = []
    found = read_documents(["rows.ndjson"], on_skip=skipped.append)
    assert [name_of(document) for document in found] == ["rows.ndjson:1", "rows.ndjson:4"]
    assert [row.where for row in skipped] == ["rows.ndjson, row 3"]
    assert reason in skipped[0].reason


def test_lone_surrogates_stay(here: Path) -> None:
    Path("a.json").write_text('{"sentences": ["A \\ud800.", "B\\u2028C."], "labels": [1, 0]}')
    (document,) = read_documents(["a.json"])
    assert document.sentences == ["A \ud800.", "B\u2028C."]


def test_parquet(here: Path) -> None:
    # Brackets and stars are no pattern once there is such a file.
    name = "rows[1]*.parquet"
    rows = [{**ROW, "paragraphs": None, "id": "x"}, {**ROW, "boundaries": [9], "paragraphs": None, "id": "y"}]
    datasets.Dataset.from_list(rows).to_parquet(name)
    skipped: list[SkippedRow] = []
    (document,) = read_documents([name], on_skip=skipped.append)
    assert document == LabelledDocument("x", ROW["sentences"], [2])
    assert [row.where for row in skipped] == [f"{name}, row 2"]
    Path("broken.parquet").write_bytes(b"no parquet")
    with pytest.raises(InputError, match=r"broken\.parquet cannot be read"):
        list(read_documents(["broken.parquet"], on_skip=skipped.append))


# Sources.


def name_of(document: LabelledDocument) -> str:
    """An id without the hash of the text."""
    return document.id.rsplit("#", 1)[0]


def test_an_id_is_of_the_text_and_not_of_the_path(here: Path) -> None:
    Path("one").mkdir()
    Path("two").mkdir()
    write_rows("one/rows.jsonl", ROW, {**ROW, "id": "mine"})
    write_rows("two/rows.jsonl", {**ROW, "sentences": ["Fog came.", "Ropes dried.", "Bread rose."]})
    spellings = ["one/rows.jsonl", "./one/rows.jsonl", str(Path("one/rows.jsonl").absolute()), "one", "one/*"]
    first, *others = [[d.id for d in read_documents([spelling])] for spelling in spellings]
    assert all(ids == first for ids in others)
    assert first[1] == "mine"
    (other,) = read_documents(["two"])
    assert name_of(other) == first[0].split("#")[0]
    assert other.id != first[0]


def test_folders_and_patterns(here: Path, caplog: pytest.LogCaptureFixture) -> None:
    for folder in ("docs/b", "docs/.git"):
        Path(folder).mkdir(parents=True)
    for name in ("docs/z.md", "docs/b/a.MD", "docs/.git/c.md", "docs/.d.md"):
        Path(name).write_text("Fog came.\n\n# Ovens\n\nBread rose.\n")
    Path("docs/b/picture.png").write_bytes(b"")
    write_rows("docs/rows.jsonl", ROW)
    with caplog.at_level(logging.INFO):
        found = [name_of(document) for document in read_documents([Path("docs")])]
    assert found == ["b/a.MD", "rows.jsonl:1", "z.md"]
    assert "1 .png" in caplog.text
    assert [name_of(document) for document in read_documents(["docs/**/*.[mM]*"])] == ["a.MD", "z.md"]
    Path("docs/b/link.md").symlink_to("nowhere")
    with pytest.raises(InputError, match=r"^docs/b/link\.md cannot be read: .*No such file"):
        list(read_documents(["docs"], on_skip=print))


def test_what_is_no_source(here: Path) -> None:
    Path("empty").mkdir()
    Path("pictures").mkdir()
    Path("pictures/a.png").write_bytes(b"")
    Path("notes.pdf").write_bytes(b"")
    for source, reason in {
        "missing.md": "there is no such file or folder",
        "a b": "there is no such file or folder",
        "./rows": "there is no such file or folder",
        "": "an empty source",
        "\0": "there is no such file or folder",
        "~nobody-of-that-name/a.md": "cannot be looked at",
        "none/*.md": "has no files",
        "empty": "has no files; expected files that end in one of .parquet, .jsonl",
        "pictures": "has 1 .png; expected",
        "notes.pdf": "ends in .pdf; expected one of .parquet",
    }.items():
        # At the call, before anything is read, and never skippable.
        with pytest.raises(InputError) as caught:
            read_documents([source], on_skip=print)
        assert reason in str(caught.value)
    with pytest.raises(InputError, match="no such file or folder"):
        read_documents([Path("owner/name")])
    for nothing in ([], "rows.jsonl"):
        with pytest.raises(InputError, match="expected a list"):
            read_documents(nothing)


def test_sources_without_a_document(here: Path) -> None:
    write_rows("a.jsonl", {}, {})
    Path("b.jsonl").write_text("\n")
    with pytest.raises(InputError) as caught:
        list(read_documents(["a.jsonl", "b.jsonl"], on_skip=lambda row: None))
    assert "found no document in 2 files or data sets (a.jsonl, b.jsonl): 2 rows" in str(caught.value)
    assert "the first was a.jsonl, row 1: got no values" in str(caught.value)


def test_a_hub_name(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str | None, str]] = []

    def load(name: str, config: str | None, *, split: str, streaming: bool) -> Iterator[dict[str, Any]]:
        assert streaming
        asked.append((name, config, split))
        return iter([ROW, {}])

    monkeypatch.setattr(datasets, "load_dataset", load)
    skipped: list[SkippedRow] = []
    names = ["owner/name", "name:test", "o/n:law:test"]
    found = list(read_documents(names, split="dev", on_skip=skipped.append))
    assert [name_of(document) for document in found] == ["owner/name:dev:1", "name:test:1", "o/n:law:test:1"]
    assert asked == [("owner/name", None, "dev"), ("name", None, "test"), ("o/n", "law", "test")]
    assert [row.where for row in skipped] == ["owner/name, row 2", "name, row 2", "o/n, row 2"]


def test_a_hub_that_cannot_be_reached(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: object, **kwargs: object) -> NoReturn:
        raise ConnectionError("no route")

    monkeypatch.setattr(datasets, "load_dataset", fail)
    with pytest.raises(InputError, match=r"'owner/name', which is no file or folder here.*\(no route\)"):
        list(read_documents(["owner/name"], on_skip=print))


# Files with headings.

MARKDOWN = """\
---
title: no text
---
Fog came. Boats waited.

Harbour
life
=======

## The *old* [`quay`](quay.md "x") &amp; pier ##

Ropes dried here.
Gulls slept.

> # Not this one

```sh
# nor this one
```

a | b
--|--
rope | tar
-----

## Empty

# Ovens
### Loaf
Bread rose.
# Nothing below
"""


def test_markdown(here: Path) -> None:
    document = read_text("a.md", MARKDOWN)
    assert name_of(document) == "a.md"
    lead, quay, ovens = sections(document)
    assert lead == ("", 1, ["Fog came.", "Boats waited."])
    # The heading above has no text of its own: the first title, and the highest level.
    assert quay[:2] == ("Harbour life", 1)
    assert quay[2][:3] == ["Ropes dried here.", "Gulls slept.", "> # Not this one"]
    assert "# nor this one" in quay[2][3]
    assert ovens == ("Empty", 1, ["Bread rose."])
    assert document.paragraphs == (2, 4, 5, 6, 7)


def test_text_is_split_as_it_stands(here: Path) -> None:
    text = (
        "Fog\x0bcame. \u2028Boats  waited.\r\n\r\nRopes *dried*.\r\n# T\r\nGulls. \x0c Sleep.\r# U\rBread.\n"
    )
    document = read_text("a.markdown", text)
    spans = split_sentences(text.replace("# T\r\n", "\n\n").replace("# U\r", "\n\n"), SentencexSplitter())
    assert document.sentences == [span.text.strip() for span in spans]
    starts = [number for number, span in enumerate(spans) if span.starts_paragraph]
    assert document.paragraphs == tuple(starts)
    assert document.titles == ["", "T", "U"]


def test_a_first_heading_names_the_first_section(here: Path) -> None:
    found = sections(read_text("a.md", "## Quay\nFog came.\n# Ovens\nBread rose.\n"))
    assert found == [("Quay", 2, ["Fog came."]), ("Ovens", 1, ["Bread rose."])]


@pytest.mark.parametrize("start", ["---\n\nFog came.\n\n---\n", "---\nFog came.\n"])
def test_a_rule_is_no_front_matter(here: Path, start: str) -> None:
    (lead, ovens) = sections(read_text("a.md", f"{start}# <b>Ovens</b>\nBread.\n"))
    assert lead[2][0].startswith("---")
    assert ovens == ("Ovens", 1, ["Bread."])


HTML = """\
<?xml version="1.0"?><!DOCTYPE html><html><head><title>Not this</title><style>p {}</style>
<body><nav><h2>Menu</h2>Home</nav><p>Outside of it.</p>
<div role="main"><!-- no --><p>Fog   came
in. <b>Boats</b>&nbsp;waited.<p>Gulls<br>slept.<script>x</script>
<h1><img src="a.png"></h1>
<h2>The <i>old</i><br>quay<a href="#">¶</a></h2>
<ul><li>Ropes</li> <li>Tar</li></ul>
<table><tr><th>Rope</th><th><p>Length</p></th></tr> <tr><td>hemp</td><td>nine</td></tr></table>
<pre>  knot:
    twice</pre>
<table><tr><td><h3>Ovens<p>Bread rose.</td><td><div>It was caf\xe9.</div></td></tr></table>
</div></body></html>
"""


def test_html(here: Path) -> None:
    content = HTML.replace('"1.0"', '"1.0" encoding="iso-8859-1"').encode("latin-1")
    document = read_text("a.xhtml", content)
    lead, quay, ovens = sections(document)
    assert lead == ("", 1, ["Fog came in.", "Boats\xa0waited.", "Gulls\nslept."])
    assert quay == ("The old quay", 2, ["Ropes", "Tar", "Rope\tLength\nhemp\tnine", "knot:\n    twice"])
    assert ovens == ("Ovens", 3, ["Bread rose.", "It was café."])
    assert document.paragraphs == (2, 3, 4, 5, 6, 7, 8)


@pytest.mark.parametrize("tag", ["main", "article"])
def test_html_reads_the_only_main_part(here: Path, tag: str) -> None:
    part = f"<{tag}>Fog came.<h1>Ovens</h1>Bread rose.</{tag}>"
    assert len(read_text("a.html", f"<p>Before.{part}After.").sentences) == 2
    assert len(read_text("a.html", f"<p>Before.{part}{part}After.").sentences) == 6


def test_html_of_any_depth(here: Path) -> None:
    text = "<div>" * 20_000 + "Fog came.<h1>Ovens</h1>Bread rose."
    assert len(read_text("a.htm", text).boundaries) == 1


def test_html_that_cannot_be_parsed_is_an_error(here: Path) -> None:
    with pytest.raises(InputError, match=r"^a\.html: got markup that cannot be parsed"):
        read_text("a.html", "Fog came.<h1>Ovens</h1>Bread rose.<![no[")


RST = {
    "levels": """
=======
 Quays
=======

Old ones
--------
No blank line above.

Short underline
----

Ropes
~~~~~

*Tar* and ``pitch``
-------------------

Text of a paragraph
over two lines
--------------

.. _label:
.. note:: Not a title
   Inside
   ------

- item
------

Ovens
-----
Bread
~~~~~
""",
    "tables and code": """\
Tables
======

=====  =====
Rope   Tar
=====  =====
one    two

three  four
=====  =====

+-----+
| one |
+-----+

::

    Inside
    ======

>>> doctest
-----------

Transition below.

----------

:field: value
-------------

abc
---

long
--

1. Numbered
===========
""",
}


@pytest.mark.parametrize("text", RST.values(), ids=RST)
def test_headings_are_those_of_docutils(text: str) -> None:
    options = {"report_level": 5, "halt_level": 6, "doctitle_xform": False, "warning_stream": io.StringIO()}
    tree = publish_doctree(text, settings_overrides=options)
    expected = [t.astext() for t in tree.findall(nodes.title) if isinstance(t.parent, nodes.section)]
    assert [heading.title for heading in underlined_headings(split_lines(text))] == expected


def test_rst(here: Path) -> None:
    text = RST["levels"]
    levels = [heading.level for heading in underlined_headings(split_lines(text))]
    assert levels == [1, 2, 2, 3, 2, 2, 3]
    found = sections(
        read_text("a.rst", ".. _top:\n\nQuays\n=====\nFog came.\n\n.. _b:\n\nOvens\n=====\nBread.\n")
    )
    assert found == [("Quays", 1, ["Fog came."]), ("Ovens", 1, ["Bread."])]
    table = "=====\nRopes\n=====\nhemp\njute\n=====\n"
    assert not underlined_headings(split_lines(table))


def test_plain_text(here: Path) -> None:
    underlined = read_text(
        "README", "==========\nQuays\n==========\n\nFog came.\n\nOvens\n=====\n\nBread.\n\nab\n--\n"
    )
    assert sections(underlined) == [("Quays", 1, ["Fog came."]), ("Ovens", 2, ["Bread.", "ab\n--"])]
    hashes = read_text("a.txt", "Quays\n=====\n\nFog came.\n\n## Ovens\n\nBread rose.\n")
    assert sections(hashes) == [("Quays", 1, ["Fog came."]), ("Ovens", 2, ["Bread rose."])]


def test_choi(here: Path) -> None:
    text = "==========\nFog came .\nBoats waited .\n==========\n==========\nBread rose .\n\n==========\n"
    document = read_text("1.ref", text)
    assert document == LabelledDocument(document.id, ["Fog came .", "Boats waited .", "Bread rose ."], (2,))


def test_wiki_727k(here: Path) -> None:
    text = (
        "========,1,preface.\nFog came.\n========,2,Quays, old.\n***LIST***.\n========,3,Ropes.\n"
        "Hemp dried.\n***formula***\nE ***formula*** m.\n========,2,Preface.\nBread rose.\n"
    )
    document = read_text("1234", text)
    assert document.paragraphs is None
    assert sections(document) == [
        ("", 1, ["Fog came."]),
        ("Quays, old", 2, ["Hemp dried.", "E ***formula*** m."]),
        ("Preface", 2, ["Bread rose."]),
    ]
    titled = "========,1,preface.\n\n========,2,Quays.\nFog came.\n========,2,Ovens.\nBread rose.\n"
    assert read_text("1235", titled).titles == ["Quays", "Ovens"]


BAD_FILES = {
    "bytes.md": (b"Fog\n\xff", "got byte 0xff at 4, expected UTF-8"),
    "bytes.rst": (b"\x80", "expected UTF-8"),
    "empty.txt": (b"", "got 0 sentences"),
    "flat.md": (b"Fog came. Boats waited.", "found no section: expected headings"),
    "top.html": (b"<h1>Quays</h1><p>Fog came. Boats waited.</p>", "found no section"),
    "end.rst": (b"Fog came. Boats waited.\n\nOvens\n=====\n", "found no section"),
    "one.ref": (b"==========\nFog came in here .\nBoats .\n==========\n", "found no section"),
    "wiki": (b"========,1,preface.\nFog came.\n", "it has no gap"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_a_file_without_sections_is_named_or_skipped(here: Path, name: str) -> None:
    content, reason = BAD_FILES[name]
    Path(name).write_bytes(content)
    with pytest.raises(InputError, match=rf"^{name}: ") as caught:
        list(read_documents([name]))
    assert reason in str(caught.value)
    skipped: list[SkippedRow] = []
    write_rows("good.jsonl", ROW)
    assert len(list(read_documents([name, "good.jsonl"], on_skip=skipped.append))) == 1
    assert [row.where for row in skipped] == [name]


# What was written comes back, whatever the format.

WORDS = ["harbour", "rope", "bread", "lantern", "gull", "oven", "tide", "barley", "öre", "naïve"]


@dataclass
class Written:
    """A document: sections of paragraphs of sentences, the first section perhaps untitled."""

    titles: list[str]
    paragraphs: list[list[list[str]]]

    def blocks(self) -> Iterator[tuple[str, list[list[str]]]]:
        yield from zip(self.titles, self.paragraphs, strict=True)

    @property
    def sections(self) -> list[list[str]]:
        return [[sentence for block in section for sentence in block] for section in self.paragraphs]


def flat(blocks: list[list[str]], end: str = "\n\n") -> str:
    return "".join(f"{' '.join(block)}{end}" for block in blocks)


def as_rst(title: str, blocks: list[list[str]]) -> str:
    return (f"{title}\n{'=' * len(title)}\n" if title else "") + flat(blocks)


def as_html(title: str, blocks: list[list[str]]) -> str:
    return (f"<h2>{title}</h2>" if title else "") + "".join(f"<p>{' '.join(block)}\n</p>" for block in blocks)


def write_all(written: Written) -> None:
    """Write a document in every format to the working directory."""
    parts = written.sections
    sentences = [sentence for part in parts for sentence in part]
    labels = [int(number == len(part) - 1) for part in parts for number in range(len(part))]
    boundaries = [number for number, label in enumerate(labels[:-1], 1) if label]
    separator = "=" * 10
    wiki = [f"========,{1 + bool(t)},{t or 'preface'}.\n" for t in written.titles]
    texts = {
        "boundaries.jsonl": json.dumps({"sentences": sentences, "boundaries": boundaries}),
        "labels.jsonl": json.dumps({"sentences": sentences, "labels": labels}),
        "choi.ref": separator + "".join(f"\n{line}" for part in parts for line in [*part, separator]),
        "wiki": "".join(
            head + "".join(f"{s}\n" for s in part) for head, part in zip(wiki, parts, strict=True)
        ),
        "a.md": "".join((f"## {t}\n" if t else "") + flat(blocks) for t, blocks in written.blocks()),
        "a.rst": "".join(as_rst(t, blocks) for t, blocks in written.blocks()),
        "a.txt": "".join(as_rst(t, blocks) for t, blocks in written.blocks()),
        "a.html": "<meta charset=utf-8>" + "".join(as_html(t, blocks) for t, blocks in written.blocks()),
    }
    for name, text in texts.items():
        Path(name).write_text(text, encoding="utf-8")


SENTENCES = st.lists(st.sampled_from(WORDS), min_size=3, max_size=6).map(
    lambda w: " ".join(w).capitalize() + "."
)
SECTIONS = st.lists(st.lists(SENTENCES, min_size=1, max_size=3), min_size=1, max_size=3)


@st.composite
def documents(draw: st.DrawFn) -> Written:
    paragraphs = draw(st.lists(SECTIONS, min_size=2, max_size=5))
    titles = [f"{draw(st.sampled_from(WORDS))} {number}" for number in range(len(paragraphs))]
    return Written(["" if draw(st.booleans()) else titles[0], *titles[1:]], paragraphs)


@settings(max_examples=60, deadline=None)
@given(written=documents())
def test_every_format_gives_back_what_was_written(
    written: Written, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    before = Path.cwd()
    os.chdir(folder)
    try:
        write_all(written)
        found = {
            name: next(read_documents([name]))
            for name in (
                "boundaries.jsonl",
                "labels.jsonl",
                "choi.ref",
                "wiki",
                "a.md",
                "a.rst",
                "a.txt",
                "a.html",
            )
        }
    finally:
        os.chdir(before)
    expected_starts = [len(block) for section in written.paragraphs for block in section]
    for name, document in found.items():
        cuts = [0, *document.boundaries, len(document.sentences)]
        parts = [list(document.sentences[a:b]) for a, b in pairwise(cuts)]
        assert parts == written.sections, name
        if name.startswith("a."):
            starts = [0, *(document.paragraphs or ()), len(document.sentences)]
            assert [b - a for a, b in pairwise(starts)] == expected_starts, name
        if name.startswith(("a.", "wiki")):
            assert document.titles == written.titles, name
