"""Loads a DistilBERT checkpoint without transformers, whose import takes longer than the rest of a short run.

The modules have the names that the weights have. What is not plain is left to transformers.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional

from segmenter.checkpoint import LightCheckpoint, check_files, read_settings

__all__ = ["DistilBert", "load_light"]

_EPSILON = 1e-12
_ACTIVATIONS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "gelu": functional.gelu,
    "relu": functional.relu,
}


class DistilBert(nn.Module):
    """A DistilBERT classifier of two labels, to read with.

    :param config: What ``config.json`` says.
    """

    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        self.distilbert = _Encoder(config)
        self.pre_classifier = _Linear(config["dim"], config["dim"])
        self.classifier = _Linear(config["dim"], 2)
        self.dropout = nn.Identity()


# torch's own draw their first weights, which takes long, and without storage ("meta") even longer.


class _Linear(nn.Module):
    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_out, n_in))
        self.bias = nn.Parameter(torch.empty(n_out))

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        return functional.linear(states, self.weight, self.bias)


class _Embedding(nn.Module):
    def __init__(self, count: int, dim: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(count, dim))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return functional.embedding(ids, self.weight)


class _Encoder(nn.Module):
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        self.embeddings = _Embeddings(config)
        self.transformer = nn.Module()
        self.transformer.layer = nn.ModuleList(_Layer(config) for _ in range(config["n_layers"]))


class _Embeddings(nn.Module):
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        self.word_embeddings = _Embedding(config["vocab_size"], config["dim"])
        self.position_embeddings = _Embedding(config["max_position_embeddings"], config["dim"])
        self.LayerNorm = nn.LayerNorm(config["dim"], eps=_EPSILON)

    def forward(self, input_ids: torch.Tensor) -> torch.Tensor:
        positions = torch.arange(input_ids.shape[1], device=input_ids.device)
        found: torch.Tensor = self.LayerNorm(
            self.word_embeddings(input_ids) + self.position_embeddings(positions)
        )
        return found


class _Layer(nn.Module):
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        self.attention = _Attention(config["dim"], config["n_heads"])
        self.sa_layer_norm = nn.LayerNorm(config["dim"], eps=_EPSILON)
        self.ffn = _FeedForward(config)
        self.output_layer_norm = nn.LayerNorm(config["dim"], eps=_EPSILON)


class _Attention(nn.Module):
    def __init__(self, dim: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.q_lin, self.k_lin, self.v_lin, self.out_lin = (_Linear(dim, dim) for _ in range(4))
        self.dropout = nn.Identity()


class _FeedForward(nn.Module):
    def __init__(self, config: dict[str, Any]) -> None:
        super().__init__()
        self.lin1 = _Linear(config["dim"], config["hidden_dim"])
        self.lin2 = _Linear(config["hidden_dim"], config["dim"])
        self._activation = _ACTIVATIONS[config["activation"]]

    def forward(self, states: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = self.lin2(self._activation(self.lin1(states)))
        return found


def load_light(folder: Path) -> LightCheckpoint | None:
    """Load a checkpoint to read with.

    :param folder: The checkpoint.
    :return: The checkpoint, or None if transformers has to load it, or to say what is wrong with it.
    :raises CheckpointError: If a file is missing or damaged.
    """
    check_files(folder)
    config, has_settings = read_settings(folder)
    tokenizer = _read_tokenizer(folder)
    model = _read_model(folder)
    if tokenizer is None or model is None or not has_settings:
        return None
    vocabulary, ids, most_tokens = tokenizer
    largest = max(vocabulary.get_vocab(with_added_tokens=True).values())
    if largest >= model.distilbert.embeddings.word_embeddings.weight.shape[0]:
        return None
    mark_id = None if config.paragraph_mark is None else vocabulary.token_to_id(config.paragraph_mark)
    if (mark_id is None) != (config.paragraph_mark is None):
        return None
    positions = model.distilbert.embeddings.position_embeddings.weight.shape[0]
    return LightCheckpoint(
        folder=folder,
        model=model.eval(),
        vocabulary=vocabulary,
        config=config,
        max_positions=min(positions, most_tokens),
        mark_id=mark_id,
        **ids,
    )


def _read_tokenizer(folder: Path) -> tuple[Tokenizer, dict[str, int], int] | None:
    try:
        vocabulary = Tokenizer.from_file(str(folder / "tokenizer.json"))
    except Exception:  # tokenizers raises this class itself; transformers will say what is wrong
        return None
    try:
        settings = json.loads((folder / "tokenizer_config.json").read_text(encoding="utf-8"))
        ids = {
            f"{name}_id": vocabulary.token_to_id(settings[f"{name}_token"])
            for name in ("cls", "sep", "pad", "unk")
        }
        most_tokens = int(settings["model_max_length"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    found = {name: number for name, number in ids.items() if number is not None}
    return (vocabulary, found, most_tokens) if len(found) == len(ids) else None


def _read_model(folder: Path) -> DistilBert | None:
    weights = sorted(folder.glob("*.safetensors"))
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        is_plain = (
            config["model_type"] == "distilbert"
            and config["architectures"] == ["DistilBertForSequenceClassification"]
            and config["activation"] in _ACTIVATIONS
            and len(config["id2label"]) == 2
            and len(weights) == 1
        )
        if not is_plain:
            return None
        model = DistilBert(config)
        state = {name: weight.float() for name, weight in load_file(weights[0]).items()}
        model.load_state_dict(state, assign=True)
    except (KeyError, TypeError, ValueError, RuntimeError, OSError, SafetensorError):
        return None
    return model
