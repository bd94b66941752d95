"""HTML as documents: what its text is, where that stands in the source, and the same cuts as of Markdown."""

import html
import random
import time
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from segmenter import Chunk, ChunkConfig, Document, Segmenter, merge
from segmenter.chunkers import Chunker, FixedSizeChunker, ParagraphChunker
from segmenter.sentences import SentencexSplitter, split_document
from segmenter.structure import from_html, from_markdown

from .cutting import words
from .test_contract import MANY, TEXTS

PAGE = """<!DOCTYPE html><HTML><head><title>The &quot;boiler&quot;
 handbook</title><style>p { color: red }</style><script>if (a < b) document.write("<p>no</p>")</script>
<body><nav><h2>Menu</h2>Home<ul><li>Away</ul></nav>
<!-- not <p>this</p> --><h1>Handbook<a href="#h">¶</a></h1>
<h2>Care</H2>
<P>Flush   the group
head. Oils &quot;turn&quot; AT&ampT bitter.&nbsp;Do it.<p>&nbsp;<p>Gulls<br>slept<br><br>3 < 4, </>&#x1F642;
<template><p>Not this.</template><noscript>Nor <b>this</b>.</noscript>
<table><caption>Parts</caption><tr><th>part<th>days<tr><td>head<td>1<tr><td>basket<td><p>7<p>8
<tr><td>screen<td></td><td>30</table>
<ul><li>one item<li>two items<ul><li>a nested one</ul><li><p>three<p>items</ul>
<dl><dt>lime<dd>white<dt>oil<dd>brown</dl>
<pre>

  knot:
    twice &lt;<b>b</b>&gt;

</pre>
<blockquote><p>Quoted.</blockquote>
"""
TEXT = """Handbook

Care

Flush the group head. Oils "turn" AT&T bitter.\xa0Do it.

Gulls
slept

3 < 4, 🙂

Parts
part\tdays
head\t1
basket\t7 8
screen\t\t30

one item
two items
a nested one
three
items

lime
white
oil
brown

  knot:
    twice <b>

Quoted."""
TAGS = [
    "p", "div", "li", "ul", "ol", "dl", "dt", "dd", "table", "tr", "td", "th", "thead", "tbody", "caption",
    "h1", "h2", "h6", "pre", "b", "a", "span", "br", "hr", "title", "nav", "script", "style", "template",
    "svg", "noscript", "textarea", "select", "option", "main", "article", "blockquote", "body", "head",
    "html", "plaintext",
]  # fmt: skip
SOUP = st.lists(
    st.sampled_from(
        [
            *(f"<{tag}>" for tag in TAGS), *(f"</{tag}>" for tag in TAGS), "<P CLASS='a'>", "<td ", "<br/>",
            "Fog came in. ", "Boats waited.", "harbour", " ", "\n", "\r\n", "\r", "\t", "\f", "\0", "\xa0",
            "\ud800", "<", "</", "</>", ">", "&", "&amp;", "&amp", "&ampx", "&nbsp;", "&#32;", "&#10;",
            "&acE;", "&notit;", "&#xD800;", "&#0;", "&#x80", "&bogus;", "<!-- no", "-->", "<!", "<?php ?>",
            "<![CDATA[x]]>", "'", '"', "世界。", "🙂", "¶",
        ]
    ),
    max_size=40,
).map("".join)  # fmt: skip


def origins(document: Document) -> list[tuple[str, int, int]]:
    """Every run of the text, and where it is from."""
    found = document.source_map
    assert found is not None
    assert (found.starts[0], found.starts[-1]) == (0, len(document.text))
    runs = zip(pairwise(found.starts), found.sources, found.ends, strict=True)
    return [(document.text[a:b], start, end) for (a, b), start, end in runs]


