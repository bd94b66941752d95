"""Structure of Markdown: headings cut, tables and code do not, and offsets are those of the source."""

import textwrap
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from segmenter import ChunkConfig, Segmenter
from segmenter.chunkers import FixedSizeChunker, ParagraphChunker
from segmenter.sentences import SentencexSplitter, split_document
from segmenter.structure import from_markdown

from .cutting import segmentation, words
from .test_contract import MANY, TEXTS

MANUAL = """---
name: boiler
---

# Handbook

## Care

Flush the group head. Oils
turn bitter. Do it daily.

| part | days |
|---|---|
| head | 1 |
| basket | 7 |
| screen | 30 |

- one item
- two items
  - a nested one
- three items

### Deep

```py
a = 1

b = 2
```

Text after code.

## Other
Text here.
"""
PIECES = st.lists(
    st.sampled_from(
        [
            "# A\n", "## B\n\n", "Setext\n===\n", "Text. More text!\n", "\n", "- a\n- b\n", "> quote\n",
            "1. x\n\n   y\n", "    indented\n",
            "```\ncode. Code.\n\nmore\n", "```\n", "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n", "<div>\n",
            "---\n", "\f", "\r\n", "\ud800", "***\n", "[a]: b\n", "#\n", "世界。大雾。\n",
        ]
    ),
    max_size=25,
).map("".join)  # fmt: skip


def test_headings_give_sections_and_a_title() -> None:
    document = from_markdown(MANUAL, id="m")
    assert document.title == "Handbook"
    assert [section.path for section in document.sections] == [
        ("Handbook", "Care"),
        ("Handbook", "Care", "Deep"),
        ("Handbook", "Other"),
    ]
    chunks = ParagraphChunker(ChunkConfig(header="{document} > {section}")).chunk(document)
    assert chunks[0].section == ()
    assert chunks[1].text.startswith("# Handbook\n\n## Care\n\nFlush")
    assert chunks[1].context.header == "Handbook > Handbook > Care\n\n"
    assert chunks[-1].section == ("Handbook", "Other")
    assert chunks[-1].title == "Other"
    assert FixedSizeChunker(5, 0).chunk(document)[-1].section == ("Handbook", "Other")


def test_blocks_stay_whole_and_headings_cut(tiny: Segmenter) -> None:
    document = from_markdown(MANUAL)
    for threshold in (0.0, 0.5, 1.0):
        chunks = tiny.segment(document, chunks=ChunkConfig(threshold=threshold)).chunks
        starts = {chunk.start for chunk in chunks}
        assert {section.start for section in document.sections} <= starts
        assert not {section.body for section in document.sections} & starts
        for block in document.blocks:
            assert not any(block.start < start < block.end for start in starts)
        assert "".join(chunk.text for chunk in chunks) == MANUAL


def test_a_table_that_is_too_long_is_cut_between_rows_and_its_header_repeated() -> None:
    rows = "".join(f"| part{n} | {n} |\n" for n in range(40))
    text = f"# Parts\n\nAll of them:\n\n| part | days |\n|---|---|\n{rows}\nThe end.\n"
    chunks = ParagraphChunker(ChunkConfig(max_tokens=60, header="{section}"), words).chunk(
        from_markdown(text)
    )
    assert "".join(chunk.text for chunk in chunks) == text
    inside = [chunk for chunk in chunks if chunk.text.startswith("| part")]
    assert len(inside) > 2
    assert not inside[0].context.header.endswith("|---|---|\n")
    for chunk in inside[1:]:
        assert chunk.context.header == "Parts\n\n| part | days |\n|---|---|\n"
        assert all(
            line.startswith("| part") and line.endswith(" |") for line in chunk.text.split("\n") if line
        )
        assert words(chunk.embed_text) == chunk.token_count <= 60
    whole = ParagraphChunker(ChunkConfig(max_tokens=400), words).chunk(from_markdown(text))
    assert sum("part0 " in chunk.text and "part39" in chunk.text for chunk in whole) == 1


@pytest.mark.parametrize("block", ["- item number {}\n", "{}. item\n", "```\n{}\n```\n"])
def test_lists_and_code_are_cut_between_items_and_lines(block: str) -> None:
    if block.startswith("`"):
        text = block.format("\n".join(f"line number {n}" for n in range(50)))
    else:
        text = "".join(block.format(n) for n in range(1, 51))
    document = from_markdown(text)
    (found,) = document.blocks
    assert (found.start, found.end) == (0, len(text))
    chunks = ParagraphChunker(ChunkConfig(max_tokens=30), words).chunk(document)
    assert len(chunks) > 3
    assert all(chunk.text.endswith("\n") and words(chunk.text) <= 30 for chunk in chunks)


