"""The commands ``view`` and ``compare``."""

import sys
from collections.abc import Sequence
from dataclasses import fields, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from segmenter.cli.common import (
    Backend,
    BackendChoice,
    Device,
    Dtype,
    DtypeChoice,
    MarkupChoice,
    MarkupOption,
    Model,
    Threshold,
    app,
    reported,
)
from segmenter.cli.cutting import (
    Cutting,
    Header,
    MaxTokens,
    MinTokens,
    Neighbours,
    Overlap,
    Size,
    TargetTokens,
    Tokenizer,
    load_tokenizer,
    parse_cutting,
)
from segmenter.cli.retrieving import Loader
from segmenter.cli.segmenting import Encoding, File, Sentences, load, read_document
from segmenter.errors import ConfigError, InputError

if TYPE_CHECKING:
    from segmenter.document import Document
    from segmenter.labelled import LabelledDocument

__all__ = ["compare", "view"]

_LABELLED = ("jsonl", "parquet", "rst")
"""Kinds of files that are no texts, or always have labels."""

Output = Annotated[Path, typer.Option("--output", "-o", metavar="FILE.html", help="The page to write.")]


@app.command()
def view(
    file: File,
    output: Output,
    markup: MarkupOption = MarkupChoice.AUTO,
    labelled: Annotated[
        bool,
        typer.Option(
            "--labelled",
            help="Headings or separators of the file are the labels, and are left out of its text, as "
            "`segmenter evaluate` reads it; JSONL, parquet, reStructuredText and .ref always are.",
        ),
    ] = False,
    document: Annotated[int, typer.Option(min=1, help="Which one, in a file of several.")] = 1,
    model: Model = None,
    threshold: Threshold = None,
    sentences: Sentences = None,
    backend: Backend = BackendChoice.AUTO,
    dtype: Dtype = DtypeChoice.AUTO,
    device: Device = "auto",
    encoding: Encoding = "utf-8",
) -> None:
    """Write a page that shows where a text is cut, and why: one file, which needs no network.

    The text in its chunks, the probability between sentences, and a curve of it with the threshold, which can
    be dragged: the chunks follow. Pointing at a gap shows what the model saw there. With labels precision,
    recall and F1 follow too.

    Example: segmenter view report.txt -o report.html
    """
    from segmenter import view as pages

    with reported():
        _check_output(output)
        source = _labelled(file, document) if labelled or _is_labelled(file) else None
        if source is None and document > 1:
            raise InputError(f"got --document {document}, but {file} is one text")
        text = None if source is not None else _read(file, encoding, markup)
        segmenter = load(model, threshold, sentences, backend, dtype, device)
        shows = sys.stderr.isatty()
        if source is not None:
            page = pages.labelled_page(source, segmenter, show_progress=shows)
        else:
            assert text is not None
            result = segmenter.segment(text, show_progress=shows)
            page = pages.page(result, segmenter=segmenter)
        _write(page, output)


@app.command()
def compare(
    file: File,
    chunker: Annotated[
        list[str],
        typer.Option(
            "--chunker",
            metavar="NAME[:SETTING=VALUE,...]",
            help="How to cut, as `segmenter segment` does, such as topic:max_tokens=200 or words:size=150; "
            "given twice.",
        ),
    ],
    output: Output,
    threshold: Threshold = None,
    max_tokens: MaxTokens = None,
    min_tokens: MinTokens = None,
    target_tokens: TargetTokens = None,
    overlap: Overlap = None,
    neighbours: Neighbours = 0,
    header: Header = None,
    size: Size = None,
    tokenizer: Tokenizer = None,
    markup: MarkupOption = MarkupChoice.AUTO,
    model: Model = None,
    sentences: Sentences = None,
    backend: Backend = BackendChoice.AUTO,
    dtype: Dtype = DtypeChoice.AUTO,
    device: Device = "auto",
    encoding: Encoding = "utf-8",
) -> None:
    """Write a page that shows two cuts of a text side by side.

    Options hold for both; what one --chunker says for itself goes before them.

    Example: segmenter compare report.txt --chunker topic --chunker words:size=150 -o compare.html
    """
    shared = {
        "threshold": threshold,
        "max_tokens": max_tokens,
        "min_tokens": min_tokens,
        "target_tokens": target_tokens,
        "overlap": overlap,
        "neighbours": neighbours,
        "header": header,
        "size": size,
        "tokenizer": tokenizer,
    }
    with reported():
        from segmenter import view as pages

        _check_output(output)
        cuttings = _cuttings(chunker, shared)
        runs_with = {"backend": backend.value, "dtype": dtype.value, "device": device}
        loader = Loader(model, {**runs_with, "sentences": sentences.value if sentences else None})
        cutters = {name: loader.build(cutting) for name, cutting in cuttings.items()}
        text = _read(file, encoding, markup)
        cuts = {name: cutter.chunk(text) for name, cutter in cutters.items()}
        counted_by = None if tokenizer is None else load_tokenizer(tokenizer)
        _write(pages.compare_page(cuts, title=text.title or text.id or file, tokenizer=counted_by), output)


def _cuttings(specs: Sequence[str], shared: dict[str, Any]) -> dict[str, Cutting]:
    """The ways of cutting by their names, with what holds for all of them."""
    if len(specs) != 2 or specs[0] == specs[1]:
        raise ConfigError(
            f"got {len(specs)} --chunker ({', '.join(specs)}), expected two that differ, such as "
            "--chunker topic --chunker words:size=150"
        )
    unset = {field.name: field.default for field in fields(Cutting)}
    found = {}
    for spec in specs:
        cutting = parse_cutting(spec)
        missing = {name: value for name, value in shared.items() if getattr(cutting, name) == unset[name]}
        found[spec] = replace(cutting, **missing)
    return found


def _is_labelled(file: str) -> bool:
    from segmenter.reading.files import KINDS, kind_of

    return kind_of(file, KINDS) in _LABELLED or file.lower().endswith(".ref")


def _labelled(file: str, number: int) -> "LabelledDocument":
    """Read one document of a file, and tell if there are more."""
    from segmenter.reading import read_documents

    documents = list(islice(read_documents([file]), number + 1))
    if len(documents) < number:
        raise InputError(f"got --document {number}, but {file} has {len(documents)}")
    found = documents[number - 1]
    if len(documents) > number or number > 1:
        typer.echo(f"segmenter: this is document {number}, {found.id}; --document shows another", err=True)
    return found


def _read(file: str, encoding: str, markup: MarkupChoice) -> "Document":
    name = "standard input" if file == "-" else Path(file).name
    return replace(read_document(file, encoding, markup), id=name)


def _check_output(output: Path) -> None:
    if not output.absolute().parent.is_dir():
        raise InputError(f"got --output {output}, but there is no such folder")


def _write(page: str, output: Path) -> None:
    try:
        output.write_text(page, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {output}: {error.strerror}") from error
    typer.echo(f"wrote {output}")
