"""Pages, figures and colours, without a browser; test_browser.py looks at the pages through one."""

import io
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from segmenter import Document, InputError, Segmenter
from segmenter.chunkers import FixedSizeChunker, ParagraphChunker
from segmenter.labelled import LabelledDocument
from segmenter.profiling import Profile
from segmenter.structure import from_markdown
from segmenter.view import compare_page, labelled_page, page, plot
from segmenter.view.picture import picture_of
from segmenter.view.sides import text_of_windows
from segmenter.view.terminal import show_chunks, show_result, sparkline

from .conftest import ROOT
from .cutting import HARD, segmentation
from .test_cli import assert_one_line_of_error, on_a_terminal, run

HOSTILE = (
    "One </script><script>alert(1)</script> here. <!-- two <b>bold</b> --> &amp; more. "
    "{{script}} {{data}} three 🙂 \ud800. Four\u2028five\u2029six \x00 end."
)


class _Scripts(HTMLParser):
    """Collects elements and the content of scripts, as a browser would."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self._open: dict[str, str | None] | None = None
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self._open = dict(attrs) if tag == "script" else None

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self.scripts.append((self._open, data))
            self._open = None


def data_of(html: str) -> dict[str, Any]:
    (text,) = [text for attributes, text in _Scripts(html).scripts if attributes.get("id") == "data"]
    found: dict[str, Any] = json.loads(text)
    return found


def test_what_the_user_gives_stays_text() -> None:
    html = page(segmentation(HOSTILE), title="<i>title</i> {{policy}}")
    plain = page(segmentation("One here. Two."), title="title")
    assert _Scripts(html).tags == _Scripts(plain).tags
    assert "".join(data_of(html)["sentences"]) == HOSTILE.replace("\ud800", "\ufffd")
    assert data_of(html)["name"] == "<i>title</i> {{policy}}"
    assert "<title>&lt;i&gt;title&lt;/i&gt; {{policy}}</title>" in html
    html.encode("utf-8")


def test_a_page_is_small_and_asks_for_nothing() -> None:
    text = "The harbour is old and the fog is thick in autumn. " * 5000
    result = segmentation(text)
    assert len(result.sentences) == 5000
    html = page(result)
    assert len(html.encode()) - len(text) < 200_000
    for short in (html, compare_page({"a": result.chunks, "b": result.chunks})):
        assert "default-src 'none'" in short
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", short)
        assert not re.search(r"""(src|href)=(?!["']?data:,)""", short)


def test_with_all_that_the_model_saw_it_is_small_too(tiny: Segmenter, examples: dict[str, str]) -> None:
    text = " ".join(examples["harbour.txt"].split()) * 150
    result = tiny.segment(text)
    assert len(result.sentences) == 3000
    assert len(page(result, segmenter=tiny).encode()) - len(text) < 200_000


@pytest.mark.parametrize("name", ["harbour.txt", "career.txt", "espresso.md"])
def test_the_sides_are_what_the_model_reads(tiny: Segmenter, examples: dict[str, str], name: str) -> None:
    text = examples[name]
    preparer = tiny.preparer
    prepared = preparer.prepare(text, Profile())
    strings = [sentence.text for sentence in prepared.sentences]
    sides = text_of_windows(prepared.windows, strings, preparer.tokenizer)
    vocabulary = {number: token for token, number in vocabulary_of(tiny).items()}
    assert sides.has_marks == any(sentence.starts_paragraph for sentence in prepared.sentences)
    trimmed = 0
    for index, gap in enumerate(prepared.windows.gaps.tolist()):
        left = "".join(strings[sides.first[index] : gap + 1])[sides.skipped[index] :]
        right = "".join(strings[gap + 1 : sides.last[index] + 1])
        right = right[: len(right) - sides.dropped[index]]
        for shown, ids in zip((left, right), prepared.windows.sides(index), strict=True):
            tokens = [vocabulary[number] for number in ids.tolist() if vocabulary[number] != "[unused1]"]
            assert "[UNK]" not in tokens
            assert re.sub(r"\s", "", shown).lower() == "".join(token.removeprefix("##") for token in tokens)
        trimmed += bool(sides.skipped[index] or sides.dropped[index])
    assert trimmed


def vocabulary_of(segmenter: Segmenter) -> dict[str, int]:
    folder = segmenter.__reduce__()[1][1]
    found: dict[str, int] = json.loads((Path(folder) / "tokenizer.json").read_text())["model"]["vocab"]
    return found


@pytest.mark.parametrize("name", ["surrogates and controls", "emoji", "spaceless Chinese"])
def test_the_sides_of_hard_texts_lie_in_their_sentences(tiny: Segmenter, name: str) -> None:
    text = f"Start. {HARD[name][:500]}. End of it.\n\n{HARD[name][:50]}\n\n\x07"
    prepared = tiny.preparer.prepare(text, Profile())
    strings = [sentence.text for sentence in prepared.sentences]
    sides = text_of_windows(prepared.windows, strings, tiny.preparer.tokenizer)
    gaps = prepared.windows.gaps
    assert len(gaps)
    assert ((sides.first >= 0) & (sides.first <= gaps)).all()
    assert ((sides.last > gaps) & (sides.last < len(strings))).all()
    for number, out in ((sides.first, sides.skipped), (sides.last, sides.dropped)):
        assert ((out >= 0) & (out <= [len(strings[one]) for one in number])).all()


def test_only_scored_gaps_are_candidates(tiny: Segmenter, examples: dict[str, str]) -> None:
    result = tiny.segment(examples["harbour.txt"])
    assert not result.scored.all()
    picture = picture_of(result)
    np.testing.assert_array_equal(picture.candidates, result.scored)
    data = data_of(page(result))
    assert data["gaps"] == np.flatnonzero(result.scored).tolist()
    assert np.array(data["chances"], np.float32).tolist() == result.probabilities[result.scored].tolist()


def test_headings_are_forced_and_what_follows_them_is_held(tiny: Segmenter, examples: dict[str, str]) -> None:
    document = from_markdown(examples["espresso.md"])
    result = tiny.segment(document)
    picture = picture_of(result)
    starts = [sentence.start for sentence in result.sentences]
    headings = {section.start for section in document.sections}
    bodies = {section.body for section in document.sections}
    for gap in range(len(picture.forced)):
        start = starts[gap + 1]
        assert picture.forced[gap] == (start in headings)
        assert picture.candidates[gap] == (bool(result.scored[gap]) and start not in headings | bodies)


def test_a_segmenter_of_other_sentences_is_told(tiny: Segmenter, tiny_folder: Path) -> None:
    other = Segmenter.from_pretrained(tiny_folder, sentences="lines")
    with pytest.raises(InputError, match="splits the text in another way"):
        page(tiny.segment("One is here. Two is there."), segmenter=other)


@pytest.mark.parametrize("text", ["", " \n", "One.", "One. Two.", "\ud800"])
def test_small_texts_have_pages(tiny: Segmenter, text: str) -> None:
    result = tiny.segment(text)
    data = data_of(page(result, segmenter=tiny))
    assert len(data["sentences"]) == len(result.sentences)
    chunks = result.chunks
    assert data_of(compare_page({"a": chunks, "b": chunks}))["cuts"][0]["name"] == "a"
    assert plot(result).axes


def test_a_labelled_page_has_the_labels_and_the_model_s_threshold(tiny: Segmenter) -> None:
    document = LabelledDocument("doc", ["One is.", "Two is.", "Three is.", "Four is."], [2], [2], ["", "T"])
    data = data_of(labelled_page(document, tiny, title="Title"))
    assert data["name"] == "Title"
    assert data["labels"] == {"boundaries": [2], "titles": ["", "T"]}
    assert (data["paragraphs"], data["gaps"], data["glue"]) == ([2], [1], " ")
    assert data["threshold"] == tiny.config.threshold_for(at_breaks=True)
    assert np.float32(data["chances"][0]) == tiny.predict(document.sentences, [2])[1]


def test_two_cuts_have_the_pieces_between_them() -> None:
    text = "Alpha beta gamma. Delta epsilon.\n\nZeta eta theta iota."
    cuts = {
        "words": FixedSizeChunker(4, 1).chunk(text),
        "paragraphs": ParagraphChunker().chunk(text),
    }
    data = data_of(compare_page(cuts, title="Name"))
    pieces = data["pieces"]
    assert "".join(pieces) == text
    starts = np.cumsum([0, *map(len, pieces)])
    for (name, chunks), shown in zip(cuts.items(), data["cuts"], strict=True):
        assert shown["name"] == name
        assert [starts[chunk["piece"]] for chunk in shown["chunks"]] == [chunk.start for chunk in chunks]
    assert data["cuts"][0]["chunks"][1]["repeated"] == 1
    assert {chunk["repeated"] for chunk in data["cuts"][1]["chunks"]} == {0}
    assert len(pieces) == len({chunk.start for chunks in cuts.values() for chunk in chunks})


def test_cuts_of_different_texts_are_told() -> None:
    one, two = (ParagraphChunker().chunk(text) for text in ("One.", "Two."))
    with pytest.raises(InputError, match="different texts"):
        compare_page({"a": one, "b": two})
    with pytest.raises(InputError, match="got 1 cuts"):
        compare_page({"a": one})


def test_a_figure_has_a_line_for_every_scored_gap(tmp_path: Path) -> None:
    result = segmentation("One is. Two is. Three is. Four is.", [0.1, 0.9, 0.6])
    figure = plot(result, boundaries=[1])
    (axes,) = figure.axes
    drawn = [
        segment
        for lines in axes.collections
        if hasattr(lines, "get_segments")
        for segment in lines.get_segments()
    ]
    tops = sorted((float(x), round(float(y), 4)) for (x, _), (_, y) in drawn)
    assert tops == [(1, 0.1), (2, 0.9), (3, 0.6)]
    assert [line.get_xdata().tolist() for line in axes.lines if line.get_marker() == "o"] == [[2, 3]]
    for suffix in ("pdf", "svg", "png"):
        figure.savefig(tmp_path / f"figure.{suffix}")
        assert (tmp_path / f"figure.{suffix}").stat().st_size > 1000
    assert {"chunks", "sections"} == {text.get_text() for text in axes.texts} - {"threshold 0.50"}
    with pytest.raises(InputError, match="got boundary 4, expected 1 to 3"):
        plot(result, boundaries=[4])


def drawn(*parts: Any, width: int = 60) -> str:
    console = Console(
        file=io.StringIO(), width=width, force_terminal=True, color_system="truecolor", highlight=False
    )
    for part in parts:
        (show_chunks if isinstance(part, tuple) else show_result)(console, part)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def plain(shown: str) -> str:
    return re.sub(r"\x1b\[[\d;]*m", "", shown)


def test_a_sparkline_has_a_bar_a_gap_and_marks_boundaries() -> None:
    text = "One is. Two is. Three is. Four is. Five is."
    line = sparkline(segmentation(text, [0.0, 0.5, 0.99, 0.2]), 80)
    assert line.plain == "▁▅█▂"
    assert [str(span.style) for span in line.spans] == ["dim", "dim", "bold red", "dim"]
    # Of several gaps in a column the highest is seen.
    assert sparkline(segmentation(text, [0.0, 0.5, 0.99, 0.2]), 2).plain == "▅█"


def test_chunks_on_a_terminal_are_text(tiny: Segmenter) -> None:
    text = "[red]One[/red] is \x1b[31mhere\x07. \ud800 Two.\r\n\r\nThree\tis longer than a line.\n"
    result = tiny.segment(Document(text=text, id="a[b]"))
    shown = drawn(result, width=40)
    assert "\x1b[31m" not in shown
    assert "\x07" not in shown
    assert "[red]One[/red] is \ufffd[31mhere\ufffd." in plain(shown)
    assert "\ufffd Two." in plain(shown)
    assert "a[b]" in plain(shown)
    assert all(len(line) <= 40 for line in plain(shown).splitlines())


def test_a_terminal_shows_colours_and_a_pipe_none(tiny_folder: Path) -> None:
    arguments = ("segment", ROOT / "examples" / "harbour.txt", "--model", tiny_folder)
    shown = on_a_terminal(*arguments)
    # Seven paragraph breaks.
    assert re.search(r"^[▁▂▃▄▅▆▇█]{7}\r$", plain(shown), flags=re.MULTILINE)
    assert "\x1b[35m" in shown
    assert "\x1b[36m" in shown
    piped = run(*arguments).stdout.decode()
    assert "\x1b" not in piped
    assert "▌" not in piped
    words = re.sub(r"[▌\s]+", " ", plain(shown))
    for chunk in re.findall(r"^(?!── ).+$", piped, flags=re.MULTILINE):
        assert " ".join(chunk.split()) in words
    rows = on_a_terminal(*arguments, "--format", "jsonl")
    assert "\x1b" not in rows
    fixed = on_a_terminal("segment", ROOT / "examples" / "harbour.txt", "--chunker", "words")
    assert "▌" in fixed
    assert "█" not in fixed


def test_view_writes_a_page(tiny: Segmenter, tiny_folder: Path, tmp_path: Path) -> None:
    text = "The harbour is old. Fog is common — 🙂.\r\n\r\nShe left school.\n"
    (tmp_path / "one.txt").write_bytes(text.encode())
    out = tmp_path / "out.html"
    done = run("view", tmp_path / "one.txt", "-o", out, "--model", tiny_folder, "--threshold", "0.25")
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == f"wrote {out}\n"
    data = data_of(out.read_text(encoding="utf-8"))
    assert data["name"] == "one.txt"
    assert "".join(data["sentences"]) == text
    assert data["threshold"] == 0.25
    assert data["sides"] is not None


def test_view_reads_labels(tiny_folder: Path, tmp_path: Path) -> None:
    rows = [
        {"id": f"doc {n}", "sentences": [f"This is {n}.", "Two.", "Three."], "boundaries": [n]}
        for n in (1, 2)
    ]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "titles.md").write_text("# A\n\nOne is. Two is.\n\n# B\n\nThree is.\n")
    out = tmp_path / "out.html"
    found = {}
    for name, *options in (("rows.jsonl",), ("rows.jsonl", "--document", "2"), ("titles.md", "--labelled")):
        done = run("view", tmp_path / name, "--output", out, "--model", tiny_folder, *options)
        assert done.returncode == 0, done.stderr
        found[name, *options] = data_of(out.read_text(encoding="utf-8"))["labels"], done.stderr.decode()
    assert [labels["boundaries"] for labels, _ in found.values()] == [[1], [2], [2]]
    assert [labels["titles"] for labels, _ in found.values()] == [None, None, ["A", "B"]]
    assert [error for _, error in found.values()] == [
        "segmenter: this is document 1, doc 1; --document shows another\n",
        "segmenter: this is document 2, doc 2; --document shows another\n",
        "",
    ]
    done = run("view", tmp_path / "titles.md", "-o", out, "--model", tiny_folder)
    data = data_of(out.read_text(encoding="utf-8"))
    assert (done.returncode, data["labels"], len(data["forced"])) == (0, None, 1)


