"""Measure a model on several sets of labelled documents, beside cuts that need no model.

    python scripts/measure_model.py --most-gaps 2000 DATA/enwiki/dev.parquet DATA/techdocs/dev.parquet

Prints a Markdown table. A sample is taken from the end of the order that ``segmenter train
--most-eval-gaps`` takes its own from the start of, so that none is measured on what it was calibrated on.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from segmenter import Segmenter
from segmenter.baselines import cut_at_paragraphs, cut_at_random, cut_documents, cut_evenly
from segmenter.evaluation import Evaluation, ScoredDocument, having, measure, modes_of, score_documents
from segmenter.labelled import LabelledDocument, sample_documents
from segmenter.reading import read_documents

COLUMNS = {
    "micro": {"average_precision": "AP", "f1": "F1", "precision": "precision", "recall": "recall"},
    "macro": {"pk": "Pk", "window_diff": "WindowDiff", "boundary_similarity": "B"},
}


def main(
    data: Annotated[list[Path], typer.Argument(help="Sets, each measured by itself.")],
    model: Annotated[str | None, typer.Option(help="The shipped one if left out.")] = None,
    most_gaps: Annotated[
        int | None, typer.Option(help="Most gaps of a set, whole documents; all if left out.")
    ] = None,
    output: Annotated[Path | None, typer.Option(help="Write all figures as JSON too.")] = None,
) -> None:
    """Measure and print."""
    segmenter = Segmenter.from_pretrained(model, candidates="auto")
    print("| set | way | documents | gaps | boundaries | " + " | ".join(_titles()) + " | ECE |")
    print("|---|---|---:|---:|---:|" + "---:|" * (len(_titles()) + 1), flush=True)
    found: dict[str, dict[str, object]] = {}
    for path in data:
        name = f"{path.parent.name}/{path.stem}"
        documents = sample_documents(read_documents([path]), most_gaps, from_end=True)
        for way, scored in ways(segmenter, documents):
            figures = measure(scored)
            print(row(name, way, figures), flush=True)
            found.setdefault(name, {})[way] = asdict(figures)
    if output is not None:
        output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def ways(
    segmenter: Segmenter, documents: Sequence[LabelledDocument]
) -> Iterator[tuple[str, list[ScoredDocument]]]:
    """The model in each way of reading, then what needs none."""
    for mode in modes_of(documents):
        known = having(documents, mode)
        yield mode, score_documents(segmenter, known, mode, show_progress=sys.stderr.isatty())
    rate = float(np.concatenate([document.reference for document in documents]).mean())
    yield "random at that rate", cut_documents(documents, cut_at_random(rate, seed=0))
    yield "even at that rate", cut_documents(documents, cut_evenly(rate))
    if "paragraphs" in modes_of(documents):
        yield "every paragraph", cut_documents(having(documents, "paragraphs"), cut_at_paragraphs)


def row(name: str, way: str, found: Evaluation) -> str:
    """A line of the table."""
    cells = [name, way, str(found.documents), str(found.gaps), str(found.boundaries)]
    for kind, columns in COLUMNS.items():
        figures = found.micro if kind == "micro" else found.macro
        for key in columns:
            figure = figures.get(key)
            is_headline = key in ("average_precision", "f1", "pk")
            interval = f" [{figure.low:.3f}, {figure.high:.3f}]" if figure and is_headline else ""
            cells.append(f"{figure.value:.3f}{interval}" if figure else "")
    error = found.micro.get("calibration_error")
    cells.append(f"{error.value:.3f}" if error else "")
    return "| " + " | ".join(cells) + " |"


def _titles() -> list[str]:
    return [title for columns in COLUMNS.values() for title in columns.values()]


if __name__ == "__main__":
    typer.run(main)
