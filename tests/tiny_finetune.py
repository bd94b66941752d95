"""Documents to fine-tune the tiny checkpoint on, and a run of seconds as a process.

``python -m tests.tiny_finetune MODEL OUTPUT STEPS``
"""

import sys
from pathlib import Path

import numpy as np

from segmenter.labelled import LabelledDocument
from segmenter.training import FineTuningConfig, RunReport, TrainingConfig, train

# Words of examples/, which the tiny tokenizer knows.
TOPICS = ("harbour ships fog fjord", "espresso coffee water beans", "school research prize thesis")


def documents(count: int, first: int = 0, *, paragraphs: bool = True) -> list[LabelledDocument]:
    """Three sections of about one topic each, a paragraph of two sentences at a time."""
    found = []
    for number in range(first, first + count):
        rng = np.random.default_rng(number)
        topics = [TOPICS[(number + section) % 3].split() for section in range(3)]
        sentences = [" ".join(rng.choice(words, 3)) for words in topics for _ in range(4)]
        known = list(range(2, 12, 2)) if paragraphs and number % 4 else None
        found.append(LabelledDocument(f"document {number}", sentences, [4, 8], known))
    return found


def config(max_steps: int, **settings: object) -> TrainingConfig:
    """Settings that learn fast what there is to learn."""
    values = {
        "max_steps": max_steps,
        "learning_rate": 3e-3,
        "warmup_share": 0.1,
        "save_steps": 5,
        "logging_steps": 5,
        "freeze_embeddings": False,
        **settings,
    }
    return TrainingConfig(**values)  # type: ignore[arg-type]


SETTINGS = FineTuningConfig(contexts={12: 0.7, "sentence": 0.3}, batch_tokens=600)


def run(model: Path, output: Path, max_steps: int, **settings: object) -> RunReport:
    """Fine-tune."""
    return train(
        documents(24),
        output,
        config(max_steps, **settings),
        eval_documents=documents(8, 100),
        model=model,
        settings=SETTINGS,
    )


if __name__ == "__main__":
    run(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
