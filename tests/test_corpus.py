"""Runs over corpora: what is read, what is written, what is refused."""

import csv
import gzip
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import datasets
import duckdb
import fsspec
import numpy as np
import pandas
import pyarrow
import pyarrow.parquet
import pytest
import zstandard
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from segmenter import ConfigError, CorpusError, Document, InputError, Segmenter, UnreadableTextWarning
from segmenter.backends import TorchScorer
from segmenter.checkpoint import LightCheckpoint
from segmenter.corpus import CorpusConfig, progress, run
from segmenter.corpus.folder import CorpusFolder
from segmenter.corpus.parts import find_parts
from segmenter.corpus.ranks import Rank, this_rank
from segmenter.corpus.reading import Stream
from segmenter.corpus.shards import schema
from segmenter.light import load_light
from segmenter.mapping import CHUNK_COLUMNS
from segmenter.preparing import Preparer
from segmenter.profiling import Profile
from segmenter.scoring import Logits

from .conftest import ROOT
from .tiny_corpus import config

TEXTS = [
    "The harbour is old. Fog is common — 🙂.\r\nShe left school.\n",
    "",
    " \n",
    "Coffee oils turn bitter.\rBeans are ground.\n\nThe fjord is deep. NA",
    'A "prize", late;\tand more.',
    "NA",
]


def rows_of(output: Path) -> list[dict[str, Any]]:
    return [
        row
        for path in sorted((output / "data").iterdir())
        for row in pyarrow.parquet.read_table(path).to_pylist()
    ]


def errors_of(output: Path) -> dict[str, str]:
    lines = (output / "errors.jsonl").read_text(encoding="utf-8").splitlines()
    found = {row["id"]: row["cause"] for row in map(json.loads, lines)}
    assert len(found) == len(lines)
    return found


def expected_rows(tiny: Segmenter, documents: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
    return [
        {**chunk.row(), "probability": pytest.approx(chunk.probability, abs=1e-4)}
        for name, text in documents
        for chunk in tiny.segment(Document(text=text, id=name)).chunks
    ]


def lines_of(texts: Iterable[str]) -> bytes:
    return "".join(json.dumps({"id": f"d{n}", "text": t}) + "\n" for n, t in enumerate(texts)).encode()


def table_of(texts: list[str]) -> pyarrow.Table:
    return pyarrow.table({"id": [f"d{number}" for number in range(len(texts))], "text": texts})


def write_texts(folder: Path) -> Path:
    (folder / "texts").mkdir()
    for number, text in enumerate(TEXTS):
        (folder / "texts" / f"d{number}").with_suffix(".txt").write_bytes(text.encode())
    (folder / "texts" / ".hidden.txt").write_text("no")
    (folder / "texts" / "picture.png").write_bytes(b"no")
    return folder / "texts"


def write_packed_text(folder: Path) -> list[Path]:
    paths = []
    for number, text in enumerate(TEXTS):
        paths.append(folder / f"d{number}.txt.gz")
        paths[-1].write_bytes(gzip.compress(text.encode()))
    return paths


def write_bytes(name: str, content: bytes) -> Callable[[Path], Path]:
    def write(folder: Path) -> Path:
        (folder / name).write_bytes(content)
        return folder / name

    return write


def write_csv(folder: Path) -> Path:
    with (folder / "in.csv").open("w", encoding="utf-8-sig", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "text"])
        writer.writerows([f"d{number}", text] for number, text in enumerate(TEXTS))
    return folder / "in.csv"


def write_parquet(folder: Path) -> list[Path]:
    for part in (0, 1):
        rows = table_of(TEXTS).slice(4 * part, 4)
        pyarrow.parquet.write_table(rows, folder / f"in{part}.parquet", row_group_size=2)
    return [folder / "in0.parquet", folder / "in1.parquet"]


