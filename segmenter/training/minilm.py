"""A BERT encoder with one segment turned, exactly, into a DistilBERT classifier."""

from pathlib import Path

import torch
from transformers import BertModel, DistilBertConfig, DistilBertForSequenceClassification

__all__ = ["distilbert_from_bert"]

_RENAMED = {
    "attention.self.query": "attention.q_lin",
    "attention.self.key": "attention.k_lin",
    "attention.self.value": "attention.v_lin",
    "attention.output.dense": "attention.out_lin",
    "attention.output.LayerNorm": "sa_layer_norm",
    "intermediate.dense": "ffn.lin1",
    "output.dense": "ffn.lin2",
    "output.LayerNorm": "output_layer_norm",
}


def distilbert_from_bert(folder: Path, *, dropout: float = 0.0) -> DistilBertForSequenceClassification:
    """Load a BERT encoder as a DistilBERT classifier with a new head.

    DistilBERT has no token types: the embedding of type 0, which a single text always gets, is
    added to every position embedding. The last hidden states are those of the original.

    :param folder: A checkpoint of ``BertModel``.
    :param dropout: Of the new model while it trains, 0 to 1. 0 lets a CPU take its fused attention.
    :return: The classifier, its head drawn at random.
    """
    bert = BertModel.from_pretrained(folder, add_pooling_layer=False)
    source = bert.config
    config = DistilBertConfig(
        vocab_size=source.vocab_size,
        max_position_embeddings=source.max_position_embeddings,
        n_layers=source.num_hidden_layers,
        n_heads=source.num_attention_heads,
        dim=source.hidden_size,
        hidden_dim=source.intermediate_size,
        activation=source.hidden_act,
        dropout=dropout,
        attention_dropout=dropout,
        seq_classif_dropout=dropout,
        pad_token_id=source.pad_token_id,
        id2label={0: "SAME", 1: "DIFFERENT"},
        label2id={"SAME": 0, "DIFFERENT": 1},
    )
    model = DistilBertForSequenceClassification(config)
    state = dict(bert.state_dict())
    types = state.pop("embeddings.token_type_embeddings.weight")
    state["embeddings.position_embeddings.weight"] = state["embeddings.position_embeddings.weight"] + types[0]
    renamed: dict[str, torch.Tensor] = {}
    for name, value in state.items():
        name = name.replace("encoder.layer.", "transformer.layer.")
        for old, new in _RENAMED.items():
            if f".{old}." in name and not (old.startswith("output") and ".attention." in name):
                name = name.replace(f".{old}.", f".{new}.")
                break
        renamed[name] = value
    model.distilbert.load_state_dict(renamed)
    return model
