"""What all commands share."""

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, TextIO

import typer

from segmenter.errors import SegmenterError

if TYPE_CHECKING:
    from segmenter.labelled import LabelledDocument
    from segmenter.reading import SkippedRow

__all__ = [
    "Backend",
    "BackendChoice",
    "Device",
    "Documents",
    "Dtype",
    "DtypeChoice",
    "MarkupChoice",
    "MarkupOption",
    "Model",
    "SkipBad",
    "Threshold",
    "app",
    "fail_after",
    "read",
    "reported",
    "show_warnings",
]

_MOST_LISTED = 20

app = typer.Typer(
    name="segmenter",
    help="Say where one topic of a text ends and the next begins, and cut the text there.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


Model = Annotated[
    str | None,
    typer.Option(help="Checkpoint folder or hub name.", show_default="the shipped model"),
]
Threshold = Annotated[
    float | None,
    typer.Option(help="Cut where P(boundary) is above it, 0 to 1.", show_default="the checkpoint's"),
]


class BackendChoice(StrEnum):
    """What runs the model."""

    AUTO = "auto"
    TORCH = "torch"
    ONNX = "onnx"
    OPENVINO = "openvino"


class DtypeChoice(StrEnum):
    """What it computes with."""

    AUTO = "auto"
    FLOAT32 = "float32"
    BFLOAT16 = "bfloat16"
    FLOAT16 = "float16"
    INT8 = "int8"


Backend = Annotated[
    BackendChoice, typer.Option(help="What runs the model; auto: the fastest that is as right.")
]
Dtype = Annotated[DtypeChoice, typer.Option(help="What it computes with; auto: as for --backend.")]
Device = Annotated[str, typer.Option(help="auto: a GPU where there is one; cpu, cuda, cuda:1.")]


class MarkupChoice(StrEnum):
    """What texts are written in."""

    AUTO = "auto"
    PLAIN = "plain"
    MARKDOWN = "markdown"
    HTML = "html"


MarkupOption = Annotated[
    MarkupChoice,
    typer.Option(
        "--markup",
        help="What texts are written in. markdown, html: headings cut, tables, lists and code stay whole, "
        "tags are left out. auto: what the name says, .md or .html.",
    ),
]
Documents = Annotated[
    list[str],
    typer.Argument(
        metavar="DATA...",
        help="Labelled documents: parquet, JSONL, Markdown, HTML, reStructuredText, Choi or Wiki-727K files, "
        "folders of them, or a dataset on the hub.",
    ),
]
SkipBad = Annotated[bool, typer.Option("--skip-bad", help="Leave out rows that do not fit, and list them.")]


@contextmanager
def reported() -> Iterator[None]:
    """Turn a user's mistake into one line and exit code 2.

    :yield: Nothing.
    """
    try:
        yield
    except SegmenterError as error:
        fail_after([str(error)])


def fail_after(failures: Sequence[str]) -> None:
    """Tell what failed, if anything did, and exit.

    :param failures: A line each.
    :raises Exit: With code 2, if there are any.
    """
    if failures:
        for failure in failures:
            typer.echo(f"segmenter: {' '.join(failure.split())}", err=True)
        raise typer.Exit(2)


def read(sources: Sequence[str], skip_bad: bool) -> list["LabelledDocument"]:
    """Read labelled documents.

    :param sources: As the user named them.
    :param skip_bad: Whether to leave out rows that do not fit, telling which on the standard error.
    :return: The documents.
    :raises InputError: If a row does not fit, or there is nothing to read.
    """
    from segmenter.reading import read_documents

    skipped: list[SkippedRow] = []
    documents = list(read_documents(sources, on_skip=skipped.append if skip_bad else None))
    for row in skipped[:_MOST_LISTED]:
        typer.echo(f"segmenter: skipped {row.where}: {' '.join(row.reason.split())}", err=True)
    if skipped:
        typer.echo(f"segmenter: skipped {len(skipped)} of {len(skipped) + len(documents)} rows", err=True)
    return documents


def show_warnings() -> None:
    """Print warnings as one line each."""
    warnings.showwarning = _show_warning


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    typer.echo(f"segmenter: warning: {message}", err=True)
