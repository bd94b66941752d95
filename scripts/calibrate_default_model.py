"""Calibrate the shipped model, measure it, and write its folder with a model card.

    python scripts/calibrate_default_model.py --trained runs/default/trained \
        --training runs/default/training.json --data ../shared/data --output models/minilm-l6-enwiki

enwiki/dev is split in halves by a hash of the document id. Temperature, shift and the thresholds, one
for flat text and one for paragraph breaks, are fitted on one half; what is reported comes from the
other half and from the other sets.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from model_card import card

from segmenter import Segmenter
from segmenter.baselines import cut_at_paragraphs, cut_at_random, cut_documents, cut_evenly
from segmenter.checkpoint import Checkpoint, write_checkpoint
from segmenter.evaluation import ScoredDocument, having, measure, modes_of, score_documents
from segmenter.labelled import LabelledDocument, id_order, sample_documents
from segmenter.reading import read_documents
from segmenter.scoring import TorchScorer
from segmenter.training.calibration import Goal, calibrate, fold

Row = dict[str, int | float]

SETS = {
    "enwiki/dev": "enwiki/dev.parquet",
    "techdocs/dev": "techdocs/dev.parquet",
    "dccode/dev": "dccode/dev.parquet",
    "openstax/dev": "openstax/dev.parquet",
    "qmsum/dev": "qmsum/dev.parquet",
    "wiki300": "wiki300/test.parquet",
    "choi": "choi/test.parquet",
}


def main(
    trained: Annotated[Path, typer.Option(help="The trained checkpoint.")],
    training: Annotated[Path, typer.Option(help="training.json of the run.")],
    data: Annotated[Path, typer.Option(help="Folder of the labelled documents.")],
    output: Annotated[Path, typer.Option(help="The folder to ship.")],
    context: Annotated[int, typer.Option(help="Tokens a side.")] = 64,
    most_gaps: Annotated[
        int | None, typer.Option(help="Most gaps of a set, whole documents; all if left out.")
    ] = None,
    most_enwiki_gaps: Annotated[
        int | None, typer.Option(help="The same for each half of enwiki/dev.")
    ] = None,
) -> None:
    """Calibrate, measure, write."""
    checkpoint = Checkpoint.load(trained)
    config = replace(checkpoint.config, context=context, candidates="auto")
    checkpoint = replace(checkpoint, config=config)
    scorer = TorchScorer(checkpoint.model)
    segmenter = Segmenter(checkpoint, scorer)
    documents = {name: read(data / path) for name, path in SETS.items()}
    wiki = documents["enwiki/dev"]
    documents["enwiki/dev"] = [document for document in wiki if not is_calibration(document)]
    held_in = sample_documents((document for document in wiki if is_calibration(document)), most_enwiki_gaps)

    scores = {
        mode: score_documents(segmenter, having(held_in, mode), mode, show_progress=sys.stderr.isatty())
        for mode in modes_of(held_in)
    }
    calibration = calibrate(scores, Goal())
    print(calibration)
    fold(checkpoint.model, calibration)
    config = calibration.settings(config)
    # Now already, since measuring takes long.
    write_checkpoint(checkpoint.model, checkpoint.tokenizer, config, output)
    rows: dict[str, Row] = {}
    for name, whole in documents.items():
        sample = sample_documents(whole, most_enwiki_gaps if name == "enwiki/dev" else most_gaps)
        for mode in modes_of(sample):
            scored = score_documents(segmenter, having(sample, mode), mode, show_progress=sys.stderr.isatty())
            rows[f"{name} {mode}"] = row([document.cut(calibration.thresholds[mode]) for document in scored])
            print(name, mode, rows[f"{name} {mode}"], flush=True)
        rows |= {f"{name} {cut}": values for cut, values in baselines(sample).items()}

    report = json.loads(training.read_text(encoding="utf-8"))
    metrics = {key: values for key, values in rows.items() if key.endswith(("flat", "paragraphs"))}
    write_checkpoint(checkpoint.model, checkpoint.tokenizer, replace(config, metrics=metrics), output)
    details = {
        "temperature": calibration.temperature,
        "shift": calibration.shift,
        "thresholds": dict(calibration.thresholds),
        "calibration_documents": len(held_in),
        "most_gaps": most_gaps,
        "most_enwiki_gaps": most_enwiki_gaps,
    }
    (output / "README.md").write_text(card(report, rows, details, context), encoding="utf-8")
    (output / "training.json").write_text(
        json.dumps({**report, "calibration": details, "measures": rows}, indent=1), encoding="utf-8"
    )


def read(path: Path) -> list[LabelledDocument]:
    """Read a file of labelled documents."""
    return list(read_documents([path]))


def is_calibration(document: LabelledDocument) -> bool:
    """Whether a document of enwiki/dev belongs to the half that is calibrated on."""
    return id_order(document)[0] % 2 == 0


def baselines(documents: Sequence[LabelledDocument]) -> dict[str, Row]:
    """What needs no model."""
    rate = float(np.concatenate([document.reference for document in documents]).mean())
    found = {
        "random at the same rate": row(cut_documents(documents, cut_at_random(rate, seed=0))),
        "even at the same rate": row(cut_documents(documents, cut_evenly(rate))),
    }
    if "paragraphs" in modes_of(documents):
        known = having(documents, "paragraphs")
        found["every paragraph"] = row(cut_documents(known, cut_at_paragraphs))
    return found


def row(documents: Sequence[ScoredDocument]) -> Row:
    """The figures of one line of the model card; Pk and WindowDiff are means over documents."""
    found = measure(documents, resamples=0)
    values: Row = {
        "documents": found.documents,
        "gaps": found.gaps,
        "rate": found.boundaries / found.gaps,
        **{name: found.micro[name].value for name in ("precision", "recall", "f1")},
        **{name: found.macro[name].value for name in ("pk", "window_diff", "boundary_similarity")},
    }
    if "average_precision" in found.micro:
        values |= {
            "average_precision": found.micro["average_precision"].value,
            "calibration_error": found.micro["calibration_error"].value,
            "f1_at_half": measure([d.cut(0.5) for d in documents], resamples=0).micro["f1"].value,
        }
    return values


if __name__ == "__main__":
    typer.run(main)