def assert_origins(source: str, document: Document) -> None:
    """Every character but white space is where the map says it is."""
    last = 0
    for text, start, end in origins(document):
        assert last <= start <= end <= len(source)
        last = end
        if start == end:
            assert not text.strip()
        elif len(source[start:end]) <= len(text):
            for number, character in enumerate(text):
                same = start + number < end and source[start + number] == character
                assert same or character.isspace()
        else:
            assert source[start] == "&"
            assert html.unescape(source[start:end]) == text
    ink = [place for place, character in enumerate(document.text) if not character.isspace()]
    for place in ink:
        start, end = document.source_map.span(place, place + 1)  # type: ignore[union-attr]
        assert start == end or html.unescape(source[start:end]).startswith(document.text[place])


def assert_chunks(source: str, chunks: Sequence[Chunk]) -> None:
    for left, right in pairwise(chunks):
        assert left.source_end <= right.source_start
    for chunk in chunks:
        assert 0 <= chunk.source_start <= chunk.source_end <= len(source)


def test_text_is_what_a_reader_sees() -> None:
    document = from_html(PAGE, id="a.html")
    assert document.text == TEXT
    assert (document.id, document.title) == ("a.html", 'The "boiler" handbook')
    assert [section.path for section in document.sections] == [("Handbook", "Care")]
    blocks = {document.text[block.start : block.end]: block for block in document.blocks}
    table, items, terms, code = blocks
    assert table.startswith("Parts\npart\t")
    assert blocks[table].head == "Parts\npart\tdays\n"
    assert [TEXT[place:].split()[0] for place in blocks[table].items] == ["basket", "screen"]
    assert [TEXT[place:].split()[0] for place in blocks[items].items] == ["two", "a", "three"]
    assert [TEXT[place:].split()[0] for place in blocks[terms].items] == ["oil"]
    assert (items[-5:], terms[:4], code) == ("items", "lime", "  knot:\n    twice <b>")
    assert [TEXT[place:] for place in blocks[code].items] == ["    twice <b>\n\nQuoted."]
    assert_origins(PAGE, document)


def test_chunks_say_where_they_are_in_the_source() -> None:
    document = from_html(PAGE)
    chunks = ParagraphChunker().chunk(document)
    shown = [PAGE[chunk.source_start : chunk.source_end] for chunk in chunks]
    assert shown[0].startswith(
        'Handbook<a href="#h">¶</a></h1>\n<h2>Care</H2>\n<P>Flush   the group\nhead. Oils &quot;'
    )
    assert shown[0].endswith("bitter.&nbsp;Do it.")
    assert shown[1:3] == ["Gulls<br>slept", "3 < 4, </>&#x1F642;"]
    assert shown[-2:] == ["  knot:\n    twice &lt;<b>b</b>&gt;", "Quoted."]
    assert chunks[0].row()["source_start"] == PAGE.index("Handbook<a")
    joined = merge([chunks[2], chunks[1]])[0]
    assert PAGE[joined.source_start : joined.source_end].startswith("Gulls<br>slept<br><br>3 <")
    (other,) = ParagraphChunker().chunk("Not taken out of anything.")
    assert (other.source_start, other.source_end) == (other.start, other.end)


@MANY
@given(source=SOUP | TEXTS, size=st.integers(1, 9), unit=st.sampled_from(["words", "characters"]))
def test_any_tags_at_all(source: str, size: int, unit: str) -> None:
    document = from_html(source)
    assert_origins(source, document)
    for chunker in (FixedSizeChunker(size, 0, unit), ParagraphChunker()):  # type: ignore[arg-type]
        chunks = chunker.chunk(document)
        assert "".join(chunk.text for chunk in chunks) == document.text
        assert_chunks(source, chunks)
    for left, right in pairwise(document.blocks):
        assert left.end <= right.start
    for block in document.blocks:
        assert block.start < block.end
        assert list(block.items) == sorted(
            {place for place in block.items if block.start < place < block.end}
        )
        assert document.text[block.start :].startswith(block.head)
        inside = {section.start for section in document.sections}
        assert not any(block.start <= place < block.end for place in inside)
    assert list(document.paragraphs or ()) == sorted(set(document.paragraphs or ()))
    sentences = split_document(document, SentencexSplitter())
    assert "".join(sentence.text for sentence in sentences) == document.text
    assert all(sentence.text.strip() for sentence in sentences)


