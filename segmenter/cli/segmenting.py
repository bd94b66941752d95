"""Commands that use a model: ``segment``, ``boundaries``, ``info``."""

import json
import sys
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    fail_after,
    reported,
)
from segmenter.cli.cutting import (
    ChunkerChoice,
    ChunkerOption,
    Cutting,
    Header,
    MaxTokens,
    MinTokens,
    Neighbours,
    Overlap,
    Size,
    StyleChoice,
    StyleOption,
    TargetTokens,
    Tokenizer,
)
from segmenter.errors import InputError

if TYPE_CHECKING:
    from segmenter.chunkers import Chunker
    from segmenter.document import Chunk, Document
    from segmenter.segmenter import Segmenter

__all__ = [
    "Encoding",
    "File",
    "SentenceChoice",
    "Sentences",
    "boundaries",
    "info",
    "load",
    "read_document",
    "read_text",
    "segment",
]

_OFFICE_SUFFIXES = (".pdf", ".docx")


class OutputFormat(StrEnum):
    """How chunks are printed."""

    TEXT = "text"
    JSONL = "jsonl"


class SentenceChoice(StrEnum):
    """How a text is split into sentences."""

    AUTO = "auto"
    LINES = "lines"


Sentences = Annotated[
    SentenceChoice | None,
    typer.Option(help="auto: by sentencex. lines: every line is one.", show_default="the checkpoint's"),
]
Encoding = Annotated[str, typer.Option(help="Of the files; a UTF-8 byte order mark is fine.")]
File = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="Text, Markdown, HTML, PDF or Word (.docx); - is the standard input."
    ),
]
Files = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE...", help="Text, Markdown, HTML, PDF or Word (.docx); - is the standard input."
    ),
]


@app.command()
def segment(
    files: Files,
    model: Model = None,
    threshold: Threshold = None,
    chunker: ChunkerOption = ChunkerChoice.TOPIC,
    max_tokens: MaxTokens = None,
    min_tokens: MinTokens = None,
    target_tokens: TargetTokens = None,
    overlap: Overlap = None,
    neighbours: Neighbours = 0,
    header: Header = None,
    size: Size = None,
    style: StyleOption = StyleChoice.WINDOW,
    tokenizer: Tokenizer = None,
    markup: MarkupOption = MarkupChoice.AUTO,
    sentences: Sentences = None,
    backend: Backend = BackendChoice.AUTO,
    dtype: Dtype = DtypeChoice.AUTO,
    device: Device = "auto",
    output_format: Annotated[
        OutputFormat, typer.Option("--format", help="How to print.")
    ] = OutputFormat.TEXT,
    encoding: Encoding = "utf-8",
    profile: Annotated[bool, typer.Option("--profile", help="Tell where the time went.")] = False,
) -> None:
    """Cut texts into chunks.

    On a terminal the chunks have colours, under a sparkline of the probabilities; in a pipe they are plain.
    jsonl prints one object a chunk: doc_id, chunk_index, start, end, text, token_count, probability (of the
    boundary that opens it; null for the first), title, section, page, context (header, before, after: what
    goes to an embedder beside the text), chunk_id, fingerprint (of the settings), source_start and
    source_end (in the HTML, where start and end are those of its text without tags).

    Example: segmenter segment report.txt --max-tokens 256 --format jsonl
    """
    cutting = Cutting(
        chunker=chunker,
        threshold=threshold,
        max_tokens=max_tokens,
        min_tokens=min_tokens,
        target_tokens=target_tokens,
        overlap=overlap,
        neighbours=neighbours,
        header=header,
        size=size,
        style=style,
        tokenizer=tokenizer,
    )
    with reported():
        segmenter = None
        if cutting.needs_model:
            segmenter = load(model, threshold, sentences, backend, dtype, device)
        cutter = cutting.build(segmenter)
        failures: list[str] = []
        documents = _documents(files, encoding, markup, failures)
        if output_format is OutputFormat.TEXT and sys.stdout.isatty():
            _show_in_colour(cutter, documents)
        else:
            for chunks in cutter.chunk_many(documents, show_progress=sys.stderr.isatty()):
                for chunk in chunks:
                    if output_format is OutputFormat.JSONL:
                        typer.echo(json.dumps(chunk.row(), ensure_ascii=False))
                    else:
                        _show(chunk)
        if profile and segmenter is not None:
            typer.echo(segmenter.profile, err=True)
        fail_after(failures)


def _show_in_colour(cutter: "Chunker", documents: Iterable["Document"]) -> None:
    from rich.console import Console

    from segmenter.chunkers import TopicChunker
    from segmenter.view.terminal import show_chunks, show_result

    console = Console(highlight=False)
    is_terminal = sys.stderr.isatty()
    if isinstance(cutter, TopicChunker):
        for result in cutter.segment_many(documents, show_progress=is_terminal):
            show_result(console, result)
    else:
        for chunks in cutter.chunk_many(documents, show_progress=is_terminal):
            show_chunks(console, chunks)


def _show(chunk: "Chunk") -> None:
    parts = [f"── {chunk.document_id}", f"chunk {chunk.index}", f"{chunk.start}–{chunk.end}"]
    parts += [f"{chunk.token_count} tokens"] if chunk.token_count else []
    parts += [] if chunk.probability is None else [f"p = {chunk.probability:.2f}"]
    parts += [] if chunk.page is None else [f"page {chunk.page}"]
    parts += [" > ".join(chunk.section)] if chunk.section else []
    if (chunk.source_start, chunk.source_end) != (chunk.start, chunk.end):
        parts += [f"source {chunk.source_start}–{chunk.source_end}"]
    typer.echo(" · ".join(parts))
    typer.echo(chunk.text.strip("\r\n"))
    typer.echo()