def test_compare_writes_a_page(tiny_folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.html"
    options = (
        "--model",
        tiny_folder,
        "--chunker",
        "topic:threshold=0.3",
        "--chunker",
        "words:size=20,overlap=5",
    )
    done = run("compare", ROOT / "examples" / "harbour.txt", "-o", out, *options)
    assert (done.returncode, done.stderr) == (0, b"")
    data = data_of(out.read_text(encoding="utf-8"))
    assert [cut["name"] for cut in data["cuts"]] == ["topic:threshold=0.3", "words:size=20,overlap=5"]
    assert "".join(data["pieces"]) == (ROOT / "examples" / "harbour.txt").read_text(encoding="utf-8")
    # Options hold for both, but for what a chunker says for itself.
    chunkers = ("--chunker", "paragraphs:max_tokens=20", "--chunker", "sentences:size=500")
    done = run("compare", ROOT / "examples" / "career.txt", "-o", out, "--max-tokens", "60", *chunkers)
    assert (done.returncode, done.stderr) == (0, b"")
    first, second = data_of(out.read_text(encoding="utf-8"))["cuts"]
    assert 10 < max(chunk["tokens"] for chunk in first["chunks"]) <= 18
    assert 30 < max(chunk["tokens"] for chunk in second["chunks"]) <= 58


def test_mistakes_in_views_are_one_line(tiny_folder: Path, tmp_path: Path) -> None:
    sample, out = ROOT / "examples" / "career.txt", tmp_path / "out.html"
    model = ("--model", tiny_folder)
    assert_one_line_of_error(run("view", sample, "-o", tmp_path / "no" / "x.html", *model), "no such folder")
    assert_one_line_of_error(run("view", sample, "-o", tmp_path, *model), "Is a directory")
    assert_one_line_of_error(run("view", "none.txt", "-o", out, *model), "none.txt", "No such file")
    assert_one_line_of_error(run("view", "none.jsonl", "-o", out, *model), "no such file")
    assert_one_line_of_error(
        run("view", sample, "-o", out, "--document", "2", *model), "--document 2", "one text"
    )
    (tmp_path / "a.jsonl").write_text('{"sentences": ["A.", "B."], "boundaries": []}\n')
    assert_one_line_of_error(run("view", tmp_path / "a.jsonl", "-o", out, "--document", "3", *model), "has 1")
    assert_one_line_of_error(run("compare", sample, "-o", out, "--chunker", "words"), "expected two")
    assert_one_line_of_error(
        run("compare", sample, "-o", out, "--chunker", "words", "--chunker", "words"), "two that differ"
    )
    assert_one_line_of_error(
        run("compare", sample, "-o", out, "--chunker", "words", "--chunker", "whole", "--min-tokens", "9"),
        "--min-tokens with --chunker words",
    )
    assert not out.exists()
