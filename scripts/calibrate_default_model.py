"""Calibrate the shipped model, measure it, and write its folder with a model card.

    python scripts/calibrate_default_model.py --trained runs/default/trained \
        --training runs/default/training.json --data ../shared/data --output models/minilm-l6-enwiki

enwiki/dev is split in halves by a hash of the document id. Temperature, shift and threshold are
fitted on one half; what is reported comes from the other half and from the other sets.
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

from segmenter import Segmenter
from segmenter.checkpoint import Checkpoint, write_checkpoint
from segmenter.evaluation import (
    LabelledDocument,
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
from segmenter.scoring import TorchScorer
from segmenter.training.calibration import common_threshold, fit_calibration, fold

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
    held_in = capped([document for document in wiki if is_calibration(document)], most_gaps)

    scores = {
        mode: score_documents(segmenter, having(held_in, mode), mode, show_progress=True)
        for mode in modes(held_in)
    }
    margins = np.concatenate([logit(joined(scored)[1]) for scored in scores.values()])
    reference = np.concatenate([joined(scored)[0] for scored in scores.values()])
    calibration = fit_calibration(margins, reference)
    print(calibration)
    fold(checkpoint.model, calibration)
    threshold = common_threshold(
        [
            (labels, sigmoid(logit(chances) / calibration.temperature + calibration.shift))
            for labels, chances in (joined(scored) for scored in scores.values())
        ]
    )
    rows: dict[str, dict[str, Any]] = {}
    for name, whole in documents.items():
        sample = capped(whole, most_gaps)
        for mode in modes(sample):
            known = having(sample, mode)
            found = measure(score_documents(segmenter, known, mode, show_progress=True), threshold)
            rows[f"{name} {mode}"] = asdict(found)
            print(name, mode, found, flush=True)
        rows.update({f"{name} {cut}": asdict(values) for cut, values in baselines(sample).items()})

    report = json.loads(training.read_text(encoding="utf-8"))
    metrics = {key: row for key, row in rows.items() if key.endswith(("flat", "paragraphs"))}
    write_checkpoint(
        checkpoint.model, checkpoint.tokenizer, replace(config, threshold=threshold, metrics=metrics), output
    )
    details = {
        "temperature": calibration.temperature,
        "shift": calibration.shift,
        "threshold": threshold,
        "calibration_documents": len(held_in),
        "most_gaps": most_gaps,
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


def card(
    report: dict[str, Any], rows: dict[str, dict[str, Any]], details: dict[str, Any], context: int
) -> str:
    """Write the model card."""

    def number(value: float | None) -> str:
        return "" if value is None else f"{value:.3f}"

    table = "\n".join(
        f"| {name} | {row['documents']} | {row['gaps']} | "
        + " | ".join(
            number(row[key])
            for key in (
                "rate",
                "average_precision",
                "f1_at_half",
                "f1",
                "precision",
                "recall",
                "pk",
                "window_diff",
            )
        )
        + " |"
        for name, row in rows.items()
    )
    recipe = report["training"]
    sample = (
        f"Documents come in the order of a hash of their id, as many as have {details['most_gaps']} gaps."
        if details["most_gaps"]
        else "All documents of each set are measured."
    )
    return f"""---
language: en
license: apache-2.0
pipeline_tag: text-classification
tags: [text segmentation, chunking]
---

# minilm-l6-enwiki

A cross-segment classifier (Lukasik et al. 2020): it reads the text on both sides of a gap between
two sentences and says whether a new section starts there (`DIFFERENT`) or not (`SAME`). It comes
with `segmenter` and loads anywhere as a plain `DistilBertForSequenceClassification`.

It knows English prose. Other languages and kinds of text need fine-tuning.

## How it was made

Encoder: all-MiniLM-L6-v2 (Apache-2.0), turned exactly into DistilBERT. Data: English Wikipedia, 2015 and
2021 (CC BY-SA), {report["documents"]} articles; half of those with known paragraphs keep their marks
(`[unused1]`).

| | |
|---|---|
| windows seen | {report["windows"]} |
| gaps inside them, learned by a helper head | {report["inner_gaps"]} |
| contexts and their shares | {report["sampling"]["contexts"]} |
| batch | {report["sampling"]["batch_tokens"]} tokens |
| steps | {report["steps"]}, the last {recipe["decay_steps"]} with a falling rate |
| highest learning rate | {recipe["learning_rate"]} |
| frozen | embeddings and the lowest {recipe["frozen_layers"]} layers |
| started from | {report["warm_start"] or "all-MiniLM-L6-v2"} |
| hardware | {report.get("hardware", "2 CPU cores, float32")} |
| processor time | {report["core_seconds"]:.0f} core seconds |

Command: `python scripts/train_default_model.py` with the settings in `training.json`, then
`python scripts/calibrate_default_model.py`.

Temperature {details["temperature"]:.3f} and shift {details["shift"]:.3f} were fitted on
{details["calibration_documents"]} documents of enwiki/dev and are folded into the classifier's weights;
the threshold, {details["threshold"]:.3f}, has the highest mean of F1 flat and F1 with paragraphs on the same
documents. None of them is reported below.

## Measures

{context} tokens a side. `flat`: no marks, every gap. `paragraphs`: breaks are known, and only they are
scored. F1, precision, recall, Pk and WindowDiff at the stored threshold; F1@.5 at 0.5. Pk and
WindowDiff: means over documents, k half the mean reference section of each document. {sample}

| set | documents | gaps | rate | AP | F1@.5 | F1 | precision | recall | Pk | WindowDiff |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
{table}
"""


if __name__ == "__main__":
    typer.run(main)
