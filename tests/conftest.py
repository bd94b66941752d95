"""Tiny models, built here, that stand in for trained ones."""

import json
import os
import re
from collections import Counter
from pathlib import Path

import pytest
import torch
from transformers import (
    BertTokenizer,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    PreTrainedModel,
)

from segmenter import Segmenter
from segmenter.checkpoint import write_checkpoint
from segmenter.config import CheckpointConfig

ROOT = Path(__file__).parent.parent
EXAMPLES = [ROOT / "examples" / name for name in ("career.txt", "espresso.md", "harbour.txt")]
MARK = "[unused1]"

# The same precision on every CPU, in the processes that tests start too: references are in float32.
os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX2"


@pytest.fixture(scope="session")
def examples() -> dict[str, str]:
    """The texts in ``examples/`` by file name."""
    return {path.name: path.read_text(encoding="utf-8") for path in EXAMPLES}


@pytest.fixture(scope="session")
def tokenizer(examples: dict[str, str]) -> BertTokenizer:
    """A small BERT tokenizer: the words of the examples, letters, and a paragraph mark."""
    return make_tokenizer(examples)


def make_tokenizer(examples: dict[str, str]) -> BertTokenizer:
    """What the fixture gives."""
    words = Counter(re.findall(r"[a-z]+", " ".join(examples.values()).lower()))
    letters = [chr(code) for code in range(33, 127) if not chr(code).isupper()]
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", MARK, *letters, *(f"##{c}" for c in letters)]
    # The mark is a token of the vocabulary, not one that text can be matched against.
    tokens += sorted(word for word, _ in words.most_common(700) if len(word) > 1)
    return BertTokenizer(
        vocab={token: number for number, token in enumerate(tokens)}, do_lower_case=True, model_max_length=64
    )


def small_config(tokenizer: BertTokenizer, positions: int = 64, **settings: float) -> DistilBertConfig:
    """A DistilBERT of two narrow layers."""
    return DistilBertConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=positions,
        dim=32,
        n_layers=2,
        n_heads=4,
        hidden_dim=64,
        id2label={0: "SAME", 1: "DIFFERENT"},
        label2id={"SAME": 0, "DIFFERENT": 1},
        **settings,
    )


def make_model(tokenizer: BertTokenizer, positions: int = 64) -> PreTrainedModel:
    """A DistilBERT of random weights whose probabilities spread from near 0 to near 1."""
    torch.manual_seed(0)
    model = DistilBertForSequenceClassification(small_config(tokenizer, positions)).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if "LayerNorm" not in name and "layer_norm" not in name:
                weight.mul_(6)
        # Spread the probabilities, and centre them so that about half of the gaps are cut at 0.5.
        model.classifier.weight.mul_(60)
        model.classifier.bias.zero_()
        lines = EXAMPLES[0].read_text(encoding="utf-8").splitlines()
        pairs = tokenizer(lines[:-1], lines[1:], padding=True, truncation=True, return_tensors="pt")
        logits = model(**pairs).logits
        model.classifier.bias[1] = (logits[:, 0] - logits[:, 1]).median()
        # Checkpoints hold float16; what is compared must be what was stored.
        for weight in model.parameters():
            weight.copy_(weight.half().float())
    return model


@pytest.fixture(scope="session")
def tiny_folder(tokenizer: BertTokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint of 64 positions that reads 12 tokens a side and knows paragraph marks."""
    return write_tiny(tokenizer, tmp_path_factory.mktemp("tiny"))


def write_tiny(tokenizer: BertTokenizer, folder: Path) -> Path:
    """What the fixture gives."""
    settings = CheckpointConfig(context=12, paragraph_mark=MARK)
    write_checkpoint(make_model(tokenizer), tokenizer, settings, folder)
    return folder


@pytest.fixture(scope="session")
def fresh_folder(tokenizer: BertTokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A checkpoint that has learned nothing, but can: weights as DistilBERT starts with."""
    torch.manual_seed(0)
    model = DistilBertForSequenceClassification(small_config(tokenizer, initializer_range=0.1))
    folder = tmp_path_factory.mktemp("fresh")
    write_checkpoint(model, tokenizer, CheckpointConfig(context=12, paragraph_mark=MARK), folder)
    return folder


@pytest.fixture(scope="session")
def plain_folder(tokenizer: BertTokenizer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files of the published checkpoint: vocab.txt, no tokenizer.json, no label names, no settings."""
    folder = tmp_path_factory.mktemp("plain")
    model = make_model(tokenizer, positions=512)
    model.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    del config["id2label"], config["label2id"]
    (folder / "config.json").write_text(json.dumps(config))
    vocabulary = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    (folder / "vocab.txt").write_text("".join(f"{token}\n" for token, _ in vocabulary), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(
        json.dumps({"do_lower_case": True, "model_max_length": 512, "tokenizer_class": "DistilBertTokenizer"})
    )
    return folder


@pytest.fixture(scope="session")
def tiny(tiny_folder: Path) -> Segmenter:
    """The tiny checkpoint, loaded."""
    return Segmenter.from_pretrained(tiny_folder, device="cpu")
