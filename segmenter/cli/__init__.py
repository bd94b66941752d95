"""The command ``segmenter``: thin commands over the package."""

import sys

from segmenter.cli import corpora, evaluating, exporting, retrieving, segmenting, training, viewing
from segmenter.cli.common import app, show_warnings

__all__ = [
    "app",
    "corpora",
    "evaluating",
    "exporting",
    "main",
    "retrieving",
    "segmenting",
    "training",
    "viewing",
]


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    show_warnings()
    app()
