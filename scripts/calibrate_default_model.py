"""Calibrate the shipped model, measure it, and write its folder with a model card.

    python scripts/calibrate_default_model.py --trained runs/default/trained \
        --training runs/default/training.json --data ../shared/data --output models/minilm-l6-enwiki

enwiki/dev is split in halves by a hash of the document id. Temperature, shift and the thresholds, one
for flat text and one for paragraph breaks, are fitted on one half; what is reported comes from the
other half and from the other sets.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from datasets import load_dataset
from model_card import card

from segmenter import Segmenter
from segmenter.checkpoint import Checkpoint, write_checkpoint
from segmenter.evaluation import (
    Measures,
    Mode,
    ScoredDocument,
    cut_at_paragraphs,
    cut_at_random,
    cut_evenly,
    measure,
    measure_cuts,
    score_documents,
)
from segmenter.labelled import LabelledDocument
from segmenter.metrics import best_threshold
from segmenter.scoring import TorchScorer
from segmenter.training.calibration import fit_calibration, fold

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
    most_gaps: Annotated[int, typer.Option(help="Most gaps of a set, whole documents; 0 for all.")] = 0,
    most_enwiki_gaps: Annotated[int, typer.Option(help="The same for each half of enwiki/dev.")] = 0,
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
    held_in = capped([document for document in wiki if is_calibration(document)], most_enwiki_gaps)

    scores = {
        mode: score_documents(segmenter, having(held_in, mode), mode, show_progress=True)
        for mode in modes(held_in)
    }
    margins = np.concatenate([logit(joined(scored)[1]) for scored in scores.values()])
    reference = np.concatenate([joined(scored)[0] for scored in scores.values()])
    calibration = fit_calibration(margins, reference)
    print(calibration)
    fold(checkpoint.model, calibration)
    thresholds: dict[Mode, float] = {}
    for mode, scored in scores.items():
        labels, chances = joined(scored)
        calibrated = sigmoid(logit(chances) / calibration.temperature + calibration.shift)
        thresholds[mode] = round(best_threshold(labels, calibrated), 3)
    config = replace(config, threshold=thresholds["flat"], paragraph_threshold=thresholds["paragraphs"])
    # Now already, since measuring takes long.
    write_checkpoint(checkpoint.model, checkpoint.tokenizer, config, output)
    rows: dict[str, dict[str, Any]] = {}
    for name, whole in documents.items():
        sample = capped(whole, most_enwiki_gaps if name == "enwiki/dev" else most_gaps)
        for mode in modes(sample):
            known = having(sample, mode)
            found = measure(score_documents(segmenter, known, mode, show_progress=True), thresholds[mode])
            rows[f"{name} {mode}"] = asdict(found)
            print(name, mode, found, flush=True)
        rows.update({f"{name} {cut}": asdict(values) for cut, values in baselines(sample).items()})

    report = json.loads(training.read_text(encoding="utf-8"))
    metrics = {key: row for key, row in rows.items() if key.endswith(("flat", "paragraphs"))}
    write_checkpoint(checkpoint.model, checkpoint.tokenizer, replace(config, metrics=metrics), output)
    details = {
        "temperature": calibration.temperature,
        "shift": calibration.shift,
        "thresholds": thresholds,
        "calibration_documents": len(held_in),
        "most_gaps": most_gaps,
        "most_enwiki_gaps": most_enwiki_gaps,
    }
    (output / "README.md").write_text(card(report, rows, details, context), encoding="utf-8")
    (output / "training.json").write_text(
        json.dumps({**report, "calibration": details, "measures": rows}, indent=1), encoding="utf-8"
    )


def read(path: Path) -> list[LabelledDocument]:
    """Read a parquet file of labelled documents."""
    return [
        LabelledDocument(row["id"], row["sentences"], row["boundaries"], row["paragraphs"])
        for row in load_dataset("parquet", data_files=str(path), split="train")
    ]


def digest(document: LabelledDocument) -> bytes:
    """A hash of the id: an order, and a split, that has nothing to do with the content."""
    return hashlib.sha256(document.id.encode()).digest()


def is_calibration(document: LabelledDocument) -> bool:
    """Whether a document of enwiki/dev belongs to the half that is calibrated on."""
    return digest(document)[0] % 2 == 0


def capped(documents: Sequence[LabelledDocument], most_gaps: int) -> list[LabelledDocument]:
    """Documents in the order of their hashes, as many as the number of gaps allows."""
    ordered = sorted(documents, key=digest)
    if not most_gaps:
        return ordered
    totals = np.cumsum([len(document.sentences) - 1 for document in ordered])
    return ordered[: max(1, int(np.searchsorted(totals, most_gaps, side="right")))]


def modes(documents: Sequence[LabelledDocument]) -> list[Mode]:
    """The ways a set can be measured."""
    return ["flat", "paragraphs"] if any(document.paragraphs for document in documents) else ["flat"]


def having(documents: Sequence[LabelledDocument], mode: Mode) -> list[LabelledDocument]:
    """The documents that a mode can be measured on."""
    return [document for document in documents if mode == "flat" or document.paragraphs is not None]


def joined(scored: Sequence[ScoredDocument]) -> tuple[Any, Any]:
    """Reference and probabilities of all scored gaps."""
    keep = np.concatenate([document.scored for document in scored])
    reference = np.concatenate([document.reference for document in scored])
    return reference[keep], np.concatenate([document.probabilities for document in scored])[keep]


def logit(probabilities: Any) -> Any:
    """Log odds, where float32 can tell them from certainty."""
    clipped = np.clip(probabilities.astype(np.float64), 1e-7, 1 - 1e-7)
    return np.log(clipped / (1 - clipped)).astype(np.float32)


def sigmoid(margins: Any) -> Any:
    """The inverse of :func:`logit`."""
    return 1 / (1 + np.exp(-margins.astype(np.float64)))


def baselines(documents: Sequence[LabelledDocument]) -> dict[str, Measures]:
    """What needs no model."""
    rate = float(np.concatenate([document.reference for document in documents]).mean())
    found = {
        "random at the same rate": measure_cuts(documents, cut_at_random(rate, seed=0)),
        "even at the same rate": measure_cuts(documents, cut_evenly(rate)),
    }
    if "paragraphs" in modes(documents):
        found["every paragraph"] = measure_cuts(having(documents, "paragraphs"), cut_at_paragraphs)
    return found


if __name__ == "__main__":
    typer.run(main)
