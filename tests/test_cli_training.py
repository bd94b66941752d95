"""``evaluate``, ``train`` and ``calibrate`` as commands."""

import json
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

import pytest
from typer.testing import CliRunner

from segmenter import Segmenter
from segmenter.cli import app
from segmenter.cli.training import _names, _spread
from segmenter.evaluation import evaluate
from segmenter.labelled import LabelledDocument
from segmenter.reading import read_documents

from .conftest import ROOT
from .test_cli import on_a_terminal
from .tiny_finetune import documents


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


def run(*arguments: object) -> Done:
    """Run a command in this process, since its start takes seconds; test_cli.py starts processes."""
    result = CliRunner().invoke(app, list(map(str, arguments)), catch_exceptions=False)
    return Done(result.exit_code, result.stdout, result.stderr)


def written(path: Path, found: list[LabelledDocument]) -> Path:
    path.write_text("".join(json.dumps(asdict(document)) + "\n" for document in found))
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return written(tmp_path / "data.jsonl", documents(12))


def test_evaluate_prints_the_figures_of_the_package(tiny_folder: Path, data: Path) -> None:
    expected = evaluate(Segmenter.from_pretrained(tiny_folder), documents(12))
    done = run("evaluate", data, "--model", tiny_folder, "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["data"] == [str(data)]
    for mode, figures in expected.items():
        for kind in ("micro", "macro"):
            for name, figure in getattr(figures, kind).items():
                assert found["modes"][mode][kind][name] == pytest.approx(asdict(figure), abs=1e-3)
    shown = run("evaluate", data, "--model", tiny_folder).stdout
    flat = expected["flat"]
    assert f"flat: 12 documents, 132 gaps, 24 boundaries, {flat.predicted} predicted" in shown
    area = flat.micro["average_precision"]
    assert f"{area.value:.3f} [{area.low:.3f}, {area.high:.3f}]" in shown


def test_evaluate_compares_and_draws(
    tiny_folder: Path, fresh_folder: Path, data: Path, tmp_path: Path
) -> None:
    picture = tmp_path / "curve.png"
    options = ("--model", tiny_folder, "--compare", fresh_folder, "--plot", picture)
    done = run("evaluate", data, *options, "--json")
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    found = json.loads(done.stdout)
    both = [
        evaluate(Segmenter.from_pretrained(folder), documents(12), resamples=0)
        for folder in (tiny_folder, fresh_folder)
    ]
    for mode in ("flat", "paragraphs"):
        one, two = (figures[mode].micro["f1"].value for figures in both)  # type: ignore[index]
        difference = found["differences"][mode]["micro"]["f1"]
        assert difference["value"] == pytest.approx(one - two, abs=1e-3)
        assert difference["low"] <= difference["value"] <= difference["high"]
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert picture.stat().st_size > 20_000
    assert "difference to the other model" in run("evaluate", data, *options[:4]).stdout


def test_conventions_of_published_work(tiny_folder: Path, tmp_path: Path) -> None:
    sentences = [f"Ships {number}." for number in range(8)]
    titled = LabelledDocument("a", sentences, [2, 4, 6], titles=["", "x", "y", "z"], levels=[1, 2, 3, 2])
    file = written(tmp_path / "titled.jsonl", [titled])

    def counts(*options: str) -> tuple[int, int]:
        done = run("evaluate", file, "--model", tiny_folder, "--json", "--resamples", 0, *options)
        assert done.returncode == 0, done.stderr
        flat = json.loads(done.stdout)["modes"]["flat"]
        return flat["gaps"], flat["boundaries"]

    assert counts() == (7, 3)
    assert counts("--drop-lead") == (5, 2)
    assert counts("--top-level") == (7, 2)
    assert counts("--drop-lead", "--top-level") == (5, 1)

    def predicted(*options: str) -> int:
        done = run("evaluate", file, "--model", tiny_folder, "--json", "--threshold", "1", *options)
        return json.loads(done.stdout)["modes"]["flat"]["predicted"]

    assert [predicted(), predicted("--as-many"), predicted("--as-many", "--top-level")] == [0, 3, 2]
    done = run("evaluate", written(tmp_path / "bare.jsonl", documents(1)), "--drop-lead")
    assert done.returncode == 2
    assert "it has no titles" in done.stderr


def test_mistakes_are_told_before_the_work(tiny_folder: Path, data: Path, tmp_path: Path) -> None:
    for option, value, message in (
        ("--plot", tmp_path / "curve.docx", "expected a name that ends in one of"),
        ("--plot", tmp_path / "none" / "curve.png", "no such folder"),
        ("--compare", tmp_path / "none", "no such folder"),
    ):
        done = run("evaluate", data, "--model", tiny_folder, option, value)
        assert done.returncode == 2
        assert message in done.stderr
        assert done.stdout == ""


def test_a_sample_of_a_large_set(tiny_folder: Path, data: Path) -> None:
    done = run("evaluate", data, "--model", tiny_folder, "--json", "--most-gaps", 40)
    assert json.loads(done.stdout)["modes"]["flat"]["documents"] == 3


def test_a_bad_row_is_named_or_skipped_and_listed(tiny_folder: Path, data: Path) -> None:
    with data.open("a") as file:
        file.write('{"sentences": ["One.", "Two."], "boundaries": [7]}\n')
    done = run("evaluate", data, "--model", tiny_folder)
    assert done.returncode == 2
    assert f"{data}, row 13: got 7 among boundaries" in done.stderr
    done = run("evaluate", data, "--model", tiny_folder, "--skip-bad")
    assert done.returncode == 0
    assert f"skipped {data}, row 13" in done.stderr
    assert "skipped 1 of 13 rows" in done.stderr
    assert "flat: 12 documents" in done.stdout


def test_train_on_a_folder_of_markdown(fresh_folder: Path, tmp_path: Path) -> None:
    pages = tmp_path / "pages"
    pages.mkdir()
    for document in documents(24):
        starts = [0, *document.boundaries]
        text = "".join(
            ("# Heading\n\n" if number in starts else "") + f"{sentence}.\n\n"
            for number, sentence in enumerate(document.sentences)
        )
        (pages / f"{document.id}.md").write_text(text)
    output = tmp_path / "model"
    shown = on_a_terminal(
        "train", "--train", pages, "--output", output, "--model", fresh_folder, "--max-steps", 20,
        "--save-steps", 5, "--learning-rate", "3e-3", "--data-licence", "CC0-1.0",
    )  # fmt: skip
    last = shown.replace("\r", "\n").splitlines()
    assert any(line.startswith("training 100%") and "AP=" in line and "loss=" in line for line in last)
    assert any("training" in line and "<" in line for line in last), "time left"
    assert any(line.startswith("paragraphs: AP 0.") and "->" in line for line in last)
    assert f"wrote {output}" in shown.replace("\r\n", "")
    report = json.loads((output / "training.json").read_text())
    assert sum(report["data"][use]["documents"] for use in ("train", "eval")) == 24
    card = (output / "README.md").read_text()
    assert "Licence of the data: CC0-1.0" in card
    assert "segmenter train --train pages --output model" in card
    assert "set aside of those to train on" in card
    assert "the best F1" in card
    for folder in (tmp_path, fresh_folder):
        for text in (card, (output / "training.json").read_text()):
            assert str(folder) not in text
    assert run("segment", pages / "document 3.md", "--model", output).returncode == 0
    again = run("train", "--train", pages, "--output", output, "--model", fresh_folder)
    assert again.returncode == 2
    assert "holds a model already" in again.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--train a b --output o", "--train a --train b --output o"),
        ("--train=a b c --seed 1", "--train=a --train b --train c --seed 1"),
        ("--output o --train a --eval b c", "--output o --train a --eval b --eval c"),
        ("--train a --train b", "--train a --train b"),
        ("--output o p", "--output o p"),
    ],
)
def test_options_take_several_values(words: str, expected: str) -> None:
    assert _spread(words.split(), ("--train", "--eval")) == expected.split()


