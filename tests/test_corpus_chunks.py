"""Runs over corpora with every way of cutting: the rows are those of the cutter itself."""

import gzip
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import datasets
import duckdb
import pandas
import pytest
from tokenizers import Tokenizer

from segmenter import Chunk, ChunkConfig, ConfigError, CorpusError, Document, Segmenter
from segmenter.chunkers import (
    Chunker,
    FixedSizeChunker,
    ParagraphChunker,
    SentenceChunker,
    TopicChunker,
    WholeDocument,
)
from segmenter.corpus import CorpusChunker, CorpusConfig, run
from segmenter.rivals import DriftChunker, GreedyChunker, TextTilingChunker
from segmenter.structure import from_markdown

from .conftest import ROOT
from .cutting import tokens_of, wordpiece
from .test_corpus import errors_of, rows_of
from .tiny_corpus import config, text

HEADER = "{document} > {section}"
SIZES = ChunkConfig(max_tokens=48, overlap_sentences=1, neighbours=1, header=HEADER)


@pytest.fixture(scope="module")
def embedder(examples: dict[str, str]) -> Tokenizer:
    """The tokenizer of some embedder, special tokens and truncation included."""
    return wordpiece(list(examples.values()))


@pytest.fixture(scope="module")
def documents(examples: dict[str, str]) -> list[Document]:
    """What is in the files, as cutters take it."""
    return [
        Document(text="Fog is common. " * 20 + "\n\n\f" + "The fjord is deep. " * 20, id="a/pages.txt"),
        from_markdown(examples["espresso.md"], id="espresso.md"),
        Document(text=examples["harbour.txt"], id="harbour.txt"),
        Document(text=examples["career.txt"], id="career", title="A career"),
        Document(text="", id="empty", title="Nothing"),
        *(Document(text=text(number), id=f"n{number}") for number in range(6)),
    ]


