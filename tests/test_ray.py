"""The same corpus by Ray Data, on a real cluster of two nodes."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from segmenter import ChunkConfig, ConfigError, Segmenter
from segmenter.chunkers import ParagraphChunker, TopicChunker
from segmenter.corpus import run
from segmenter.integrations.ray import run as run_on_ray

from .conftest import ROOT
from .tiny_corpus import config, text
from .tiny_ray import SIZES, SlowSplitter

FILES, DOCUMENTS = 8, 40
SOON = {"period_ms": 500, "initial_delay_ms": 500, "timeout_ms": 1000, "failure_threshold": 3}
"""When the head takes a node for lost."""


def rows_by_document(output: Path) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for path in sorted((output / "data").iterdir()):
        for row in pyarrow.parquet.read_table(path).to_pylist():
            found.setdefault(row["doc_id"], []).append(row)
    return found


def test_a_cluster_that_loses_a_node_gives_the_same(tiny_folder: Path, tmp_path: Path) -> None:
    inputs, output, right, pages = (tmp_path / name for name in ("in", "out", "right", "pages"))
    inputs.mkdir()
    pages.mkdir()
    (pages / "fog.html").write_text("<h1>Fog</h1><p>It is common.</p><p>A bell helps.</p>")
    for number in range(FILES):
        numbers = range(number * DOCUMENTS, (number + 1) * DOCUMENTS)
        rows = [{"id": n, "text": text(n), "url": f"u{n}", "title": f"Title {n}"} for n in numbers]
        lines = [json.dumps(row).encode() + b"\n" for row in rows]
        (inputs / f"{number}.jsonl").write_bytes(b"".join(lines) + b'{"id": "x", "text": "\xff"}\n')
    done = subprocess.run(
        [sys.executable, "-m", "tests.tiny_ray", tiny_folder, inputs, output],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=900,
        env={
            **os.environ, "PYTHONPATH": str(ROOT), "RAY_USAGE_STATS_ENABLED": "0",
            **{f"RAY_health_check_{name}": str(value) for name, value in SOON.items()},
        },
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-5000:]
    segmenter = Segmenter.from_pretrained(tiny_folder, device="cpu", sentences=SlowSplitter(0))
    expected = run([inputs], right, TopicChunker(segmenter, SIZES, len), config(carry=("url",)))
    lines_of_ours = [line for line in done.stdout.splitlines() if not line.startswith("202")]
    assert lines_of_ours[0].endswith("is not empty, expected a new or empty folder")
    # Two nodes when the first file was there, one before the last was, and all that there is to be.
    assert f"[2, True] 1 True {expected.chunks} {FILES}" in lines_of_ours
    found, wanted = rows_by_document(output), rows_by_document(right)
    assert found.keys() == wanted.keys()
    for name, rows in wanted.items():
        assert found[name] == [
            {**row, "probability": pytest.approx(row["probability"], abs=1e-4)} for row in rows
        ]
    assert (output / "errors.jsonl").read_bytes() == (right / "errors.jsonl").read_bytes()
    about = json.loads((output / "run.json").read_text())
    assert about["counts"]["chunks"] == expected.chunks
    assert about["fingerprints"] == list(expected.fingerprints)
    assert about["chunks"]["max_tokens"] == SIZES.max_tokens
    assert all(row["context"]["header"].startswith("Title ") for rows in found.values() for row in rows)
    schemas = [pyarrow.parquet.read_schema(next((folder / "data").iterdir())) for folder in (output, right)]
    assert schemas[0].equals(schemas[1])
    assert not list(output.rglob(".partial-*"))
    assert len(list((output / "data").iterdir())) == FILES
    run(
        [inputs, pages], tmp_path / "right paragraphs", ParagraphChunker(ChunkConfig(max_tokens=40)), config()
    )
    assert "chunks, 8 bad documents; wrote" in done.stdout
    assert rows_by_document(tmp_path / "paragraphs") == rows_by_document(tmp_path / "right paragraphs")


def test_settings_of_two_ways_are_refused(tiny: Segmenter, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="got a ParagraphChunker and model, chunks or tokenizer"):
        run_on_ray([tmp_path], tmp_path / "out", chunker=ParagraphChunker(), chunks=ChunkConfig())
    with pytest.raises(ConfigError, match="got a TopicChunker, whose model is loaded here"):
        run_on_ray([tmp_path], tmp_path / "out", chunker=TopicChunker(tiny))