@app.command()
def boundaries(
    file: File,
    markup: MarkupOption = MarkupChoice.AUTO,
    model: Model = None,
    threshold: Threshold = None,
    sentences: Sentences = None,
    backend: Backend = BackendChoice.AUTO,
    dtype: Dtype = DtypeChoice.AUTO,
    device: Device = "auto",
    encoding: Encoding = "utf-8",
) -> None:
    """Print a line a gap: number and offset of the sentence behind it, P(boundary), label.

    Columns are separated by tabs. A gap that was not scored has probability 0.

    Example: segmenter boundaries report.txt
    """
    with reported():
        document = read_document(file, encoding, markup)
        segmenter = load(model, threshold, sentences, backend, dtype, device)
        result = segmenter.segment(document, show_progress=sys.stderr.isatty())
        cut = set(result.boundaries)
        for number, probability in enumerate(result.probabilities, start=1):
            label = "DIFFERENT" if number in cut else "SAME"
            typer.echo(f"{number}\t{result.sentences[number].start}\t{probability:.6f}\t{label}")


@app.command()
def info(model: Model = None) -> None:
    """Print what a checkpoint is, its settings and its metrics.

    Example: segmenter info --model my-checkpoint
    """
    from segmenter.backends import choose
    from segmenter.checkpoint import Checkpoint
    from segmenter.sources import locate

    with reported():
        folder = locate(model)
        choice = choose("auto", "auto", "auto", folder)
        checkpoint = Checkpoint.load(folder)
        network = checkpoint.model.config
        settings = {
            "folder": str(checkpoint.folder),
            "runs with": f"{choice.backend} in {choice.dtype} on {choice.device}: {choice.reason}",
            "architecture": type(checkpoint.model).__name__,
            "parameters": sum(weight.numel() for weight in checkpoint.model.parameters()),
            "layers": network.num_hidden_layers,
            "hidden_size": network.hidden_size,
            "vocabulary": network.vocab_size,
            "positions": checkpoint.max_positions,
            **json.loads(checkpoint.config.to_json()),
        }
        metrics = settings.pop("metrics")
        for name, value in settings.items():
            typer.echo(f"{name:16} {value}")
        for name, values in (metrics or {}).items():
            typer.echo(f"\n{name}")
            for key, value in values.items() if isinstance(values, dict) else [("", values)]:
                typer.echo(f"  {key:22} {f'{value:.3f}' if isinstance(value, float) else value}")


def load(
    model: str | None,
    threshold: float | None,
    sentences: SentenceChoice | None,
    backend: BackendChoice,
    dtype: DtypeChoice,
    device: str,
) -> "Segmenter":
    """Load the model that the options of a command ask for.

    :param model: Checkpoint folder or hub name.
    :param threshold: Gaps above it are cut.
    :param sentences: How texts are split.
    :param backend: What runs it.
    :param dtype: What it computes with.
    :param device: Where.
    :return: The segmenter.
    """
    from segmenter.segmenter import Segmenter

    return Segmenter.from_pretrained(
        model,
        threshold=threshold,
        sentences=sentences.value if sentences else None,
        backend=backend.value,
        dtype=dtype.value,
        device=device,
    )


def _documents(
    files: list[str], encoding: str, markup: MarkupChoice, failures: list[str]
) -> Iterator["Document"]:
    """Read files one by one; a bad one is told and passed over, so that the others are not lost."""
    for file in files:
        try:
            yield read_document(file, encoding, markup)
        except InputError as error:
            failures.append(str(error))


def read_document(file: str, encoding: str, markup: MarkupChoice) -> "Document":
    """Read a document and its structure.

    :param file: Its path; ``-`` is the standard input.
    :param encoding: As Python names it.
    :param markup: What it is written in.
    :return: The document, whose id is the path.
    :raises InputError: If it cannot be read or decoded.
    :raises MissingPackageError: If it is PDF or Word, and what reads it is not installed.
    """
    from segmenter.markup import language_of, read_markup

    if markup is MarkupChoice.AUTO and file.lower().endswith(_OFFICE_SUFFIXES):
        from segmenter.office import from_docx, from_pdf

        return (from_pdf if file.lower().endswith(".pdf") else from_docx)(file, id=file)
    return read_markup(read_text(file, encoding), language_of(file, markup.value), id=file)


def read_text(file: str, encoding: str) -> str:
    """Read a text file.

    :param file: Its path; ``-`` is the standard input.
    :param encoding: As Python names it; of UTF-8 a byte order mark is left out.
    :return: The text, its line ends as they are.
    :raises InputError: If it cannot be read or decoded.
    """
    # Bytes first: reading as text would rewrite line ends, and so move offsets.
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from error
    codec = "utf-8-sig" if encoding.lower().replace("_", "-") in ("utf-8", "utf8") else encoding
    try:
        return data.decode(codec)
    except LookupError as error:
        raise InputError(
            f"got --encoding {encoding}, expected one that Python knows, such as utf-8"
        ) from error
    except UnicodeError as error:
        where = f": byte {error.start} is not valid" if isinstance(error, UnicodeDecodeError) else ""
        raise InputError(
            f"cannot read {file} as {encoding}{where}; "
            "name the file's encoding with --encoding, for example --encoding cp1252"
        ) from error
