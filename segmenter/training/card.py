"""The model card of a fine-tuned checkpoint."""

from collections.abc import Mapping
from dataclasses import dataclass

from segmenter.config import CheckpointConfig
from segmenter.evaluation import MACRO, MICRO, Evaluation, Figure
from segmenter.training.report import RunReport

__all__ = ["CardNotes", "model_card"]

_UNNAMED = {"eval": "set aside of those to train on"}

_MEASURES = {
    "average_precision": "AP",
    "f1": "F1",
    "precision": "precision",
    "recall": "recall",
    "pk": "Pk",
    "window_diff": "WindowDiff",
    "boundary_similarity": "boundary similarity",
    "calibration_error": "calibration error",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class CardNotes:
    """What only the user knows.

    :ivar name: Of the model.
    :ivar licence: Of the model, as the hub writes it, such as ``apache-2.0``.
    :ivar data_licence: Of the documents.
    :ivar language: Of the documents, an ISO 639 code.
    :ivar data_names: What the documents are called.
    :ivar command: What started the run.
    """

    name: str = "fine-tuned segmenter"
    licence: str | None = None
    data_licence: str | None = None
    language: str | None = None
    data_names: Mapping[str, str] | None = None
    command: str | None = None


def model_card(report: RunReport, config: CheckpointConfig, notes: CardNotes) -> str:
    """Write the card.

    :param report: What the run did.
    :param config: Settings of the checkpoint.
    :param notes: What the user says.
    :return: Markdown with the header that the hub reads.
    """
    head = {"language": notes.language, "license": notes.licence, "pipeline_tag": "text-classification"}
    header = "\n".join(f"{key}: {value}" for key, value in head.items() if value is not None)
    return f"""---
{header}
tags: [text segmentation, chunking]
---

# {notes.name}

A cross-segment classifier (Lukasik et al. 2020): it reads the text on both sides of a gap between two
sentences and says whether a new section starts there (`DIFFERENT`) or not (`SAME`). Fine-tuned with
`segmenter` from {report.base}.

## How to load it

```python
from segmenter import Segmenter

segmenter = Segmenter.from_pretrained("path/to/this/folder")
for chunk in segmenter.segment(text).chunks:
    print(chunk.start, chunk.end, chunk.text)
```

It is a plain sequence classifier as well: `AutoModelForSequenceClassification` and
`TextClassificationPipeline` load it, label {config.boundary_label} being the boundary.

## Data

{_data(report, notes)}

Licence of the data: {notes.data_licence or "not given"}.

## How it was trained

{_training(report, config, notes)}

## Measures

On the documents set aside, none of which was trained on; the step whose weights were kept was chosen on
a sample of them. {_calibrated(report)} micro: all gaps, windows or boundaries
together; macro: means over documents. In brackets 95 % intervals over draws of the documents; a gain whose
interval does not hold 0 is one that other documents of this kind would show too.

{_measures(report)}
"""


def _calibrated(report: RunReport) -> str:
    if report.is_cross_fitted:
        return "Each half of them was calibrated on the other."
    return "They are too few to be dealt into halves: what follows was calibrated on them, so it flatters."


def _data(report: RunReport, notes: CardNotes) -> str:
    rows = [
        f"| {(notes.data_names or {}).get(name) or _UNNAMED.get(name, '')} | {name} | "
        + " | ".join(str(counts[key]) for key in ("documents", "sentences", "boundaries", "with_paragraphs"))
        + " |"
        for name, counts in report.data.items()
        if counts["documents"]
    ]
    head = "| data | used to | documents | sentences | boundaries | documents with paragraphs |"
    return "\n".join([head, "|---|---|---:|---:|---:|---:|", *rows])


def _training(report: RunReport, config: CheckpointConfig, notes: CardNotes) -> str:
    training, sampling = report.training, report.sampling
    contexts = ", ".join(f"{context} ({share:g})" for context, share in sampling["contexts"].items())
    facts = {
        "steps": f"{report.steps}, the weights of step {report.best_step or report.steps} kept",
        "windows seen": f"{report.windows}, and {report.inner_gaps} gaps inside them",
        "contexts and shares": contexts,
        "reads with": f"{config.context}" + ("" if config.context == "sentence" else " tokens a side"),
        "batch": f"{sampling['batch_tokens']} tokens x {training['gradient_accumulation']} x "
        f"{report.environment['processes']} processes",
        "highest learning rate": f"{training['learning_rate']:g}",
        "imbalance": training["imbalance"],
        "frozen": f"{training['frozen_layers']} layers"
        + (", embeddings" if training["freeze_embeddings"] else ""),
        "replay share": f"{sampling['replay_share']:g}",
        "precision": training["precision"],
        "seed": training["seed"],
        "time": f"{report.seconds / 60:.1f} minutes, {report.core_seconds / 60:.1f} core minutes",
        "temperature, shift": f"{report.temperature:.3f}, {report.shift:.3f}, folded into the weights",
        "thresholds": ", ".join(f"{mode} {value:.3f}" for mode, value in report.thresholds.items()),
        "thresholds chosen for": _goal(report.settings["goal"]),
        **dict(report.environment),
    }
    table = "\n".join(["| | |", "|---|---|", *(f"| {name} | {value} |" for name, value in facts.items())])
    command = f"\n\n```\n{notes.command}\n```" if notes.command else ""
    return table + command + "\n\nAll settings and the log are in `training.json`."


def _goal(goal: Mapping[str, float | None]) -> str:
    if goal["precision"] is not None:
        return f"a precision of {goal['precision']:g}"
    if goal["mean_section"] is not None:
        return f"sections of {goal['mean_section']:g} sentences in the mean"
    return "the best F1"


def _measures(report: RunReport) -> str:
    parts = []
    for mode, after in report.after.items():
        before, gain = report.before[mode], report.gain[mode]
        rows = [
            f"| {label}, {kind} | {_figure(of(before, kind)[name])} | {_figure(of(after, kind)[name])} | "
            f"{_figure(gain[kind][name], '+.3f')} |"
            for kind in (MICRO, MACRO)
            for name, label in _MEASURES.items()
            if name in of(after, kind) and name in of(before, kind)
        ]
        parts.append(
            "\n".join(
                [
                    f"### {mode}",
                    "",
                    f"{after.size}; predicted {before.predicted} before, {after.predicted} after.",
                    "",
                    "| | before | after | gain |",
                    "|---|---|---|---|",
                    *rows,
                ]
            )
        )
    return "\n\n".join(parts)


def of(found: Evaluation, kind: str) -> Mapping[str, Figure]:
    """Figures of one kind.

    :param found: All figures.
    :param kind: ``"micro"`` or ``"macro"``.
    :return: By the name of the measure.
    """
    return found.micro if kind == MICRO else found.macro


def _figure(figure: Figure, form: str = ".3f") -> str:
    return f"{figure.value:{form}} [{figure.low:{form}}, {figure.high:{form}}]"