INLINE = [
    "Fog came in.",
    "Boats <b>wait</b>ed.",
    "A &lt; B &amp; c.",
    "caf&eacute; <i>x</i>y",
    "世界。",
    "<!-- no -->z",
]


@MANY
@given(data=st.data(), size=st.integers(1, 6))
def test_the_source_of_a_chunk_holds_its_text(data: st.DataObject, size: int) -> None:
    source = ""
    for _ in range(data.draw(st.integers(1, 6))):
        inside = " ".join(data.draw(st.lists(st.sampled_from(INLINE), min_size=1, max_size=4)))
        open_, close = data.draw(
            st.sampled_from(
                [("<p>", ""), ("<h2>", "</h2>\n"), ("<ul><li>", "</ul>"), ("<div><p>", "</div>\n")]
            )
        )
        source += open_ + inside + close
    document = from_html(source)
    for chunk in FixedSizeChunker(size, 0).chunk(document):
        part = from_html(source[chunk.source_start : chunk.source_end]).text
        assert part.split() == chunk.text.split()


BROKEN = {
    "<p>a<p>b<div>c</p>d": "a\n\nb\n\nc\n\nd",
    "<ul><li>a<li>b<ul><li>c</ul>d</ul>e": "a\nb\nc\nd\n\ne",
    "<table><tr><td>a<td>b<tr><td>c<td>d</table>e": "a\tb\nc\td\n\ne",
    "<table><td>a<td>b</table>": "a\tb",
    "<table><tr><td>a<table><tr><td>b<td>c</table><td>d</table>": "a\n\nb\tc\n\nd",
    "<div><nav>menu</div><p>text": "text",
    "a<script>x</script>b<style>y": "ab",
    "<IFRAME><p>x</IFRAME>a": "a",
    "a</p>b</br>c</div>d": "a\n\nb\ncd",
    "<h1>A<p>b": "A\n\nb",
    "<td>a<td>b": "a\n\nb",
    "a\0b <b>c</b>d <i>e</i>": "ab cd e",
    "<b>a</b>\n<b>b</b><span> c</span>": "a b c",
    "a<!-- b -->c<!>d<?e?>f": "acdf",
    "<textarea> a  b</textarea>": "a b",
    "&lt;p&gt; &#x26;amp; &copy &notit; &#32; x": "<p> &amp; © ¬it; x",
    "<svg><title>no</title><text>a</text></svg><title>yes</title>": "a",
    "<p>a<br><br><br>b<br>c": "a\n\nb\nc",
    "<pre>a\r\n b</pre>\f<pre>\n</pre>c": "a\r\n b\n\nc",
    "": "",
    " <p> </p>&nbsp;": "",
}


@pytest.mark.parametrize("source", BROKEN)
def test_broken_html(source: str) -> None:
    document = from_html(source)
    assert document.text == BROKEN[source]
    assert_origins(source, document)


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("<title> a\n b </title><title>c</title><h1>d</h1>", "a b"),
        ("<title></title><h1>d</h1><h2>e</h2>", "d"),
        ("<h1>d</h1><h1>e</h1>", None),
        ("<h2>e</h2><h3>f</h3>", "e"),
        ("<p>g</p>", None),
        ("<svg><title>a</title></svg>b", None),
    ],
)
def test_titles(source: str, title: str | None) -> None:
    assert from_html(source).title == title
    assert from_html(source, title="mine").title == "mine"


