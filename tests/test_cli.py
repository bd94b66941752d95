"""The command, run as its users do: in a process of its own, with real files and pipes."""

import contextlib
import json
import os
import pty
import re
import shutil
import subprocess
import sys
import termios
from pathlib import Path

import pytest

from segmenter import Document, Segmenter

from .conftest import ROOT

ENVIRONMENT = {**os.environ, "PYTHONWARNINGS": "default", "COLUMNS": "100", "TERM": "xterm-256color"}


def run(*arguments: object, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "segmenter", *map(str, arguments)],
        input=stdin, capture_output=True, check=False, env=ENVIRONMENT, timeout=300,
    )  # fmt: skip


def rows(output: bytes) -> list[dict[str, object]]:
    return [json.loads(line) for line in output.decode("utf-8").splitlines()]


def test_jsonl_is_one_object_a_chunk(tiny: Segmenter, tiny_folder: Path, tmp_path: Path) -> None:
    texts = {
        "one.txt": "The harbour is old. Fog is common — 🙂.\r\nShe left school.\n",
        "two.txt": "",
        "three.txt": " \n",
    }
    for name, text in texts.items():
        (tmp_path / name).write_bytes(text.encode())
    paths = [tmp_path / name for name in texts]
    done = run("segment", *paths, "--model", tiny_folder, "--format", "jsonl")
    assert done.returncode == 0
    assert done.stderr == b""
    expected = [
        chunk.row()
        for path, text in zip(paths, texts.values(), strict=True)
        for chunk in tiny.segment(Document(text=text, id=str(path))).chunks
    ]
    for row, right in zip(rows(done.stdout), expected, strict=True):
        assert row == {**right, "probability": pytest.approx(right["probability"], abs=1e-4)}


def test_html_by_name_or_option(tmp_path: Path) -> None:
    source = "<title>T</title><h2>Fog</h2>\r\n<p>It came&nbsp;in. <p>Boats <i>waited</i>."
    page = tmp_path / "a.html"
    page.write_bytes(source.encode())
    given = ["segment", "--chunker", "paragraphs", "--format", "jsonl"]
    found = rows(run(*given, page).stdout)
    assert [row["text"] for row in found] == ["Fog\n\nIt came\xa0in.\n\n", "Boats waited."]
    assert [source[row["source_start"] : row["source_end"]] for row in found] == [
        "Fog</h2>\r\n<p>It came&nbsp;in.",
        "Boats <i>waited</i>.",
    ]
    assert found[1]["section"] == ["Fog"]
    piped = rows(run(*given, "-", "--markup", "html", stdin=source.encode()).stdout)
    assert [row["text"] for row in piped] == [row["text"] for row in found]
    assert len(rows(run(*given, "-", stdin=source.encode()).stdout)) == 1
    assert [row["text"] for row in rows(run(*given, page, "--markup", "plain").stdout)] == [source]
    shown = run("segment", "--chunker", "paragraphs", page).stdout.decode()
    assert f"chunk 1 · 18–31 · Fog · source {source.index('Boats')}–{len(source)}" in shown


def test_text_shows_offsets_tokens_and_probability(tiny_folder: Path) -> None:
    sample = ROOT / "examples" / "career.txt"
    done = run("segment", sample, "--model", tiny_folder, "--sentences", "lines", "--threshold", "0.6")
    assert done.returncode == 0
    assert done.stderr == b""
    output = done.stdout.decode("utf-8")
    assert f"── {sample} · chunk 0 · 0–" in output
    assert "tokens · p = 0." in output
    assert "\x1b" not in output
    for line in sample.read_text(encoding="utf-8").splitlines():
        assert line in output


def test_standard_input_and_threshold(tiny_folder: Path) -> None:
    text = b"The harbour is old. Fog is common. She left school."
    for threshold, n_chunks in ((0, 3), (1, 1)):
        done = run(
            "segment", "-", "--model", tiny_folder, "--format", "jsonl", "--threshold", threshold, stdin=text
        )
        assert [row["doc_id"] for row in rows(done.stdout)] == ["-"] * n_chunks