def test_train_on_several_files(fresh_folder: Path, tmp_path: Path) -> None:
    files = [written(tmp_path / f"{n}.jsonl", documents(10, 10 * n)) for n in range(3)]
    done = run(
        "train", "--train", *files[:2], "--eval", files[2], "--output", tmp_path / "m",
        "--model", fresh_folder, "--max-steps", 2,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "m" / "training.json").read_text())
    assert [report["data"][use]["documents"] for use in ("train", "eval")] == [20, 10]


def test_calibrate_alone(tiny_folder: Path, data: Path, tmp_path: Path) -> None:
    output = tmp_path / "calibrated"
    done = run("calibrate", "--data", data, "--model", tiny_folder, "--output", output)
    assert done.returncode == 0, done.stderr
    assert "temperature" in done.stdout
    one, two = (Segmenter.from_pretrained(folder) for folder in (tiny_folder, output))
    found, before = (evaluate(model, documents(12), resamples=0)["flat"].micro for model in (two, one))
    assert found["calibration_error"].value < before["calibration_error"].value / 2
    assert found["f1"].value >= before["f1"].value
    assert found["average_precision"].value == pytest.approx(before["average_precision"].value, abs=1e-3)
    assert run("calibrate", "--data", data, "--model", tiny_folder, "--output", output).returncode == 2
    shipped = run("calibrate", "--data", data)
    assert "name an output folder" in shipped.stderr
    # In place, for another goal.
    long = shutil.copytree(tiny_folder, tmp_path / "long")
    done = run("calibrate", "--data", data, "--model", long, "--target-mean-section", 6)
    assert done.returncode == 0, done.stderr
    sections = evaluate(Segmenter.from_pretrained(long), documents(12), resamples=0)["flat"].predicted + 12
    assert 144 / sections == pytest.approx(6, abs=0.3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--context", "wide"), "got --context wide"),
        (("--context", "40"), "got context=40 tokens a side, expected 1 to 31"),
        (("--precision", "fp16"), "precision='fp16' without a GPU"),
        (("--target-precision", "2"), "wished precision of 2"),
        (("--epochs", "-1"), "epochs=-1"),
        (("--target-precision", "0.5", "--target-mean-section", "9"), "two goals"),
        (("--replay-share", "1", "--replay", "DATA"), "replay_share=1"),
        (("--eval", "DATA"), "both to train and to measure on"),
    ],
)
def test_mistakes_are_one_line(
    fresh_folder: Path, data: Path, tmp_path: Path, options: tuple[str, ...], message: str
) -> None:
    given = [data if option == "DATA" else option for option in options]
    if "--replay" in options:
        given[-1] = written(tmp_path / "other.jsonl", documents(3, 50))
    done = run("train", "--train", data, "--output", tmp_path / "m", "--model", fresh_folder, *given)
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert len(lines) == 1
    assert message in lines[0]
    assert not (tmp_path / "m").exists()