def test_what_only_places_things_is_no_block() -> None:
    for source in (
        "<table><tr><td><h2>A</h2>b<td>c</table>",
        "<table><tr><td>One column.<tr><td>Of text.</table>",
        "<ul><li><h2>A</h2>b<li>c</ul>",
        "<h1><table><tr><td>A<td>B</table></h1>c",
    ):
        assert from_html(source).blocks == ()
    document = from_html("<ul><li><h2>A</h2><ol><li>b<li>c</ol></ul>")
    assert [document.text[block.start : block.end] for block in document.blocks] == ["b\nc"]
    document = from_html("<table><tr><th>Name<tr><td>a</table>")
    assert document.blocks[0].head == "Name\n"


def test_a_table_that_is_too_long_is_cut_between_rows_and_its_header_repeated() -> None:
    rows = "".join(f"<tr><td>part{n}</td><td>{n}</td></tr>\n" for n in range(40))
    source = f"<h1>Parts</h1><p>All:<table><thead><tr><th>part<th>days</thead>\n<tbody>{rows}</table>The end."
    chunks = ParagraphChunker(ChunkConfig(max_tokens=30), words).chunk(from_html(source))
    inside = [chunk for chunk in chunks if chunk.text.startswith("part") and chunk.context]
    assert len(inside) > 2
    for chunk in inside:
        assert chunk.context.header == "part\tdays\n"
        assert chunk.text.endswith("\n")
        assert words(chunk.embed_text) <= 30
        assert source[chunk.source_start - 8 : chunk.source_start] == "<tr><td>"
        assert source[chunk.source_end :].startswith("</td></tr>")


# The same document in two formats.

WORDS = ["harbour", "rope", "bread", "lantern", "gull", "oven", "tide", "barley", "öre", "naïve"]
SENTENCES = st.lists(st.sampled_from(WORDS), min_size=3, max_size=6).map(
    lambda w: " ".join(w).capitalize() + "."
)
PARAGRAPHS = st.lists(SENTENCES | SENTENCES.map(lambda text: f"{text}\n"), min_size=1, max_size=4).map(
    lambda parts: " ".join(parts).replace("\n ", "\n").strip()
)
TABLES = st.lists(st.tuples(*[st.sampled_from(WORDS)] * 2), min_size=2, max_size=5).map(
    lambda rows: "\n".join(["| a | b |", "|---|---|", *(f"| {x} | {y} |" for x, y in rows)])
)
LISTS = st.lists(SENTENCES, min_size=1, max_size=4).map(
    lambda items: "\n".join(f"- {item}" for item in items)
)
CODE = st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(
    lambda lines: "\n".join(["```", *lines, "```"])
)
HEADINGS = st.tuples(st.integers(1, 3), st.sampled_from(WORDS)).map(
    lambda found: f"{'#' * found[0]} {found[1]}"
)
QUOTES = st.lists(PARAGRAPHS, min_size=1, max_size=3).map(
    lambda parts: "\n>\n".join("> " + part.replace("\n", "\n> ") for part in parts)
)
MARKDOWN = st.lists(
    st.one_of(PARAGRAPHS, PARAGRAPHS, TABLES, LISTS, CODE, HEADINGS, QUOTES), min_size=1, max_size=12
)
RENDER = MarkdownIt("commonmark").enable("table").render


def letters(text: str) -> list[str]:
    """Its words without markup."""
    rest = "".join(character if character.isalnum() else " " for character in text)
    return rest.split()


def cuts(chunker: Chunker, document: Document) -> list[tuple[tuple[str, ...], list[str]]]:
    return [(chunk.section, letters(chunk.text)) for chunk in chunker.chunk(document)]


def assert_alike(first: Document, second: Document) -> None:
    assert first.title == second.title
    splitter = SentencexSplitter()
    left, right = split_document(first, splitter), split_document(second, splitter)
    assert [letters(s.text) for s in left] == [letters(s.text) for s in right]
    assert [s.starts_paragraph for s in left] == [s.starts_paragraph for s in right]
    for one, other in zip(first.blocks, second.blocks, strict=True):
        assert letters(first.text[one.start : one.end]) == letters(second.text[other.start : other.end])
        assert letters(one.head) == letters(other.head)
    # No block is over these limits: inside of one, what markup there is says where it is full.
    for config in (None, ChunkConfig(max_tokens=70), ChunkConfig(max_tokens=70, min_tokens=20)):
        chunker = ParagraphChunker(config, letters)
        assert cuts(chunker, first) == cuts(chunker, second)