def write_arrow(folder: Path) -> Path:
    with pyarrow.OSFile(str(folder / "in.arrow"), "wb") as file:
        table = table_of(TEXTS)
        with pyarrow.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table)
    return folder / "in.arrow"


def write_memory(folder: Path) -> str:
    with fsspec.open(f"memory://{folder.name}/deep/in.jsonl", "wb") as file:
        file.write(lines_of(TEXTS))
    return f"memory://{folder.name}"


INPUTS: dict[str, Callable[[Path], Any]] = {
    "texts": write_texts,
    "packed texts": write_packed_text,
    "jsonl": write_bytes("in.jsonl", lines_of(TEXTS).replace(b"\n", b"\n\n", 2)),
    "jsonl.gz": write_bytes("in.jsonl.gz", gzip.compress(lines_of(TEXTS))),
    "jsonl.zst": write_bytes("in.jsonl.zst", zstandard.compress(lines_of(TEXTS[:2])) + zstandard.compress(
        lines_of(TEXTS).split(b"\n", 2)[2])),
    "csv": write_csv,
    "parquet": write_parquet,
    "arrow": write_arrow,
    "memory": write_memory,
}  # fmt: skip


@pytest.mark.parametrize("kind", INPUTS)
def test_every_input_gives_the_same_chunks(tiny: Segmenter, tmp_path: Path, kind: str) -> None:
    found = INPUTS[kind](tmp_path)
    output = tmp_path / "out"
    report = run(found if isinstance(found, list) else [found], output, tiny, config(shard_size=4))
    ending = {"texts": ".txt", "packed texts": ".txt.gz"}.get(kind, "")
    expected = expected_rows(tiny, ((f"d{number}{ending}", text) for number, text in enumerate(TEXTS)))
    assert rows_of(output) == expected
    assert errors_of(output) == {}
    assert (report.documents, report.empty_documents, report.shards) == (6, 1, 2)
    assert report.characters == sum(map(len, TEXTS))
    assert report.gaps == sum(tiny.segment(text).scored.sum() for text in TEXTS)
    assert report.is_complete
    # Passing documents over and reading them is the same.
    parts = find_parts(found if isinstance(found, list) else [found], "train")
    for skipped in range(8):
        stream = Stream(parts, config())
        assert stream.skip(skipped) == min(skipped, 6)
        assert len(list(stream)) == max(0, 6 - skipped)