def test_boundaries_is_one_line_a_gap(tiny: Segmenter, tiny_folder: Path, examples: dict[str, str]) -> None:
    done = run("boundaries", ROOT / "examples" / "harbour.txt", "--model", tiny_folder)
    assert done.returncode == 0
    result = tiny.segment(examples["harbour.txt"])
    lines = [line.split("\t") for line in done.stdout.decode().splitlines()]
    assert len(lines) == len(result.sentences) - 1
    for number, (sentence, offset, probability, label) in enumerate(lines, start=1):
        assert int(sentence) == number
        assert int(offset) == result.sentences[number].start
        assert float(probability) == pytest.approx(result.probabilities[number - 1], abs=1e-4)
        assert label == ("DIFFERENT" if number in result.boundaries else "SAME")


def test_info(tiny_folder: Path) -> None:
    done = run("info", "--model", tiny_folder)
    assert done.returncode == 0
    shown = dict(line.split(maxsplit=1) for line in done.stdout.decode().splitlines())
    assert shown["architecture"] == "DistilBertForSequenceClassification"
    assert shown["context"] == "12"
    assert shown["threshold"] == "0.5"
    assert shown["paragraph_mark"] == "[unused1]"


def test_info_shows_the_metrics(tiny_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny_folder, folder)
    settings = json.loads((folder / "segmenter.json").read_text())
    settings["metrics"] = {"enwiki/dev flat": {"f1": 0.4567891, "gaps": 12}, "note": "measured"}
    (folder / "segmenter.json").write_text(json.dumps(settings))
    shown = run("info", "--model", folder).stdout.decode().split("\n\n")
    assert shown[1].split() == ["enwiki/dev", "flat", "f1", "0.457", "gaps", "12"]
    assert shown[2].split() == ["note", "measured"]


