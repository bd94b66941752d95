"""A training run of a few seconds, as a process: ``python -m tests.tiny_training OUTPUT STEPS``."""

import sys
from pathlib import Path

import numpy as np
import torch
from transformers import DistilBertConfig, DistilBertForSequenceClassification

from segmenter.labelled import LabelledDocument
from segmenter.training.config import TrainingConfig
from segmenter.training.loop import TokenIds, TrainingData, TrainingSummary, fit
from segmenter.training.packing import PackedDocuments
from segmenter.training.sampling import SamplingConfig

TOPICS = (
    "harbour ship fog pilot quay",
    "espresso boiler milk bean shot",
    "thesis school prize research bench",
)
IDS = TokenIds(cls_id=2, sep_id=3, pad_id=0, mark_id=5, max_positions=64)


def documents(count: int = 12) -> list[LabelledDocument]:
    """Documents whose sections are about one topic each, a paragraph of two sentences at a time."""
    rows = []
    for number in range(count):
        sentences: list[str] = []
        for section in range(3):
            words = TOPICS[(number + section) % 3].split()
            sentences += [f"{words[i % 5]} {words[(i + number) % 5]} {words[(i + 2) % 5]}" for i in range(4)]
        paragraphs = list(range(2, 12, 2)) if number % 4 else None
        rows.append(LabelledDocument(str(number), sentences, [4, 8], paragraphs))
    return rows


class WordTokenizer:
    """A token a word, numbered from 10."""

    def __init__(self) -> None:
        self.vocabulary = {word: 10 + i for i, word in enumerate(" ".join(TOPICS).split())}

    def encode(self, sentences: list[str]) -> list[object]:
        return [np.array([self.vocabulary[w] for w in s.split()], np.int32) for s in sentences]


def packed() -> PackedDocuments:
    """The documents, tokenized."""
    return PackedDocuments.from_documents(documents(), WordTokenizer())  # type: ignore[arg-type]


def model(dropout: float = 0.1) -> DistilBertForSequenceClassification:
    """A small model of random weights."""
    torch.manual_seed(0)
    return DistilBertForSequenceClassification(
        DistilBertConfig(
            vocab_size=40, max_position_embeddings=64, dim=32, n_layers=3, n_heads=4, hidden_dim=64,
            dropout=dropout, attention_dropout=dropout, seq_classif_dropout=dropout,
        )
    )  # fmt: skip


SAMPLING = SamplingConfig(
    contexts={"sentence": 0.3, 8: 0.7},
    batch_tokens=150,
    weight_inner=1.0,
    weight_breaks=1.0,
)


def run(output: Path, max_steps: int) -> tuple[DistilBertForSequenceClassification, TrainingSummary]:
    """Train, or go on training, and write the weights."""
    trained = model()
    config = TrainingConfig(
        max_steps=max_steps,
        learning_rate=3e-3,
        warmup_share=0.1,
        save_steps=5,
        logging_steps=5,
        frozen_layers=1,
    )
    summary = fit(trained, TrainingData(documents=packed(), tokens=IDS), SAMPLING, config, output)
    trained.save_pretrained(output / "trained")
    return trained, summary


if __name__ == "__main__":
    run(Path(sys.argv[1]), int(sys.argv[2]))