def test_a_data_set_of_the_hub(tiny: Segmenter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "data.parquet"
    pyarrow.parquet.write_table(table_of(TEXTS), path)
    load = datasets.load_dataset
    asked: list[tuple[object, ...]] = []

    def load_dataset(name: str, config: str | None, *, split: str, revision: str, streaming: bool) -> object:
        asked.append((name, config, split, revision, streaming))
        return load("parquet", data_files=str(path), split="train", streaming=True)

    def dataset_info(self: object, name: str) -> object:
        return type("Info", (), {"sha": "abc"})

    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", dataset_info)
    monkeypatch.chdir(tmp_path)
    run(["owner/name:law:test"], "out", tiny, config())
    assert set(asked) == {("owner/name", "law", "test", "abc", True)}
    assert rows_of(Path("out")) == expected_rows(tiny, ((f"d{n}", text) for n, text in enumerate(TEXTS)))
    monkeypatch.setattr("huggingface_hub.HfApi.dataset_info", lambda self, name: 1 / 0)
    with pytest.raises(InputError, match="'owner/none', which is no file or folder here"):
        run(["owner/none"], "out2", tiny, config())


BAD_LINES = {
    b'{"id": "null", "text": null}': ("null", "got null"),
    b'{"id": "number", "text": 7}': ("number", "got a int"),
    b'{"id": "list", "text": ["a"]}': ("list", "got a list"),
    b'{"id": "surrogate", "text": "a\\ud800b"}': ("surrogate", "lone surrogate, U+D800 at 1"),
    b'{"id": "carried", "text": "a", "url": "\\udc00"}': ("carried", "lone surrogate"),
    b'{"id": "none"}': ("none", "expected a column text"),
    b'{"id": 1.5, "text": "a"}': ("in.jsonl:7", "id of type float"),
    b'{"text": "\xff"}': ("in.jsonl:8", "byte 0xff at 10"),
    b"[1]": ("in.jsonl:9", "JSON of type list"),
    b"{": ("in.jsonl:10", "got no JSON"),
    b'{"id": "long", "text": "' + b"x" * 3000 + b'"}': ("in.jsonl:11", "a line of 3026 bytes"),
    b'{"id": "wide", "text": "' + "é".encode() * 400 + b'"}': ("wide", ""),
    b"[" * 900: ("in.jsonl:13", "got no JSON"),
}


def test_bad_documents_are_told_and_stop_nothing(tiny: Segmenter, tmp_path: Path) -> None:
    path, output = tmp_path / "in.jsonl", tmp_path / "out"
    path.write_bytes(b"\n".join([*BAD_LINES, b'{"id": 7, "text": "The harbour is old."}']))
    bounded = config(max_document_bytes=1000, carry=("url",), shard_size=5)
    report = run([path], output, tiny, bounded)
    errors = errors_of(output)
    expected = {name: cause for name, cause in BAD_LINES.values() if cause}
    assert list(errors) == list(expected)
    for name, cause in expected.items():
        assert cause in errors[name], name
    assert [row["doc_id"] for row in rows_of(output)] == ["wide", "7"]
    assert (report.documents, report.bad_documents) == (len(BAD_LINES) + 1, len(expected))


def test_a_line_of_200_megabytes_costs_no_memory(tiny: Segmenter, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    with path.open("wb") as file:
        file.write(b'{"id": "long", "text": "')
        for _ in range(200):
            file.write(b"x" * 1_000_000)
        file.write(b'"}\n{"id": "short", "text": "Fog is common."}\n')
    run([path], tmp_path / "out", tiny, config(max_document_bytes=1_000_000))
    assert list(errors_of(tmp_path / "out")) == ["in.jsonl:1"]
    assert [row["doc_id"] for row in rows_of(tmp_path / "out")] == ["short"]


def test_surrogates_may_be_replaced(tiny: Segmenter, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text(json.dumps({"id": "a", "text": "Fog \ud800 here.", "url": "\udc00"}))
    run([path], tmp_path / "out", tiny, config(replace_surrogates=True, carry=("url",)))
    assert [(row["text"], row["url"]) for row in rows_of(tmp_path / "out")] == [
        ("Fog \ufffd here.", "\ufffd")
    ]


def test_damaged_files_cost_themselves(tiny: Segmenter, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "a.jsonl.gz").write_bytes(gzip.compress(lines_of(["Fog is common."]))[:-9])
    (folder / "b.parquet").write_bytes(b"PAR1 no")
    (folder / "c.jsonl.zst").write_bytes(b"no")
    table = pyarrow.table({"id": [11, 22, 33], "text": not_utf8([b"Fog.", b"\xff\xfe", b"Old."])})
    pyarrow.parquet.write_table(table, folder / "d.parquet")
    (folder / "e.csv").write_bytes(b'id,text\n1,Fog.\n2,\xff\n3,a,b\n\n4,"' + b"x" * 2000 + b"\n5,lost")
    (folder / "f.txt").write_bytes(b"\xef\xbb\xbfFog.")
    run([folder], tmp_path / "out", tiny, config(max_document_bytes=1000))
    errors = errors_of(tmp_path / "out")
    assert list(errors) == ["a.jsonl.gz", "b.parquet:1", "c.jsonl.zst", "22", "2", "e.csv:3", "e.csv:5"]
    assert "the rest of" in errors["e.csv:5"]
    ids = [row["doc_id"] for row in rows_of(tmp_path / "out")]
    assert ids == ["11", "33", "1", "f.txt"]


def not_utf8(values: list[bytes]) -> pyarrow.Array:
    return pyarrow.array(values, pyarrow.binary()).view(pyarrow.string())


lines = st.one_of(
    st.binary(max_size=30).map(lambda content: content.replace(b"\n", b" ")),
    st.fixed_dictionaries({"text": st.one_of(st.none(), st.text(), st.integers()), "id": st.integers()}).map(
        lambda row: json.dumps(row).encode()
    ),
)


@pytest.mark.filterwarnings("ignore::segmenter.UnreadableTextWarning")
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(found=st.lists(lines, max_size=12), shard_size=st.integers(1, 5))
def test_whatever_the_lines_hold_nothing_is_lost(
    tiny: Segmenter, found: list[bytes], shard_size: int
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, output = Path(folder) / "in.jsonl", Path(folder) / "out"
        path.write_bytes(b"\n".join(found))
        report = run([path], output, tiny, config(shard_size=shard_size, output_format="jsonl"))
        kept = [line for line in path.read_bytes().split(b"\n") if line.strip()]
        assert report.documents == len(kept)
        texts: dict[str, str] = {}
        for shard in sorted((output / "data").iterdir()):
            for line in shard.read_text(encoding="utf-8").split("\n")[:-1]:
                row = json.loads(line)
                texts[row["doc_id"]] = texts.get(row["doc_id"], "") + row["text"]
        n_errors = len((output / "errors.jsonl").read_text(encoding="utf-8").splitlines())
        assert n_errors == report.bad_documents
        for line in kept:
            row = json.loads(line) if line.startswith(b'{"text"') else {}
            text = row.get("text")
            if isinstance(text, str) and text and not any("\ud800" <= c <= "\udfff" for c in text):
                assert text in texts[str(row["id"])]


@pytest.mark.parametrize("output_format", ["parquet", "jsonl", "jsonl.zst"])
def test_the_result_loads_where_it_is_used(tiny: Segmenter, tmp_path: Path, output_format: str) -> None:
    pyarrow.parquet.write_table(
        table_of(TEXTS).append_column("year", pyarrow.array(range(6), pyarrow.int16())),
        tmp_path / "in.parquet",
    )
    settings = config(shard_size=2, output_format=output_format, carry=("year",))
    run([tmp_path / "in.parquet"], tmp_path / "out", tiny, settings)
    files = [str(path) for path in sorted((tmp_path / "out" / "data").iterdir())]
    assert len(files) == 3
    expected = expected_rows(tiny, ((f"d{number}", text) for number, text in enumerate(TEXTS)))
    reader = "parquet" if output_format == "parquet" else "json"
    cache = str(tmp_path / "cache")
    # Lines have no types: those of a file whose chunks are all first ones would not be seen.
    columns = schema(settings, {"year": pyarrow.int16()})
    features = datasets.Features.from_arrow_schema(columns)
    loaded = datasets.load_dataset(
        reader,
        data_files=files,
        split="train",
        cache_dir=cache,
        features=None if reader == "parquet" else features,
    )
    assert loaded.features == features
    names = list(expected[0])
    assert [{name: row[name] for name in names} for row in loaded] == expected
    assert {row["doc_id"]: row["year"] for row in loaded} == {f"d{n}": n for n in (0, 2, 3, 4, 5)}
    query = f"read_{'parquet' if reader == 'parquet' else 'json_auto'}({files!r})"
    assert duckdb.sql(f"select count(*), sum(token_count) from {query}").fetchall() == [
        (len(expected), sum(row["token_count"] for row in expected))
    ]
    if reader == "parquet":
        frame = pandas.read_parquet(tmp_path / "out" / "data")
        assert list(frame["text"]) == [row["text"] for row in expected]
        assert pyarrow.parquet.read_schema(files[0]).equals(columns)
        assert columns.names == [*CHUNK_COLUMNS, "year"]
        assert columns.field("probability").type == pyarrow.float32()
        assert columns.field("section").type == pyarrow.list_(pyarrow.string())
        page = (ROOT / "docs" / "scale.md").read_text(encoding="utf-8")
        assert all(f"| `{name}` |" in page for name in names)


def test_carried_values_without_types_become_strings(tiny: Segmenter, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    values = ["a", 3, {"b": ["é"]}, None]
    path.write_text("".join(json.dumps({"text": "Fog.", "meta": value}) + "\n" for value in values))
    run([path], tmp_path / "out", tiny, config(carry=("meta",)))
    assert [row["meta"] for row in rows_of(tmp_path / "out")] == ["a", "3", '{"b": ["é"]}', None]


def test_max_errors_stops_on_purpose_and_the_run_can_go_on(tiny: Segmenter, tmp_path: Path) -> None:
    path, output = tmp_path / "in.jsonl", tmp_path / "out"
    path.write_text('{"text": "Fog."}\n' * 4 + "no\n" * 3 + '{"text": "Fog."}\n')
    with pytest.raises(CorpusError, match=r"got 3 bad documents, expected 2 or fewer; .*in.jsonl:7"):
        run([path], output, tiny, config(shard_size=2, max_errors=2))
    assert len(rows_of(output)) == 4
    assert len(errors_of(output)) == 3
    assert run([path], output, tiny, config(shard_size=2, max_errors=3)).is_complete
    assert len(rows_of(output)) == 5
    assert list(errors_of(output)) == ["in.jsonl:5", "in.jsonl:6", "in.jsonl:7"]


def light(folder: Path) -> LightCheckpoint:
    checkpoint = load_light(folder)
    assert checkpoint is not None
    return checkpoint


def changed(tiny_folder: Path, **settings: Any) -> Segmenter:
    return Segmenter.from_pretrained(tiny_folder, device="cpu", **settings)


CHANGES: dict[str, Callable[[Path, Path], tuple[Segmenter, CorpusConfig]]] = {
    "settings": lambda model, path: (changed(model, threshold=0.3), config()),
    "batch_tokens": lambda model, path: (changed(model, batch_tokens=512), config()),
    "splitter": lambda model, path: (changed(model, sentences="lines"), config()),
    "shard_size": lambda model, path: (changed(model), config(shard_size=3)),
    "text_column": lambda model, path: (changed(model), config(text_column="id")),
    "output_format": lambda model, path: (changed(model), config(output_format="jsonl")),
    "dtype": lambda model, path: (changed(model, backend="torch", dtype="bfloat16"), config()),
    "backend": lambda model, path: (Segmenter(light(model), TorchScorer(light(model).model)), config()),
}


@pytest.mark.parametrize("change", ["input", *CHANGES])
def test_another_run_is_refused_until_it_is_to_begin_anew(
    tiny: Segmenter, tiny_folder: Path, tmp_path: Path, change: str
) -> None:
    path, output = tmp_path / "in.jsonl", tmp_path / "out"
    path.write_bytes(lines_of(TEXTS))
    run([path], output, tiny, config())
    segmenter, other = tiny, config()
    if change == "input":
        path.write_bytes(lines_of([*TEXTS, "More."]))
    else:
        segmenter, other = CHANGES[change](tiny_folder, path)
    with pytest.raises(CorpusError, match=rf"holds another run \(.*{change} was .*, now .*--restart"):
        run([path], output, segmenter, other)
    if change in ("input", "output_format"):
        assert run([path], output, segmenter, other, restart=True).is_complete
        assert {path.suffix for path in (output / "data").iterdir()} == {f".{other.output_format}"}


def test_a_folder_of_something_else_is_refused(tiny: Segmenter, tmp_path: Path) -> None:
    path, output = tmp_path / "in.jsonl", tmp_path / "out"
    path.write_bytes(lines_of(TEXTS))
    output.mkdir()
    (output / "thesis.doc").write_text("mine")
    for restart in (False, True):
        with pytest.raises(CorpusError, match=r"is not empty \(thesis.doc\), expected a new or empty folder"):
            run([path], output, tiny, config(), restart=restart)
    assert [file.name for file in output.iterdir()] == ["thesis.doc"]


MISTAKES: dict[str, tuple[Any, str]] = {
    "nowhere": (["no/such.jsonl"], "no such file"),
    "unknown": (["in.png"], r"a file that ends in .png; expected one of .*\.jsonl\.zst"),
    "string": ("in.jsonl", "put it into a list"),
    "nothing": ([], "got no input"),
    "twice": (["in.jsonl", "./in.jsonl"], "twice"),
    "column": (["in.parquet"], "got columns id, words in in.parquet, expected one named text"),
    "csv column": (["in.csv"], "expected one named text"),
    "address": (["memory://nothing/here.jsonl"], "cannot look at memory://nothing"),
    "scheme": (["klingon://a.jsonl"], "cannot look at klingon://"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_in_the_input(
    tiny: Segmenter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mistake: str
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("in.jsonl").write_bytes(lines_of(TEXTS))
    Path("in.png").write_bytes(b"")
    Path("in.csv").write_text("id,words\n1,a\n")
    pyarrow.parquet.write_table(table_of(TEXTS).rename_columns(["id", "words"]), "in.parquet")
    inputs, message = MISTAKES[mistake]
    with pytest.raises(InputError, match=message):
        run(inputs, "out", tiny, config())


@pytest.mark.parametrize(
    "setting",
    [
        {"shard_size": 0}, {"workers": -1}, {"max_errors": True}, {"output_format": "xml"},
        {"carry": "url"}, {"carry": ("text",)}, {"carry": ("a", "a")}, {"carry": ("section",)},
        {"markup": "latex"},
    ],
)  # fmt: skip
def test_settings_out_of_range(setting: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=f"got {next(iter(setting))}="):
        config(**setting)


def test_files_of_one_name_have_ids_of_their_own(tiny: Segmenter, tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "in.txt").write_text("Fog.")
    run([tmp_path / "a", tmp_path / "b"], tmp_path / "out", tiny, config())
    assert [row["doc_id"] for row in rows_of(tmp_path / "out")] == [
        str(tmp_path / name / "in.txt") for name in ("a", "b")
    ]


class Moody(TorchScorer):
    """Fails on some batches."""

    def __init__(self, folder: Path, is_dead: bool) -> None:
        super().__init__(light(folder).model, "cpu")
        self.is_dead = is_dead

    def start(self, input_ids: NDArray[np.int64], attention_mask: NDArray[np.int64]) -> Logits:
        if self.is_dead or (attention_mask.sum(axis=1) == 13).any():
            raise RuntimeError("a wire is loose")
        wait = super().start(input_ids, attention_mask)
        return lambda: np.where(attention_mask.sum(axis=1, keepdims=True) == 11, np.nan, wait())


@pytest.mark.parametrize("is_dead", [False, True])
def test_a_model_that_fails(tiny_folder: Path, tmp_path: Path, is_dead: bool) -> None:
    checkpoint = light(tiny_folder)
    # Two sentences of as many tokens together, and three special ones.
    texts = {
        "fine": "fog fog. fog.",
        "loose": "fog fog fog fog fog. fog fog fog.",
        "no number": "fog fog fog fog. fog fog.",
    }
    lengths = {
        name: Preparer(checkpoint).prepare(text, Profile()).windows.lengths.tolist()
        for name, text in texts.items()
    }
    assert lengths == {"fine": [8], "loose": [13], "no number": [11]}
    path, output = tmp_path / "in.jsonl", tmp_path / "out"
    path.write_text("".join(json.dumps({"id": n, "text": t}) + "\n" for n, t in texts.items()))
    segmenter = Segmenter(checkpoint, Moody(tiny_folder, is_dead))
    if is_dead:
        with pytest.raises(CorpusError, match=r"the model fails \(RuntimeError: a wire is loose\)"):
            run([path], output, segmenter, config())
        return
    report = run([path], output, segmenter, config())
    assert report.bad_documents == 2
    assert errors_of(output)["loose"] == "the model failed: RuntimeError: a wire is loose"
    assert "no number" in errors_of(output)["no number"]
    assert {row["doc_id"] for row in rows_of(output)} == {"fine"}


def test_a_text_in_another_script_is_counted_and_warned_of_once(tiny: Segmenter, tmp_path: Path) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(lines_of(["Пристанището се намира в края на дълъг залив."] * 3 + ["Fog is common."]))
    with pytest.warns(UnreadableTextWarning, match="most words of 3 of 4 documents") as caught:
        report = run([path], tmp_path / "out", tiny, config())
    assert len(caught) == 1
    assert report.unreadable_documents == 3


def test_progress_is_a_line_a_minute_where_lines_stay(
    tiny: Segmenter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "in.jsonl"
    path.write_bytes(lines_of(["Fog is common. She left school."] * 50) + b"no\n")
    run([path], tmp_path / "a", tiny, config(), show_progress=True)
    assert capsys.readouterr().err.count("\n") == 1
    monkeypatch.setattr(progress, "_LINE_SECONDS", 0.0)
    run([path], tmp_path / "b", tiny, config(), show_progress=True)
    shown = capsys.readouterr().err.splitlines()
    assert len(shown) == 52  # The last one twice.
    for word in ("50 documents", "chunks", "characters/s", "1 errors", "100.0% of the input", "00:00 left"):
        assert word in shown[-1].replace("51 documents", "50 documents"), word
    run([path], tmp_path / "c", tiny, config())
    assert capsys.readouterr().err == ""


def test_progress_is_a_bar_on_a_terminal(
    tiny: Segmenter, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    path = tmp_path / "in.jsonl"
    path.write_bytes(lines_of(["Fog is common. She left school."] * 50) + b"no\n")
    monkeypatch.setattr(sys, "stderr", Terminal())
    run([path], tmp_path / "out", tiny, config(), show_progress=True)
    shown = sys.stderr.getvalue().replace("\r", "\n").splitlines()  # type: ignore[attr-defined]
    assert shown[-1].startswith("segmenting 100%|")
    assert "51 documents" in shown[-1]
    assert "1 errors" in shown[-1]


def test_an_output_inside_of_the_input_is_none(tiny: Segmenter, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("Fog.")
    for _ in range(2):
        assert run([tmp_path], tmp_path / "out", tiny, config()).documents == 1


def test_other_versions_are_warned_of(tiny: Segmenter, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("Fog.")
    output = tmp_path / "out"
    run([tmp_path / "in.txt"], output, tiny, config())
    begun = json.loads((output / "run.json").read_text())
    begun["versions"]["torch"] = "1.0"
    (output / "run.json").write_text(json.dumps(begun))
    with pytest.warns(UserWarning, match="was begun with .*1.0.*, now there is"):
        run([tmp_path / "in.txt"], output, tiny, config())
    (output / "run.json").write_text("{")
    with pytest.raises(CorpusError, match="is damaged; begin anew"):
        run([tmp_path / "in.txt"], output, tiny, config())
    assert run([tmp_path / "in.txt"], output, tiny, config(), restart=True).is_complete


# Several processes.


ABOUT: dict[str, Any] = {"versions": {}}


def test_ranks_of_one_launch_share_a_folder_and_others_are_refused(tmp_path: Path) -> None:
    def folder(number: int, launch: str) -> CorpusFolder:
        return CorpusFolder(tmp_path / "out", Rank(number, 2, number, launch), ".parquet")

    first, second = folder(0, "a"), folder(1, "a")
    first.claim({"x": 1}, ABOUT, False)
    second.claim({"x": 1}, ABOUT, False)
    for number, launch in ((0, "a"), (1, "a"), (0, "b"), (1, "b")):
        with pytest.raises(CorpusError, match="another run works in"):
            folder(number, launch).claim({"x": 1}, ABOUT, False)
    first.release()
    with pytest.raises(CorpusError, match="another run works in"):
        folder(0, "b").claim({"x": 1}, ABOUT, False)
    second.release()
    with pytest.raises(ConfigError, match="with 2 processes"):
        folder(0, "b").claim({"x": 1}, ABOUT, True)
    third = folder(0, "b")
    third.claim({"x": 1}, ABOUT, False)
    third.release()


def test_the_rank_is_what_the_launcher_says(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.delenv(name, raising=False)
    assert (this_rank().number, this_rank().count) == (0, 1)
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "4")
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "3")
    monkeypatch.setenv("OMPI_COMM_WORLD_LOCAL_RANK", "1")
    monkeypatch.setenv("MASTER_ADDR", "node7")
    monkeypatch.setenv("MASTER_PORT", "29500")
    assert this_rank() == Rank(3, 4, 1, "node7:29500:4")


def launch(*arguments: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "accelerate.commands.launch", *map(str, arguments)],
        cwd=ROOT, capture_output=True, check=False, timeout=300,
        env={**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def without_last_digits(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {**row, "probability": None if row["probability"] is None else round(row["probability"], 4)}
        for row in rows
    ]


@pytest.mark.parametrize("options", [("--multi_gpu", "--num_processes", 2), ("--cpu", "--num_processes", 2)])
def test_accelerate_launch(tiny: Segmenter, tiny_folder: Path, tmp_path: Path, options: Any) -> None:
    # The first starts two processes of any kind, the second one, whatever it is asked for.
    path, output = tmp_path / "in.jsonl", tmp_path / "out"
    path.write_bytes(lines_of(TEXTS * 5) + b"no\n")
    command = ["scripts/segment_corpus.py", path, "--output", output, "--model", tiny_folder]
    done = launch(*options, "--main_process_port", 0, *command, "--shard-size", 4, "--workers", 0)
    assert done.returncode == 0, done.stderr.decode()[-5000:]
    assert f"wrote {output}" in done.stdout.decode()
    run([path], tmp_path / "right", tiny, config(shard_size=4))
    # A thread each, so that the last digits may be others.
    assert without_last_digits(rows_of(output)) == without_last_digits(rows_of(tmp_path / "right"))
    assert errors_of(output) == errors_of(tmp_path / "right")
    locks = {file.name for file in (output / ".run").glob("rank-*")}
    assert ("rank-1.lock" in locks) == (options[0] == "--multi_gpu")


# The command.


def test_the_command(tiny: Segmenter, tiny_folder: Path, tmp_path: Path) -> None:
    path, output = tmp_path / "in.jsonl", tmp_path / "out"
    path.write_bytes(lines_of(TEXTS).replace(b'"text"', b'"body"') + b"no\n")
    command = [
        sys.executable, "-m", "segmenter", "corpus", path, "--output", output, "--model", tiny_folder,
        "--text-column", "body", "--carry", "id", "--shard-size", 4, "--format", "jsonl.zst",
    ]  # fmt: skip
    done = subprocess.run(list(map(str, command)), capture_output=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    assert f"wrote {output}" in done.stdout.decode()
    assert "1 bad documents" in done.stdout.decode()
    assert done.stderr.decode().startswith("segmenting: 7 documents")
    with zstandard.open(output / "data" / "part-000000.jsonl.zst", "rb") as file:
        rows = [json.loads(line) for line in file.read().splitlines()]
    assert [row["id"] for row in rows] == [row["doc_id"] for row in rows]
    assert "".join(row["text"] for row in rows if row["doc_id"] == "d0") == TEXTS[0]
    done = subprocess.run(
        [*map(str, command), "--threshold", "0.9"], capture_output=True, check=False, timeout=300
    )
    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1
    assert b"holds another run" in done.stderr
