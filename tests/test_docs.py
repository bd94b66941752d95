"""What the README and docs/ say runs, and so does every example of ``--help``."""

import json
import re
import shlex
import shutil
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import typer
import zstandard
from markdown_it import MarkdownIt

from segmenter.cli import app

from .conftest import ROOT
from .running import parse, run_command, run_page

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
RUN = ("python", "sh")
SHOWN = ("text", "diagram")
"""Languages of blocks that are no code: what is printed, and files."""

COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]

here = pytest.mark.parametrize("path", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as that of a checkout, in which code may write."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    (tmp_path / "scripts").symlink_to(ROOT / "scripts")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    return tmp_path


# What other packages warn of is not the page's.
@pytest.mark.filterwarnings("default::DeprecationWarning")
@here
def test_every_block_runs_and_prints_what_the_page_says(path: Path, folder: Path) -> None:
    page = parse(path)
    reasons = run_page(page)
    assert len(reasons) == len(re.findall(r"<!-- *skip: next", page.text))


@here
def test_no_block_is_passed_over(path: Path) -> None:
    """Counted by another parser: all fences have a language, and all code is found."""
    tokens = MarkdownIt().parse(path.read_text(encoding="utf-8"))
    fences = Counter(token.info.split(" ")[0] for token in tokens if token.type == "fence")
    assert set(fences) <= {*RUN, *SHOWN}, "name the language; what is printed is text"
    assert not [token for token in tokens if token.type == "code_block"], "use fences"
    lexemes = [example.region.lexemes for example in parse(path).examples()]
    # Comments have a directive.
    found = Counter(lexeme.get("arguments") for lexeme in lexemes if "directive" not in lexeme)
    assert {name: found[name] for name in RUN} == {name: fences[name] for name in RUN}


def test_few_blocks_do_not_run_and_each_says_why() -> None:
    marks = [
        mark for path in PAGES for mark in re.findall(r"<!-- *skip:.*?-->", path.read_text(encoding="utf-8"))
    ]
    assert all(re.fullmatch(r'<!-- skip: next "not run: .{10,}" -->', mark) for mark in marks), marks
    assert len(marks) <= 8


@pytest.fixture
def prepared(folder: Path, tiny_folder: Path) -> Path:
    """The files that the examples of ``--help`` name."""
    for name in ("report.txt", "handbook.txt"):
        shutil.copy(ROOT / "examples" / "harbour.txt", name)
    for name in ("handbook", "articles", "texts"):
        shutil.copytree(ROOT / "examples" / "logs" / "train", name)
    for name in ("my-model", "my-checkpoint", "old-model"):
        shutil.copytree(tiny_folder, name)
    rows = [
        {"id": str(n), "sentences": [f"Fog {n}.", "A bell.", "The museum."], "boundaries": [2]}
        for n in range(4)
    ]
    Path("sections.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    text = json.dumps({"id": "a", "text": "The harbour is old."}).encode()
    Path("more.jsonl.zst").write_bytes(zstandard.compress(text))
    asked = {"question": "Who has the watch?", "document": "01-march", "spans": [[0, 20]]}
    Path("questions.jsonl").write_text(json.dumps(asked) + "\n", encoding="utf-8")
    asked_as_csv = 'question,corpus_id,references\nWho?,01-march,"[{""start_index"": 0, ""end_index"": 9}]"\n'
    Path("questions.csv").write_text(asked_as_csv, encoding="utf-8")
    return folder


SHORTER = {
    "train": ["--max-steps", "1", "--model", "my-checkpoint"],
    "export": ["--model", "my-checkpoint"],
    "corpus": ["--quiet", "--workers", "0"],
    "ask": ["--embedder", "tests.test_docs:bags"],
    "evaluate-retrieval": ["--embedder", "tests.test_docs:bags"],
}
"""Options that the tests add, so that an example takes seconds and needs nothing that is not installed."""


def bags(texts: list[str]) -> np.ndarray:
    """Vectors of letters."""
    return np.array([[text.count(letter) for letter in "aeinorst"] for text in texts], dtype=np.float32)


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_help_has_an_example_that_runs(name: str, prepared: Path) -> None:
    _, marked, example = COMMANDS[name].help.partition("Example: ")
    assert marked, "no example"
    program, *words = shlex.split(example)
    assert (program, words[0]) == ("segmenter", name)
    if name == "train":
        shutil.rmtree("my-model")
    assert run_command([*words, *SHORTER.get(name, [])])