def test_front_matter_is_cut_between_lines() -> None:
    lines = "".join(f"key{number}: a value of it\n" for number in range(20))
    text = f"---\n{lines}---\nText."
    chunks = ParagraphChunker(ChunkConfig(max_tokens=30), words).chunk(from_markdown(text))
    assert "".join(chunk.text for chunk in chunks) == text
    assert len(chunks) > 3
    assert all(chunk.text.startswith(("---", "key", "Text")) for chunk in chunks)
    whole = ParagraphChunker(ChunkConfig(max_tokens=110), words).chunk(from_markdown(text))
    assert [chunk.text for chunk in whole] == [text.removesuffix("Text."), "Text."]


BLOCKS = st.lists(
    st.sampled_from(
        [
            "## A heading\n", "One sentence here. Another one of it, a longer one!\n",
            "- first of them\n- second\n  - nested in it\n- the third\n",
            "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |\n",
            "```\ncode, and more\n\nmore of it\n```\n", "1. x\n2. y\n",
        ]
    ),
    max_size=12,
).map("\n".join)  # fmt: skip


@MANY
@given(text=BLOCKS, most=st.integers(4, 40), threshold=st.floats(0, 1), seed=st.integers(0, 99))
def test_a_block_that_fits_is_never_cut(text: str, most: int, threshold: float, seed: int) -> None:
    document = from_markdown(text)
    sentences = split_document(document, SentencexSplitter())
    chances = np.random.default_rng(seed).random(max(0, len(sentences) - 1))
    result = replace(segmentation(text, chances, sentences=sentences), document=document)
    config = ChunkConfig(max_tokens=most, threshold=threshold)
    starts = {chunk.start for chunk in result.rechunk(config, words).chunks}
    for block in document.blocks:
        if words(text[block.start : block.end]) <= most:
            assert not any(block.start < start < block.end for start in starts)


@MANY
@given(text=PIECES | TEXTS, threshold=st.floats(0, 1), most=st.none() | st.integers(1, 30))
def test_any_markdown_is_covered(text: str, threshold: float, most: int | None) -> None:
    document = from_markdown(text)
    sentences = split_document(document, SentencexSplitter())
    assert "".join(sentence.text for sentence in sentences) == text
    for left, right in pairwise(sentences):
        assert left.end == right.start
        assert right.text.strip()
    assert not sentences or sentences[0].start == 0
    for left, right in pairwise(document.blocks):
        assert left.end <= right.start
    chunks = ParagraphChunker(ChunkConfig(max_tokens=most), words).chunk(document)
    assert "".join(chunk.text for chunk in chunks) == text
    assert most is None or all(words(chunk.embed_text) <= most for chunk in chunks)


def test_wrapped_and_flowing_text_have_the_same_boundaries(tiny: Segmenter, examples: dict[str, str]) -> None:
    flowing = "\n\n".join(" ".join(part.split()) for part in examples["harbour.txt"].split("\n\n"))
    wrapped = "\n\n".join(textwrap.fill(part, 40) for part in flowing.split("\n\n"))
    assert len(wrapped.split("\n")) > len(flowing.split("\n")) + 5
    first, second = (tiny.segment(from_markdown(text)) for text in (flowing, wrapped))
    assert [s.text.split() for s in first.sentences] == [s.text.split() for s in second.sentences]
    np.testing.assert_allclose(first.probabilities, second.probabilities, atol=1e-5)
    assert first.boundaries == second.boundaries


def test_wrapped_and_flowing_plain_text_have_the_same_boundaries(
    tiny: Segmenter, examples: dict[str, str]
) -> None:
    flowing = "\n\n".join(" ".join(part.split()) for part in examples["harbour.txt"].split("\n\n"))
    wrapped = "\n\n".join(textwrap.fill(part, 40) for part in flowing.split("\n\n"))
    first, second = (tiny.segment(text) for text in (flowing, wrapped))
    assert [s.text.split() for s in first.sentences] == [s.text.split() for s in second.sentences]
    assert first.boundaries == second.boundaries


def test_windows_line_ends_and_pages() -> None:
    text = "# One\r\n\r\nFirst line.\r\nSecond.\r\n\f\r\n# Two\r\n\r\nThird.\r\n"
    chunks = ParagraphChunker().chunk(from_markdown(text))
    assert "".join(chunk.text for chunk in chunks) == text
    assert [(chunk.section, chunk.page) for chunk in chunks] == [(("One",), 1), (("Two",), 2)]
