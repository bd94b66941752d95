"""The scripts whose figures the documentation has: each runs from its start to its end, on little."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent.parent / "scripts"


def run(script: str, *arguments: str | Path) -> str:
    """What a script prints."""
    command = [sys.executable, str(SCRIPTS / script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def rows(table: str) -> list[list[str]]:
    """The cells of a Markdown table's lines, without its head."""
    cells = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if "|" in line
    ]
    return cells[2:]


def test_cutters() -> None:
    printed = rows(run("benchmark_cutters.py", "--megabytes", "0.1", "--only", "ours"))
    assert len(printed) == 4
    assert printed[0][:2] == ["ours: 1,000 characters", "100"]
    assert all(float(speed) > 0 for *_, speed in printed)


def test_memory(tiny_folder: Path) -> None:
    printed = run("benchmark_memory.py", "--sentences", "60", "--model", tiny_folder, "--candidates", "all")
    assert "60" in printed


def test_speed(tiny_folder: Path, tmp_path: Path) -> None:
    figures = tmp_path / "figures.json"
    arguments = ["--model", tiny_folder, "--documents", "page", "--no-cold", "--json", figures]
    run("benchmark.py", *arguments)
    assert json.loads(figures.read_text())


def test_corpus_memory() -> None:
    assert "40" in run("benchmark_corpus.py", "memory", "--documents", "40")


def test_peers(tiny_folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("langchain_text_splitters")
    folder = tmp_path / "corpus"
    folder.mkdir()
    lines = [
        "The quay is old. Ships wait there.",
        "A pear tree stands in the yard. It bears late.",
        "Snow fell.",
    ]
    text = "\n\n".join(lines * 20)
    (folder / "quay.txt").write_text(text)
    start = text.index("A pear tree")
    question = {"question": "What bears late?", "document": "quay", "spans": [[start, start + len(lines[1])]]}
    questions = tmp_path / "questions.jsonl"
    questions.write_text(json.dumps(question) + "\n")
    arguments = [
        "--corpus",
        folder,
        "--questions",
        questions,
        "--model",
        tiny_folder,
        "--json",
        tmp_path / "figures",
    ]
    run("compare_peers.py", *arguments, "--only", "langchain recursive")
    way = json.loads((tmp_path / "figures").read_text())["ways"]["langchain recursive"]
    assert way["ours"].keys() == way["theirs"].keys() == way["difference"].keys()
    assert 0 <= way["ours"]["recall"]["value"] <= 1