@pytest.fixture
def inputs(documents: list[Document], tmp_path: Path) -> Path:
    folder = tmp_path / "in"
    (folder / "a").mkdir(parents=True)
    for document in documents[:3]:
        assert document.id
        (folder / document.id).write_bytes(document.text.encode())
    rows = [{"id": one.id, "text": one.text, "title": one.title} for one in documents[3:]]
    (folder / "z.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def expected_rows(chunker: Chunker, documents: Iterable[Document]) -> list[dict[str, Any]]:
    return [
        {**chunk.row(), "probability": pytest.approx(chunk.probability, abs=1e-4)}
        for chunks in chunker.chunk_many(documents)
        for chunk in chunks
    ]


def embed_text(row: dict[str, Any]) -> str:
    context = row["context"]
    return str(context["header"] + context["before"] + row["text"] + context["after"])


class Letters:
    """An embedder: how often each letter is there."""

    def __call__(self, texts: list[str]) -> list[list[float]]:
        return [[1.0, *(float(text.count(letter)) for letter in "aehinorst")] for text in texts]


CHUNKERS: dict[str, Callable[[Segmenter, Tokenizer], CorpusChunker]] = {
    "topic": lambda tiny, _: TopicChunker(tiny),
    "topic to sizes": lambda tiny, embedder: TopicChunker(tiny, SIZES, embedder),
    "topic of another threshold": lambda tiny, _: TopicChunker(tiny, ChunkConfig(threshold=0.2)),
    "sentences": lambda _, embedder: SentenceChunker(9, SIZES, embedder),
    "paragraphs": lambda _, embedder: ParagraphChunker(SIZES, embedder),
    "words": lambda _, embedder: FixedSizeChunker(20, 5, header=HEADER),
    "tokens": lambda _, embedder: FixedSizeChunker(20, 0.2, "tokens", tokenizer=embedder),
    "greedy": lambda _, embedder: GreedyChunker(30, embedder),
    "texttiling": lambda _, embedder: TextTilingChunker(10, 2, ChunkConfig(max_tokens=99), embedder),
    "drift": lambda _, embedder: DriftChunker(Letters(), 70, config=SIZES, tokenizer=embedder),
    "whole": lambda _, embedder: WholeDocument(),
}


@pytest.mark.parametrize("name", CHUNKERS)
def test_rows_are_those_of_the_cutter(
    tiny: Segmenter, embedder: Tokenizer, documents: list[Document], inputs: Path, tmp_path: Path, name: str
) -> None:
    chunker = CHUNKERS[name](tiny, embedder)
    report = run([inputs], tmp_path / "out", chunker, config(shard_size=4))
    rows = rows_of(tmp_path / "out")
    assert rows == expected_rows(chunker, documents)
    assert (report.documents, report.empty_documents, report.bad_documents) == (len(documents), 1, 0)
    assert (report.gaps > 0) == (report.seconds_model > 0) == name.startswith("topic")
    found: dict[str, str] = {}
    for row in rows:
        found[row["doc_id"]] = found.get(row["doc_id"], "") + row["text"]
    assert found == {one.id: one.text for one in documents if one.text}
    assert report.fingerprints == tuple(sorted({row["fingerprint"] for row in rows}))
    about = json.loads((tmp_path / "out" / "run.json").read_text())
    assert about["fingerprints"] == list(report.fingerprints)
    assert about["identity"].items() >= json.loads(json.dumps(chunker.identity())).items()


@pytest.mark.parametrize("name", ["topic to sizes", "paragraphs"])
def test_processes_change_nothing(
    tiny: Segmenter, embedder: Tokenizer, inputs: Path, tmp_path: Path, name: str
) -> None:
    chunker = CHUNKERS[name](tiny, embedder)
    (inputs / "bad.txt").write_bytes(b"\xff")
    for workers in (0, 2):
        run([inputs], tmp_path / str(workers), chunker, config(shard_size=4, workers=workers))
    assert rows_of(tmp_path / "0") == rows_of(tmp_path / "2")
    assert errors_of(tmp_path / "0") == errors_of(tmp_path / "2")
    assert list(errors_of(tmp_path / "2")) == ["bad.txt"]


def test_sizes_hold_and_say_where_chunks_are_from(
    tiny: Segmenter, embedder: Tokenizer, inputs: Path, tmp_path: Path
) -> None:
    run([inputs], tmp_path / "out", TopicChunker(tiny, SIZES, embedder), config())
    rows = rows_of(tmp_path / "out")
    counts = tokens_of(embedder, [embed_text(row) for row in rows])
    assert max(counts) <= 48
    assert [row["token_count"] for row in rows] == counts
    by_id: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        by_id.setdefault(row["doc_id"], []).append(row)
    assert {row["page"] for row in by_id["a/pages.txt"]} == {1, 2}
    assert {row["page"] for row in by_id["career"]} == {None}
    sections = {tuple(row["section"]) for row in by_id["espresso.md"]}
    assert len(sections) > 2
    assert all(row["title"] == (row["section"] or [None])[-1] for row in rows)
    assert {row["context"]["header"] for row in by_id["career"]} == {"A career\n\n"}
    assert {row["context"]["header"] for row in by_id["n3"]} == {"n3\n\n"}
    assert len({row["chunk_id"] for row in rows}) == len(rows)


def test_html_by_name_or_option(tmp_path: Path) -> None:
    source = "<title>T</title><h1>Fog</h1><p>It is&nbsp;common.</p><nav>Home</nav><p>A bell helps.</p>"
    (tmp_path / "in").mkdir()
    for name in ("a.html", "b.HTM", "d.txt"):
        (tmp_path / "in" / name).write_text(source)
    (tmp_path / "in" / "c.html.gz").write_bytes(gzip.compress(source.encode()))
    # The text of such a page, as crawls have it.
    (tmp_path / "in" / "e.jsonl").write_text(json.dumps({"id": "https://a.b/c.html", "text": source}))
    for markup in ("auto", "html"):
        output = tmp_path / markup
        settings = CorpusConfig(markup=markup)  # type: ignore[arg-type]
        run([tmp_path / "in"], output, ParagraphChunker(ChunkConfig(header="{document}")), settings)
        found: dict[str, list[dict[str, Any]]] = {}
        for row in rows_of(output):
            found.setdefault(row["doc_id"], []).append(row)
        assert len(found) == 5
        for name, rows in found.items():
            if markup == "html" or (name.lower().endswith((".html", ".htm", ".gz")) and "//" not in name):
                text = "".join(row["text"] for row in rows)
                assert " ".join(text.split()) == "Fog It is common. A bell helps."
                assert {tuple(row["section"]) for row in rows} == {("Fog",)}
                assert {row["context"]["header"] for row in rows} == {"T\n\n"}
                last = rows[-1]
                assert "A bell helps." in source[last["source_start"] : last["source_end"]]
            else:
                assert "".join(row["text"] for row in rows) == source


@pytest.mark.parametrize("markup", ["auto", "plain", "markdown"])
def test_what_is_markdown(tmp_path: Path, markup: str) -> None:
    text = "# Fog\n\nIt is common.\n"
    (tmp_path / "in").mkdir()
    for name in ("a.txt", "b.md", "c.MARKDOWN"):
        (tmp_path / "in" / name).write_text(text)
    rows = [{"id": "d.md", "text": text}, {"id": "e", "text": text}]
    (tmp_path / "in" / "z.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    chunker = ParagraphChunker(ChunkConfig(header="{document}"))
    settings = CorpusConfig(workers=0, markup=markup)  # type: ignore[arg-type]
    run([tmp_path / "in"], tmp_path / "out", chunker, settings)
    sections = {row["doc_id"]: row["section"] for row in rows_of(tmp_path / "out")}
    structured = {"auto": {"b.md", "c.MARKDOWN", "d.md"}, "plain": set(), "markdown": set(sections)}[markup]
    assert sections == {name: ["Fog"] if name in structured else [] for name in sections}
    assert len(sections) == 5
    headers = {row["doc_id"]: row["context"]["header"] for row in rows_of(tmp_path / "out")}
    assert headers == {name: "Fog\n\n" if name in structured else f"{name}\n\n" for name in sections}


@pytest.mark.parametrize("title", [None, "", 7, "Here \ud800"])
def test_titles(tmp_path: Path, title: object) -> None:
    (tmp_path / "in.jsonl").write_text(json.dumps({"id": "a", "text": "Fog.", "name": title}))
    chunker = ParagraphChunker(ChunkConfig(header="{document}"))
    run([tmp_path / "in.jsonl"], tmp_path / "out", chunker, config(title_column="name"))
    if isinstance(title, str) and title:
        assert "lone surrogate" in errors_of(tmp_path / "out")["a"]
    else:
        (row,) = rows_of(tmp_path / "out")
        assert row["context"]["header"] == f"{title or 'a'}\n\n"


def test_a_title_column_is_read_from_tables(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"text": ["Fog.", "Old."], "title": ["One", None]})
    frame.to_parquet(tmp_path / "in.parquet")
    run(
        [tmp_path / "in.parquet"],
        tmp_path / "out",
        ParagraphChunker(ChunkConfig(header="{document}")),
        config(),
    )
    headers = [row["context"]["header"] for row in rows_of(tmp_path / "out")]
    assert headers == ["One\n\n", "in.parquet:2\n\n"]


@pytest.mark.parametrize("output_format", ["parquet", "jsonl"])
def test_what_is_embedded_can_be_made_again_wherever_it_is_loaded(
    embedder: Tokenizer, documents: list[Document], inputs: Path, tmp_path: Path, output_format: str
) -> None:
    chunker = ParagraphChunker(SIZES, embedder)
    run([inputs], tmp_path / "out", chunker, config(output_format=output_format))
    right = [chunk.embed_text for chunks in chunker.chunk_many(documents) for chunk in chunks]
    sections = [list(chunk.section) for chunks in chunker.chunk_many(documents) for chunk in chunks]
    (file,) = map(str, (tmp_path / "out" / "data").iterdir())
    reader = "parquet" if output_format == "parquet" else "json"
    loaded = datasets.load_dataset(reader, data_files=file, split="train", cache_dir=str(tmp_path / "cache"))
    assert [embed_text(row) for row in loaded] == right
    assert [row["section"] for row in loaded] == sections
    frame = pandas.read_parquet(file) if reader == "parquet" else pandas.read_json(file, lines=True)
    assert [embed_text(row) for row in frame.to_dict("records")] == right
    assert [list(section) for section in frame["section"]] == sections
    query = "select context.header || context.before || text || context.after from "
    table = f"read_{'parquet' if reader == 'parquet' else 'json_auto'}('{file}')"
    assert [row[0] for row in duckdb.sql(query + table).fetchall()] == right


CHANGES: dict[str, Callable[[Segmenter, Tokenizer], CorpusChunker]] = {
    "max_tokens": lambda tiny, embedder: TopicChunker(tiny, ChunkConfig(max_tokens=40), embedder),
    "neighbours": lambda tiny, embedder: TopicChunker(
        tiny, ChunkConfig(max_tokens=48, neighbours=1), embedder
    ),
    "header": lambda tiny, embedder: TopicChunker(tiny, ChunkConfig(max_tokens=48, header="x"), embedder),
    "tokenizer": lambda tiny, embedder: TopicChunker(tiny, ChunkConfig(max_tokens=48), len),
    "chunker": lambda tiny, embedder: ParagraphChunker(ChunkConfig(max_tokens=48), embedder),
    "size": lambda tiny, embedder: FixedSizeChunker(48),
    "markup": lambda tiny, embedder: TopicChunker(tiny, ChunkConfig(max_tokens=48), embedder),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_run_that_cuts_otherwise_is_refused(
    tiny: Segmenter, embedder: Tokenizer, inputs: Path, tmp_path: Path, change: str
) -> None:
    chunker = TopicChunker(tiny, ChunkConfig(max_tokens=48), embedder)
    assert run([inputs], tmp_path / "out", chunker, config()).is_complete
    settings = config(markup="plain") if change == "markup" else config()
    shown = {"size": "chunker"}.get(change, change)
    with pytest.raises(CorpusError, match=rf"holds another run \(.*{shown} was .*, now .*--restart"):
        run([inputs], tmp_path / "out", CHANGES[change](tiny, embedder), settings)
    assert run([inputs], tmp_path / "out", chunker, config()).is_complete


class PickyTokenizer:
    """Does not take every text."""

    def __call__(self, text: str) -> int:
        if "poison" in text:
            raise ArithmeticError("too much")
        return len(text.split())


class DeadlyTokenizer:
    """Kills the process that it is used in, unless that is the run's own."""

    def __init__(self) -> None:
        self.parent = os.getpid()

    def __call__(self, text: str) -> int:
        if "poison" in text and os.getpid() != self.parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return len(text.split())


def write_poison(folder: Path) -> tuple[Path, list[Document]]:
    found = [Document(text="poison" if n == 7 else text(n), id=f"n{n}") for n in range(12)]
    path = folder / "in.jsonl"
    path.write_text("".join(json.dumps({"id": one.id, "text": one.text}) + "\n" for one in found))
    return path, [one for one in found if one.text != "poison"]


@pytest.mark.parametrize("count", [PickyTokenizer(), DeadlyTokenizer()])
@pytest.mark.parametrize("needs_model", [False, True])
def test_a_document_that_cannot_be_cut_costs_only_itself(
    tiny: Segmenter, tmp_path: Path, count: Callable[[str], int], needs_model: bool
) -> None:
    path, good = write_poison(tmp_path)
    limits = ChunkConfig(max_tokens=9, neighbours=1)
    chunker: CorpusChunker = ParagraphChunker(limits, count)
    if needs_model:
        chunker = TopicChunker(tiny, limits, count)
    is_deadly = isinstance(count, DeadlyTokenizer)
    for workers in {1, int(is_deadly)}:
        output = tmp_path / f"out{workers}"
        report = run([path], output, chunker, config(workers=workers, shard_size=5))
        ((name, cause),) = errors_of(output).items()
        assert cause == (
            "a process died of it twice, as for want of memory" if is_deadly else "ArithmeticError: too much"
        )
        assert name == ("in.jsonl:8" if is_deadly and not needs_model else "n7")
        assert rows_of(output) == expected_rows(chunker, good)
        assert (report.documents, report.bad_documents, report.is_complete) == (12, 1, True)


def test_settings_that_suit_no_document_are_told_before_the_run_begins(
    tiny: Segmenter, embedder: Tokenizer, inputs: Path, tmp_path: Path
) -> None:
    for chunker, message in (
        (TopicChunker(tiny, ChunkConfig(max_tokens=2), embedder), "expected 3 or more"),
        (ParagraphChunker(ChunkConfig(max_tokens=2), embedder), "expected 3 or more"),
        (FixedSizeChunker(5, 1, "tokens", tokenizer=len), "does not say where they start"),
        (TopicChunker(tiny, ChunkConfig(max_tokens=9), lambda text: 3), "cannot be sent"),
        (object(), "got a object, expected a Segmenter, or a cutter with the methods chunk"),
    ):
        with pytest.raises(ConfigError, match=message):
            run([inputs], tmp_path / "out", chunker, config(workers=1))  # type: ignore[arg-type]
        assert not list(tmp_path.glob("out/data/*"))


class Halves:
    """A cutter of one's own."""

    def chunk(self, text: str | Document) -> tuple[Chunk, ...]:
        document = text if isinstance(text, Document) else Document(text=text)
        middle = len(document.text) // 2
        parts = [(0, middle), (middle, len(document.text))]
        return tuple(
            Chunk(document.text[start:end], start, end, 0, index, document_id=document.id, fingerprint="h")
            for index, (start, end) in enumerate(parts)
        )

    def chunk_many(self, texts: Iterable[str | Document], *, show_progress: bool = False) -> Any:
        return map(self.chunk, texts)

    def identity(self) -> dict[str, Any]:
        return {"chunker": "halves"}


def test_a_cutter_of_ones_own(documents: list[Document], inputs: Path, tmp_path: Path) -> None:
    report = run([inputs], tmp_path / "out", Halves(), config(workers=1))
    assert report.fingerprints == ("h",)
    assert rows_of(tmp_path / "out") == expected_rows(Halves(), documents)


WITHOUT_TORCH = """
import sys
from segmenter.chunkers import SentenceChunker
from segmenter.config import ChunkConfig
from segmenter.corpus import CorpusConfig, run
chunker = SentenceChunker(config=ChunkConfig(max_tokens=50))
report = run([sys.argv[1]], sys.argv[2], chunker, CorpusConfig(workers=0))
print(report.bad_documents, [name for name in ("torch", "transformers") if name in sys.modules])
"""


def test_what_needs_no_model_loads_none(inputs: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TORCH, str(inputs), str(tmp_path / "out")],
        capture_output=True, text=True, check=False, timeout=300, cwd=ROOT,
    )  # fmt: skip
    assert done.stdout == "0 []\n", done.stderr


# The command.


def command(*arguments: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "segmenter", "corpus", *map(str, arguments)],
        capture_output=True, check=False, timeout=300, cwd=ROOT,
    )  # fmt: skip