@MANY
@given(parts=MARKDOWN)
def test_markdown_and_html_are_cut_alike(parts: list[str]) -> None:
    text = "\n\n".join(parts)
    assert_alike(from_markdown(text), from_html(RENDER(text)))


def test_a_manual_in_two_formats_is_cut_alike(examples: dict[str, str]) -> None:
    text = examples["espresso.md"]
    assert len(from_html(RENDER(text)).blocks) == 2
    assert_alike(from_markdown(text), from_html(RENDER(text)))


def test_wrapped_and_flowing_html_have_the_same_boundaries(tiny: Segmenter, examples: dict[str, str]) -> None:
    flowing = "".join(
        f"<p>{html.escape(' '.join(part.split()))}</p>" for part in examples["harbour.txt"].split("\n\n")
    )
    wrapped = flowing.replace(" ", "\n   ")
    first, second = (tiny.segment(from_html(text)) for text in (flowing, wrapped))
    assert first.text == second.text
    assert first.boundaries == second.boundaries
    np.testing.assert_array_equal(first.probabilities, second.probabilities)


def test_pages_of_preformatted_text_are_form_feeds() -> None:
    source = "<pre>First page.\n\fSecond page.</pre><p>One\fspace."
    chunks = FixedSizeChunker(2, 0).chunk(from_html(source))
    assert [(chunk.text.split(), chunk.page) for chunk in chunks] == [
        (["First", "page."], 1),
        (["Second", "page."], 2),
        (["One", "space."], 2),
    ]


# Size and depth.

LARGE = {
    "divs": "<div>" * 100_000 + "text",
    "headings in lists": "<ul><li><h2>a" * 30_000,
    "paragraphs in a table": "<p><table>" + "<div>a" * 50_000,
    "tables": "<table><tr><td>a" * 30_000,
    "end tags": "<div>" * 30_000 + "</p></li></td></div></h1>" * 30_000,
    "spans": "<b><i>a" * 50_000,
    "comments": "<!--" * 100_000,
    "less-than signs": "< " * 200_000,
    "ampersands": "&amp" * 100_000 + "&" * 100_000,
    "attributes": '<a "' * 100_000,
    "scripts": "<script></scr" * 50_000,
    "white space in pre": "<pre>" + " \n<b>" * 50_000 + "x",
    "spaces": " " * 500_000 + "<p>" + "\n a" * 100_000,
    "definitions": "<dl>" + "<dt>a<dd>b" * 50_000,
    "nested pre": "<pre>\n" * 50_000 + "a",
}


@pytest.mark.parametrize("name", LARGE)
def test_large_and_deep_html_takes_linear_time(name: str) -> None:
    source = LARGE[name]
    start = time.process_time()
    document = from_html(source)
    taken = time.process_time() - start
    assert taken < 5, f"{len(source)} characters took {taken:.1f} s"
    runs = origins(document)
    assert all(a[2] <= b[1] for a, b in pairwise(runs))


@pytest.mark.filterwarnings("ignore::segmenter.UnreadableTextWarning")
def test_a_long_page(tiny: Segmenter) -> None:
    draw = random.Random(0)
    body = "".join(
        f"<h2>Part {n}</h2>\n" + "".join(f"<p>{' '.join(draw.choices(WORDS, k=30))}.</p>\n" for _ in range(5))
        for n in range(20)
    )
    chunks = tiny.segment(from_html(body), chunks=ChunkConfig(max_tokens=200)).chunks
    assert_chunks(body, chunks)
    assert {chunk.title for chunk in chunks} == {f"Part {n}" for n in range(20)}
    for chunk in chunks:
        assert letters(from_html(body[chunk.source_start : chunk.source_end]).text) == letters(chunk.text)