def test_a_byte_order_mark_is_fine(tiny_folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "bom.txt"
    path.write_bytes(b"\xef\xbb\xbfThe harbour is old.")
    (row,) = rows(run("segment", path, "--model", tiny_folder, "--format", "jsonl").stdout)
    assert (row["start"], row["end"], row["text"]) == (0, 19, "The harbour is old.")


def test_other_encodings(tiny_folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "latin.txt"
    path.write_bytes("Das Café liegt am Hafen.".encode("cp1252"))
    done = run("segment", path, "--model", tiny_folder, "--format", "jsonl")
    assert_one_line_of_error(done, "as utf-8", "--encoding cp1252")
    (row,) = rows(
        run("segment", path, "--model", tiny_folder, "--format", "jsonl", "--encoding", "cp1252").stdout
    )
    assert row["text"] == "Das Café liegt am Hafen."


def assert_one_line_of_error(done: subprocess.CompletedProcess[bytes], *parts: str) -> None:
    error = done.stderr.decode()
    assert done.returncode == 2
    assert error.count("\n") == 1
    assert error.startswith("segmenter: ")
    for part in parts:
        assert part in error


def test_mistakes_are_one_line_and_exit_code_2(tiny_folder: Path, tmp_path: Path) -> None:
    sample = ROOT / "examples" / "career.txt"
    assert_one_line_of_error(
        run("segment", "no-such-file", "--model", tiny_folder), "no-such-file", "No such file"
    )
    assert_one_line_of_error(run("segment", tmp_path, "--model", tiny_folder), "Is a directory")
    assert_one_line_of_error(run("segment", sample, "--model", "./nowhere"), "no such folder")
    assert_one_line_of_error(
        run("boundaries", sample, "--model", tiny_folder, "--threshold", "7"), "threshold=7"
    )
    assert_one_line_of_error(
        run("segment", sample, "--model", tiny_folder, "--encoding", "klingon"), "klingon"
    )
    assert_one_line_of_error(run("info", "--model", tmp_path), "config.json")


def test_a_bad_file_does_not_lose_the_good_ones(tiny_folder: Path, tmp_path: Path) -> None:
    good, bad = tmp_path / "good.txt", tmp_path / "bad.txt"
    good.write_text("The harbour is old.")
    bad.write_bytes(b"\xff\xfe\xfa")
    done = run("segment", bad, good, tmp_path / "none", good, "--model", tiny_folder, "--format", "jsonl")
    assert [row["doc_id"] for row in rows(done.stdout)] == [str(good)] * 2
    assert done.returncode == 2
    assert len(done.stderr.decode().splitlines()) == 2


def test_wrong_options_are_told_by_the_command_line(tiny_folder: Path) -> None:
    mistakes = (
        ["segment"],
        ["segment", "-", "--format", "xml"],
        ["nonsense"],
        ["segment", "-", "--sentences", "words"],
    )
    for arguments in mistakes:
        done = run(*arguments)
        assert done.returncode == 2
        assert b"Traceback" not in done.stderr


def test_a_closed_pipe_ends_quietly(tiny_folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "long.txt"
    path.write_text("The harbour is old. " * 5000)
    segment = f"{sys.executable} -m segmenter segment {path} --model {tiny_folder}"
    command = f"{segment} --threshold 0 --format jsonl | head -1"
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, check=False, env=ENVIRONMENT, timeout=300
    )
    assert len(done.stdout.splitlines()) == 1
    assert b"Traceback" not in done.stderr


def test_an_unreadable_text_is_warned_of_in_one_line(tiny_folder: Path) -> None:
    text = "Пристанището се намира в края на дълъг залив.".encode()
    done = run("segment", "-", "--model", tiny_folder, stdin=text)
    assert done.returncode == 0
    assert done.stderr.decode().startswith("segmenter: warning: the model's vocabulary cannot read 100%")
    assert done.stderr.count(b"\n") == 1


def on_a_terminal(*arguments: object) -> str:
    """Run with both outputs on one terminal, and return all that was written to it."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 100))
    command = [sys.executable, "-m", "segmenter", *map(str, arguments)]
    process = subprocess.Popen(command, stdout=slave, stderr=slave, env=ENVIRONMENT)
    os.close(slave)
    shown = b""
    with contextlib.suppress(OSError):  # Linux ends a closed terminal with an error.
        while part := os.read(master, 100_000):
            shown += part
    os.close(master)
    assert process.wait() == 0
    return shown.decode()


def test_a_progress_bar_on_a_terminal_for_long_work(tiny_folder: Path, tmp_path: Path) -> None:
    long = tmp_path / "long.txt"
    page = (ROOT / "examples" / "career.txt").read_text(encoding="utf-8")
    long.write_text(page * 400, encoding="utf-8")
    shown = on_a_terminal("segment", long, long, "--model", tiny_folder, "--threshold", "0.9")
    assert "gap/s" in shown
    # The bar is wiped before chunks are printed: what stays of each line has nothing of it.
    plain = re.sub(r"\x1b\[[\d;]*m", "", shown)
    headers = [line.rstrip("\r").rsplit("\r", 1)[-1] for line in plain.split("\n") if "── " in line]
    assert len(headers) > 10
    assert all(header.startswith("── ") for header in headers)
    assert "gap/s" not in run("segment", long, "--model", tiny_folder).stderr.decode()


def test_no_progress_bar_for_short_work(tiny_folder: Path) -> None:
    assert "gap" not in on_a_terminal("segment", ROOT / "examples" / "espresso.md", "--model", tiny_folder)


def test_help_has_an_example_each() -> None:
    commands = (
        "segment", "boundaries", "info", "corpus", "evaluate", "train", "calibrate", "view", "compare",
    )  # fmt: skip
    for command in commands:
        done = run(command, "--help")
        assert done.returncode == 0
        assert f"Example: segmenter {command}" in " ".join(done.stdout.decode().split())