def rounded(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {**row, "probability": pytest.approx(row["probability"], abs=1e-4)} if row["probability"] else row
        for row in rows
    ]


def test_the_command_takes_every_option(
    tiny: Segmenter, tiny_folder: Path, embedder: Tokenizer, documents: list[Document], inputs: Path,
    tmp_path: Path,
) -> None:  # fmt: skip
    file, output = tmp_path / "tokenizer.json", tmp_path / "out"
    embedder.save(str(file))
    options = [
        inputs, "--output", output, "--model", tiny_folder, "--max-tokens", 48, "--overlap", 1,
        "--neighbours", 1, "--header", HEADER, "--tokenizer", file,
    ]  # fmt: skip
    done = command(*options)
    assert done.returncode == 0, done.stderr
    assert b"of the time the model waited" in done.stdout
    assert rows_of(output) == expected_rows(TopicChunker(tiny, SIZES, embedder), documents)
    done = command(*options, "--min-tokens", 9)
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert b"holds another run (min_tokens was None, now 9)" in done.stderr


def test_the_command_needs_no_model_for_what_needs_none(
    documents: list[Document], inputs: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    done = command(
        inputs, "--output", output, "--model", "no-such-model", "--chunker", "sentences", "--size", 9,
        "--overlap", 1, "--markup", "plain", "--title-column", "no such column",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert b"model" not in done.stdout
    plain = [Document(text=one.text, id=one.id) for one in documents]
    assert rows_of(output) == expected_rows(SentenceChunker(9, ChunkConfig(overlap_sentences=1)), plain)
    done = command(inputs, "--output", tmp_path / "other", "--chunker", "words", "--max-tokens", 9)
    assert (done.returncode, done.stderr.count(b"\n")) == (2, 1)
    assert b"got --max-tokens with --chunker words" in done.stderr
