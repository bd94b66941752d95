"""The commands ``evaluate-retrieval`` and ``ask``."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from importlib import import_module
from itertools import product
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
    app,
    reported,
)
from segmenter.cli.cutting import ChunkerChoice, Cutting, parse_cutting
from segmenter.cli.segmenting import Encoding, File, read_document
from segmenter.errors import ConfigError

if TYPE_CHECKING:
    from segmenter.chunkers import Chunker
    from segmenter.document import Chunk, Document
    from segmenter.embedding import Embedder
    from segmenter.evaluation import Figure
    from segmenter.retrieval import Retrieval
    from segmenter.segmentation import Segmentation
    from segmenter.segmenter import Segmenter

__all__ = ["Chunkers", "Loader", "ask", "evaluate_retrieval"]

_MOST_SHOWN = 160

Chunkers = Annotated[
    list[str] | None,
    typer.Option(
        "--chunker",
        metavar="NAME[:SETTING=VALUE,...]",
        help="How to cut, as `segmenter segment` does, such as topic:max_tokens=200 or "
        "words:size=150,overlap=0.2; "
        "may be given more than once.",
        show_default="topic",
    ),
]
EmbedderName = Annotated[
    str,
    typer.Option(
        "--embedder",
        metavar="minilm|MODULE:NAME",
        help="What makes vectors: all-MiniLM-L6-v2, or a callable of yours that takes texts.",
    ),
]


@app.command()
def evaluate_retrieval(
    corpus: Annotated[Path, typer.Option(help="A folder of .md, .txt and .html files.")],
    questions: Annotated[
        Path,
        typer.Option(
            help="CSV (question, corpus_id, references) or JSONL (question, document, spans). Spans count "
            "characters of the text; of HTML that is the text without tags."
        ),
    ],
    chunker: Chunkers = None,
    embedder: EmbedderName = "minilm",
    ks: Annotated[list[int] | None, typer.Option("--k", min=1, show_default="1 3 5 10")] = None,
    sweep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SETTING=A,B,...",
            help="Measure every --chunker with each of these values, such as threshold=0.2,0.4; may be "
            "given more "
            "than once.",
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="Draw each measure against k.")
    ] = None,
    resamples: Annotated[int, typer.Option(min=0, help="Draws of the intervals.")] = 1000,
    markup: MarkupOption = MarkupChoice.AUTO,
    model: Model = None,
    backend: Backend = BackendChoice.AUTO,
    dtype: Dtype = DtypeChoice.AUTO,
    device: Device = "auto",
) -> None:
    """Measure how well chunks answer questions whose answers are known.

    For each way of cutting: the number of chunks, their mean tokens, and at each k recall, precision and IoU
    of the answers' characters, and whole, the share of questions whose every passage lies whole in one of the
    k nearest chunks, with 95 % intervals over draws of the questions. Of several ways all but the first are
    subtracted from it, question by question; a * marks a difference whose interval has no 0 in it.

    Example: segmenter evaluate-retrieval --corpus texts --questions questions.csv --chunker
    topic:max_tokens=200 --chunker words
    """
    from segmenter import retrieval
    from segmenter.embedding import Remembering
    from segmenter.plots import check_plot, plot_retrieval

    with reported():
        if plot is not None:
            check_plot(plot)
        documents, asked = retrieval.read_corpus(corpus, markup.value), retrieval.read_questions(questions)
        ways = list(_ways(chunker or ["topic"], sweep or []))
        loader = Loader(model, {"backend": backend.value, "dtype": dtype.value, "device": device})
        cutters = {name: loader.build(cutting) for name, cutting in ways}
        remembering = Remembering(load_embedder(embedder))
        results = {
            name: retrieval.evaluate_retrieval(
                cutter, documents, asked, remembering, ks=ks or retrieval.KS, resamples=resamples
            )
            for name, cutter in cutters.items()
        }
        if plot is not None:
            plot_retrieval(results, plot)
        first, *others = results
        differences = {
            name: retrieval.compare_retrieval(results[first], results[name], resamples=resamples)
            for name in others
        }
    if as_json:
        typer.echo(json.dumps(_as_json(results, first, differences), indent=1))
    else:
        _print(results, first, differences)


@app.command()
def ask(
    file: File,
    question: Annotated[str, typer.Option(help="What is asked of it.")],
    answer: Annotated[
        str | None, typer.Option(help="Text of the file that answers it; white space does not matter.")
    ] = None,
    chunker: Chunkers = None,
    overlap: Annotated[
        str | None,
        typer.Option(metavar="N|FROM:TO", help="Of the pieces; 0:4 shows a line for each from 0 to 4."),
    ] = None,
    embedder: EmbedderName = "minilm",
    markup: MarkupOption = MarkupChoice.AUTO,
    model: Model = None,
    encoding: Encoding = "utf-8",
) -> None:
    """Cut one document and see which piece a question finds.

    Prints every piece with the cosine of its vector and the question's, marks the nearest (>), and says which
    hold the whole answer (+). With a range of overlaps: a line for each, with the number of pieces, the
    nearest, its similarity, whether it holds the answer, and how many do.

    Example: segmenter ask report.txt --question "When was the bell cast?" --answer "in 1887"
    --chunker words:size=10 --overlap 0:4
    """
    from segmenter.embedding import Remembering

    with reported():
        document = read_document(file, encoding, markup)
        overlaps = _overlaps(overlap)
        cuttings = [parse_cutting(spec) for spec in chunker or ["topic"]]
        loader = Loader(model, {})
        remembering = Remembering(load_embedder(embedder))
        for cutting in cuttings:
            for number in overlaps:
                way = cutting if number is None else replace(cutting, overlap=str(number))
                chunks = loader.build(way).chunk(document)
                found = _found(chunks, question, answer, remembering)
                if len(overlaps) > 1:
                    typer.echo(f"overlap {number}: {_summary(found, answer)}")
                else:
                    _show(found, answer)


def load_embedder(name: str) -> "Embedder":
    """Find what makes vectors.

    :param name: ``minilm``, or ``MODULE:NAME`` of a callable.
    :return: It.
    :raises ConfigError: If there is none of that name.
    """
    if name == "minilm":
        from segmenter.embedding import MiniLM

        return MiniLM()
    module, _, attribute = name.partition(":")
    try:
        found: Embedder = getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError(
            f"got --embedder {name}, expected minilm or MODULE:NAME of a callable that can be imported: "
            f"{error}"
        ) from error
    return found


class Loader:
    """Makes cutters; those of the model share it, and what it says of each document.

    :param model: Checkpoint folder or hub name; None for the shipped one.
    :param runs_with: Other settings of the model.
    """

    def __init__(self, model: str | None, runs_with: dict[str, Any]) -> None:
        self._model, self._runs_with = model, runs_with
        self._segmenter: Segmenter | None = None
        self._known: dict[tuple[str | None, int | None], list[Segmentation]] = {}

    def build(self, cutting: Cutting) -> "Chunker":
        """Make a cutter.

        :param cutting: What is asked for.
        :return: The cutter.
        :raises ConfigError: If options do not go together.
        """
        if cutting.chunker is not ChunkerChoice.TOPIC:
            return cutting.build(None)
        if self._segmenter is None:
            from segmenter.segmenter import Segmenter

            self._segmenter = Segmenter.from_pretrained(self._model, **self._runs_with)
        cutting.build(self._segmenter)  # Tells of options that do not go together.
        return _Rechunking(self._segmenter, cutting, self._known)


class _Rechunking:
    """Cuts by topic, and runs the model once for all thresholds and contexts."""

    def __init__(
        self, segmenter: "Segmenter", cutting: Cutting, known: dict[Any, list["Segmentation"]]
    ) -> None:
        from segmenter.cli.cutting import load_tokenizer

        self._segmenter, self._known = segmenter, known
        self._config = replace(cutting.config, threshold=cutting.threshold)
        self._tokenizer = None if cutting.tokenizer is None else load_tokenizer(cutting.tokenizer)

    def chunk(self, text: "str | Document") -> tuple["Chunk", ...]:
        return next(self.chunk_many([text]))

    def chunk_many(
        self, texts: Iterable["str | Document"], *, show_progress: bool = False
    ) -> Iterator[tuple["Chunk", ...]]:
        given = list(texts)
        key = (tuple(given), self._config.max_tokens)
        if key not in self._known:
            limit = replace(self._config, threshold=None)
            self._known[key] = list(
                self._segmenter.segment_many(given, chunks=limit, show_progress=show_progress)
            )
        for result in self._known[key]:
            yield result.rechunk(self._config, self._tokenizer).chunks


def _ways(specs: Sequence[str], sweeps: Sequence[str]) -> Iterator[tuple[str, Cutting]]:
    """Every way of cutting with every combination of the values that are swept."""
    axes = []
    for sweep in sweeps:
        name, found, values = sweep.partition("=")
        if not found or not values:
            raise ConfigError(f"got --sweep {sweep}, expected a setting and values, such as size=100,200")
        axes.append([f"{name}={value}" for value in values.split(",")])
    for spec in specs:
        for chosen in product(*axes):
            joined = ",".join([spec, *chosen]) if ":" in spec else ":".join([spec, ",".join(chosen)])
            yield joined.rstrip(":"), parse_cutting(joined)


def _overlaps(overlap: str | None) -> list[int | str | None]:
    if overlap is None or ":" not in overlap:
        return [overlap]
    first, _, last = overlap.partition(":")
    if not (first.isdecimal() and last.isdecimal() and int(first) <= int(last)):
        raise ConfigError(f"got --overlap {overlap}, expected a number, or a range such as 0:4")
    return list(range(int(first), int(last) + 1))


Found = list[tuple["Chunk", float, bool]]


def _found(chunks: Sequence["Chunk"], question: str, answer: str | None, embedder: "Embedder") -> Found:
    """Every piece, its similarity, and whether it holds the answer."""
    from segmenter.embedding import embed

    texts = [chunk.embed_text for chunk in chunks]
    similarity = embed(embedder, texts) @ embed(embedder, [question])[0] if texts else ()
    wanted = " ".join((answer or "").split())
    return [
        (chunk, float(value), bool(wanted) and wanted in " ".join(chunk.embed_text.split()))
        for chunk, value in zip(chunks, similarity, strict=True)
    ]


def _nearest(found: Found) -> int:
    return max(range(len(found)), key=lambda number: (found[number][1], -number))


def _summary(found: Found, answer: str | None) -> str:
    if not found:
        return "no pieces"
    number = _nearest(found)
    line = f"{len(found)} pieces, nearest {number} ({found[number][1]:.3f})"
    if answer is None:
        return line
    holds = "holds" if found[number][2] else "does not hold"
    return f"{line}, which {holds} the whole answer; {sum(held for _, _, held in found)} pieces do"


def _show(found: Found, answer: str | None) -> None:
    nearest = _nearest(found) if found else -1
    for number, (chunk, value, held) in enumerate(found):
        text = " ".join(chunk.embed_text.split())
        text = text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"
        mark = f"{'>' if number == nearest else ' '}{'+' if held else ' '}"
        typer.echo(f"{mark} {number:4} {value:6.3f}  {text}")
    typer.echo(_summary(found, answer))


def _as_json(
    results: Mapping[str, "Retrieval"],
    first: str,
    differences: Mapping[str, Mapping[int, Mapping[str, "Figure"]]],
) -> dict[str, Any]:
    return {
        "chunkers": {
            name: {
                "chunks": result.chunks,
                "mean_tokens": result.mean_tokens,
                "mean_characters": result.mean_characters,
                "k": _plain(result.figures),
            }
            for name, result in results.items()
        },
        "differences": {f"{first} - {name}": _plain(found) for name, found in differences.items()},
    }


def _plain(figures: Mapping[int, Mapping[str, "Figure"]]) -> dict[str, dict[str, dict[str, float]]]:
    return {str(k): {name: asdict(figure) for name, figure in found.items()} for k, found in figures.items()}


def _print(
    results: Mapping[str, "Retrieval"],
    first: str,
    differences: Mapping[str, Mapping[int, Mapping[str, "Figure"]]],
) -> None:
    from rich.console import Console
    from rich.table import Table

    from segmenter.retrieval import MEASURES

    console = Console(soft_wrap=True)
    table = Table("chunker", "chunks", "tokens", "k", *MEASURES, box=None, pad_edge=False)
    for name, result in results.items():
        for k, figures in result.figures.items():
            cells = [
                f"{figures[m].value:.4f} \\[{figures[m].low:.4f}, {figures[m].high:.4f}]" for m in MEASURES
            ]
            table.add_row(name, str(result.chunks), f"{result.mean_tokens:.0f}", str(k), *cells)
    console.print(table)
    if not differences:
        return
    console.print(f"\n{first} minus (* real: no 0 in the interval)", highlight=False)
    table = Table("chunker", "k", *MEASURES, box=None, pad_edge=False)
    for name, found in differences.items():
        for k, figures in found.items():
            cells = []
            for measure in MEASURES:
                figure = figures[measure]
                mark = "*" if figure.low > 0 or figure.high < 0 else " "
                cells.append(f"{figure.value:+.4f}{mark} \\[{figure.low:+.4f}, {figure.high:+.4f}]")
            table.add_row(name, str(k), *cells)
    console.print(table)
