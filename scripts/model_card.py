"""The model card of the shipped model."""

from typing import Any


def total(report: dict[str, Any] | None, key: str) -> float:
    """Add a figure up over a run and the earlier runs it started from."""
    return 0.0 if report is None else float(report[key]) + total(report["warm_start"], key)


def card(
    report: dict[str, Any], rows: dict[str, dict[str, Any]], details: dict[str, Any], context: int
) -> str:
    """Write the model card."""

    def number(value: float | None) -> str:
        return "" if value is None else f"{value:.3f}"

    table = "\n".join(
        f"| {name} | {row['documents']} | {row['gaps']} | "
        + " | ".join(
            number(row.get(key))
            for key in (
                "rate",
                "average_precision",
                "f1_at_half",
                "f1",
                "precision",
                "recall",
                "pk",
                "window_diff",
                "boundary_similarity",
                "calibration_error",
            )
        )
        + " |"
        for name, row in rows.items()
    )
    recipe = report["training"]
    sample_options = " ".join(
        f"--{name.replace('_', '-')} {details[name]}"
        for name in ("most_gaps", "most_enwiki_gaps")
        if details[name] is not None
    )
    sample = (
        f"Documents come in the order of a hash of their id, as many as have {details['most_gaps']} gaps "
        f"({details['most_enwiki_gaps']} for enwiki)."
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
| windows seen | {total(report, "windows"):.0f}, {report["windows"]} of them in the last run |
| gaps inside them, learned by a helper head | {total(report, "inner_gaps"):.0f} |
| contexts and their shares | {report["sampling"]["contexts"]} |
| batch | {report["sampling"]["batch_tokens"]} tokens |
| steps | {report["steps"]} |
| learning rate | {report["schedule"]} |
| frozen | embeddings and the lowest {recipe["frozen_layers"]} layers |
| last run started from | {"an earlier run" if report["warm_start"] else "all-MiniLM-L6-v2"} |
| hardware | {report["hardware"]}, {report["precision"]} |
| processor time | about {total(report, "core_seconds"):.0f} core seconds |

Command, DATA being the folder of the labelled documents:

```
{report["command"]}
python scripts/calibrate_default_model.py --trained RUN/trained --training RUN/training.json \\
    --data DATA --output models/minilm-l6-enwiki --context {context} \\
    {sample_options}
```

Temperature {details["temperature"]:.3f} and shift {details["shift"]:.3f} were fitted on
{details["calibration_documents"]} documents of enwiki/dev and are folded into the classifier's weights;
the thresholds, {details["thresholds"]["flat"]:.3f} for flat text and
{details["thresholds"]["paragraphs"]:.3f} where only paragraph breaks are scored, have the highest F1 on the
same documents. None of them is reported below.

## Measures

Sets and licences: enwiki and wiki300 (Badjatiya et al. 2018), Wikipedia, CC BY-SA; techdocs, manuals and
standards, free; dccode, statute law, public domain; openstax, textbooks, CC BY-NC-SA; qmsum, meetings, MIT;
choi (Choi 2000), research use. Only enwiki was trained on.

{context} tokens a side. `flat`: no marks, every gap. `paragraphs`: breaks are known, and only they are
scored. F1, precision, recall, Pk and WindowDiff at the stored threshold of the way; F1@.5 at 0.5. Pk,
WindowDiff (k half the mean reference section) and boundary similarity (B): means over documents. ECE:
expected calibration error. {sample}

| set | documents | gaps | rate | AP | F1@.5 | F1 | precision | recall | Pk | WindowDiff | B | ECE |
|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|
{table}
"""
