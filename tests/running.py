"""Runs the blocks of code of a page, one after the other, and compares what they print."""

import io
import os
import re
import shlex
import subprocess
import sys
import warnings
from contextlib import redirect_stderr, redirect_stdout
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from pathlib import Path
from unittest import SkipTest, mock

from sybil import Document, Example, Sybil
from sybil.evaluators.python import PythonEvaluator
from sybil.parsers.markdown import CodeBlockParser, SkipParser

from segmenter.cli import main

from .conftest import ROOT

__all__ = ["parse", "run_command", "run_page"]

_FOR_A_SHELL = re.compile(r"[|<>;&*$()]")
_ANSWER = OutputChecker()


def run_page(page: Document) -> list[str]:
    """Run all blocks of a page that are not marked; they share their names and the current folder.

    :param page: What :func:`parse` gave.
    :return: Why blocks did not run: a reason each.
    """
    page.namespace["__name__"] = "__main__"  # As for a script, or what is under that condition would not run.
    skipped = []
    for example in page.examples():
        try:
            example.evaluate()
        except SkipTest as reason:
            skipped.append(str(reason))
    return skipped


def parse(path: Path) -> Document:
    """Find the blocks of a page: ``python`` and ``sh`` are run, ``text`` is what was printed last.

    :param path: A Markdown file.
    :return: The page.
    """
    parsers = [
        CodeBlockParser("python", _run_python),
        CodeBlockParser("sh", _run_shell),
        CodeBlockParser("text", _compare),
        SkipParser(),
    ]
    return Sybil(parsers, pattern="*.md", path=str(ROOT)).parse(path)


def run_command(words: list[str]) -> str:
    """Run ``segmenter`` in this process, which has loaded already what takes a command seconds.

    :param words: What stands behind the name.
    :return: What it printed.
    """
    out, error = io.StringIO(), io.StringIO()
    code: object = 0
    argv = mock.patch.object(sys, "argv", ["segmenter", *words])
    with redirect_stdout(out), redirect_stderr(error), warnings.catch_warnings(), argv:
        try:
            main()
        except SystemExit as exit_:
            code = exit_.code
    assert code in (0, None), f"segmenter {shlex.join(words)}: {error.getvalue()}"
    return out.getvalue()


def _run_python(example: Example) -> None:
    out = io.StringIO()
    with redirect_stdout(out):
        PythonEvaluator()(example)
    example.namespace["_printed"] = out.getvalue()


def _run_shell(example: Example) -> None:
    printed = []
    for line in str(example.parsed).replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["segmenter"] and not _FOR_A_SHELL.search(shlex.join(words).replace("'", "")):
            printed.append(run_command(words[1:]))
        elif words:
            printed.append(_in_a_shell(line))
    example.namespace["_printed"] = "".join(printed)


def _in_a_shell(line: str) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", line],
        capture_output=True, text=True, check=False, timeout=120, env=environment,
    )  # fmt: skip
    assert done.returncode == 0, f"{line}: {done.stderr}"
    return done.stdout


def _compare(example: Example) -> str | None:
    """A page's ``...`` stands for anything; white space does not matter."""
    options = ELLIPSIS | NORMALIZE_WHITESPACE
    wanted, got = str(example.parsed), example.namespace["_printed"]
    if _ANSWER.check_output(wanted, got, options):
        return None
    return f"line {example.line} of {example.path}: the page says\n{wanted}\nwhat was printed is\n{got}"
