"""The command ``evaluate``."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from segmenter.cli.common import (
    Backend,
    BackendChoice,
    Device,
    Documents,
    Dtype,
    DtypeChoice,
    Model,
    SkipBad,
    Threshold,
    app,
    read,
    reported,
)

if TYPE_CHECKING:
    from rich.table import Table

    from segmenter.evaluation import Evaluation, Figure, Mode, ScoredDocument
    from segmenter.labelled import LabelledDocument
    from segmenter.segmenter import Segmenter

__all__ = ["evaluate"]


@app.command()
def evaluate(
    data: Documents,
    model: Model = None,
    threshold: Threshold = None,
    compare: Annotated[
        str | None, typer.Option(metavar="OTHER_MODEL", help="Print MODEL minus OTHER_MODEL too.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    plot: Annotated[
        Path | None,
        typer.Option(metavar="FILE.png", help="Draw precision against recall, and calibration."),
    ] = None,
    drop_lead: Annotated[
        bool, typer.Option("--drop-lead", help="Leave out untitled first sections (needs titles).")
    ] = False,
    top_level: Annotated[
        bool, typer.Option("--top-level", help="Boundaries of top-level sections only (needs levels).")
    ] = False,
    as_many: Annotated[
        bool,
        typer.Option("--as-many", help="Cut each document as often as its labels do, as for Choi (2000)."),
    ] = False,
    most_gaps: Annotated[
        int | None,
        typer.Option(
            min=1, help="Measure on a sample: whole documents, in the order of a hash of their ids."
        ),
    ] = None,
    backend: Backend = BackendChoice.AUTO,
    dtype: Dtype = DtypeChoice.AUTO,
    device: Device = "auto",
    resamples: Annotated[int, typer.Option(min=0, help="Draws of the intervals.")] = 1000,
    skip_bad: SkipBad = False,
) -> None:
    """Measure a model on labelled documents.

    Figures have 95 % intervals over draws of the documents. micro: all gaps, windows or boundaries
    together (pk as Koshorek et al. 2018 weigh it); macro: means over documents.

    Example: segmenter evaluate sections.jsonl --compare old-model
    """
    from segmenter import labelled
    from segmenter.plots import check_plot, plot_evaluation
    from segmenter.segmenter import Segmenter

    with reported():
        documents = read(data, skip_bad)
        if drop_lead:
            documents = [rest for document in documents if (rest := labelled.drop_lead(document))]
        if top_level:
            documents = [labelled.keep_top_level(document) for document in documents]
        documents = labelled.sample_documents(documents, most_gaps)
        if plot is not None:
            check_plot(plot)
        # Both at once, so that a mistake in either is told before the work begins.
        runs_with: dict[str, Any] = {"backend": backend.value, "dtype": dtype.value, "device": device}
        segmenter = Segmenter.from_pretrained(model, threshold=threshold, **runs_with)
        other = (
            None if compare is None else Segmenter.from_pretrained(compare, threshold=threshold, **runs_with)
        )
        results = _measured(documents, segmenter, resamples, as_many)
        differences = {}
        if other is not None:
            differences = _differences(results, _measured(documents, other, resamples, as_many), resamples)
        if plot is not None:
            plot_evaluation({mode: scored for mode, (scored, _) in results.items()}, plot)
    if as_json:
        output: dict[str, Any] = {
            "model": model,
            "data": data,
            "drop_lead": drop_lead,
            "top_level": top_level,
            "as_many": as_many,
            "modes": {mode: asdict(figures) for mode, (_, figures) in results.items()},
        }
        if compare is not None:
            output |= {"other_model": compare, "differences": differences}
        typer.echo(json.dumps(output, indent=1))
    else:
        _print(results, differences)


Results = dict["Mode", tuple[list["ScoredDocument"], "Evaluation"]]


def _measured(
    documents: Sequence["LabelledDocument"], segmenter: "Segmenter", resamples: int, as_many: bool
) -> Results:
    from segmenter.evaluation import having, measure, modes_of, score_documents

    results: Results = {}
    for mode in modes_of(documents):
        known = having(documents, mode)
        scored = score_documents(segmenter, known, mode, show_progress=sys.stderr.isatty())
        if as_many:
            scored = [document.cut_as_often() for document in scored]
        results[mode] = scored, measure(scored, resamples=resamples)
    return results


def _differences(
    results: Results, others: Results, resamples: int
) -> dict[str, dict[str, dict[str, dict[str, float]]]]:
    from segmenter.evaluation import compare

    return {
        mode: {
            kind: {name: asdict(figure) for name, figure in figures.items()}
            for kind, figures in compare(scored, others[mode][0], resamples=resamples).items()
        }
        for mode, (scored, _) in results.items()
    }


def _print(
    results: Results, differences: Mapping[str, Mapping[str, Mapping[str, Mapping[str, float]]]]
) -> None:
    from rich.console import Console

    from segmenter.evaluation import Figure

    console = Console(soft_wrap=True)
    for mode, (_, found) in results.items():
        console.print(f"{mode}: {found.size}, {found.predicted} predicted", highlight=False)
        console.print(_table({"micro": found.micro, "macro": found.macro}))
        if mode in differences:
            console.print(f"{mode}: difference to the other model", highlight=False)
            rows = {
                kind: {name: Figure(**figure) for name, figure in figures.items()}
                for kind, figures in differences[mode].items()
            }
            console.print(_table(rows, signed=True))


def _table(rows: Mapping[str, Mapping[str, "Figure"]], signed: bool = False) -> "Table":
    """A line a measure, with micro and macro side by side."""
    from rich.table import Table

    table = Table("measure", *(f"{kind} [95 % interval]" for kind in rows), box=None, pad_edge=False)
    form = "+.3f" if signed else ".3f"
    for name in dict.fromkeys(name for figures in rows.values() for name in figures):
        cells = [
            f"{figure.value:{form}} \\[{figure.low:{form}}, {figure.high:{form}}]" if figure else ""
            for figure in (figures.get(name) for figures in rows.values())
        ]
        table.add_row(name, *cells)
    return table