def test_a_card_names_no_folder_of_this_machine() -> None:
    values = [
        "/home/anna/law/train.parquet",
        "/home/anna/meetings/train.parquet",
        "/tmp/out",
        "user/hub",
        "3",
    ]
    assert list(_names(values).values()) == [
        "law/train.parquet",
        "meetings/train.parquet",
        "out",
        "user/hub",
        "3",
    ]
    assert _names(["~/notes"]) == {"~/notes": "notes"}


def test_a_script_measures_sets_beside_cuts_without_a_model(
    tiny_folder: Path, data: Path, tmp_path: Path
) -> None:
    output = tmp_path / "figures.json"
    script = [sys.executable, ROOT / "scripts" / "measure_model.py", data]
    options = ["--model", tiny_folder, "--most-gaps", "40", "--output", output]
    done = subprocess.run([*script, *options], capture_output=True, text=True, check=True)
    lines = [line.split(" | ")[1:5] for line in done.stdout.splitlines()[2:]]
    ways = ["flat", "paragraphs", "random at that rate", "even at that rate", "every paragraph"]
    assert [line[0] for line in lines] == ways
    assert lines[0][1:] == ["3", "33", "6"]
    figures = json.loads(output.read_text())[f"{data.parent.name}/data"]
    assert figures["every paragraph"]["micro"]["recall"]["value"] == 1


def test_a_script_joins_sections_of_different_documents(tmp_path: Path) -> None:
    sources = [
        LabelledDocument(
            id=f"source {number}",
            sentences=[f"{number} {place}" for place in range(12)],
            boundaries=(4, 7),
            paragraphs=(2, 4, 5, 7, 10),
        )
        for number in range(20)
    ]
    data, output = written(tmp_path / "sources.jsonl", sources), tmp_path / "joined.parquet"
    script = [sys.executable, ROOT / "scripts" / "join_documents.py", data, "--output", output]
    options = ["--documents", "30", "--sections", "6", "--shortest", "2", "--longest", "4"]
    subprocess.run([*script, *options], capture_output=True, check=True)
    made = list(read_documents([output]))
    assert len({document.id for document in made}) == 30
    lengths = set()
    for document in made:
        edges = [0, *document.boundaries, len(document.sentences)]
        sections = [document.sentences[start:end] for start, end in pairwise(edges)]
        assert len({section[0].split()[0] for section in sections}) == len(sections) == 6
        for start, section in zip(edges, sections, strict=False):
            lengths.add(len(section))
            number, first = map(int, section[0].split())
            # The start of one section of one source, its paragraphs kept.
            assert first in (0, 4, 7)
            assert list(section) == [f"{number} {place}" for place in range(first, first + len(section))]
            inside = {start + p - first for p in (2, 5, 10) if first < p < first + len(section)}
            assert inside | ({start} - {0}) == {
                p for p in document.paragraphs or () if start <= p < start + len(section)
            }
    assert lengths == {2, 3, 4}
