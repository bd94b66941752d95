"""Simple ways of cutting at sentences, to compare with and for languages that the shipped model does not
know."""

import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segmenter.chunkers import GapChunker, pack
from segmenter.config import ChunkConfig, check_count
from segmenter.counting import TextTokenizer
from segmenter.document import Document, Sentence
from segmenter.embedding import Embedder, embed
from segmenter.errors import ConfigError, InputError
from segmenter.extras import require
from segmenter.sentences import Sentences

__all__ = ["DriftChunker", "GreedyChunker", "TextTilingChunker"]


class GreedyChunker(GapChunker):
    """Fills chunks with sentences up to a number of tokens, one after another.

    :param max_tokens: Of a chunk, special tokens included; a longer sentence is cut.
    :param tokenizer: What tokens are; None: the shipped model's.
    :param sentences: How texts are split.
    """

    def __init__(
        self, max_tokens: int = 256, tokenizer: TextTokenizer | None = None, sentences: Sentences = "auto"
    ) -> None:
        super().__init__(ChunkConfig(max_tokens=max_tokens), tokenizer, sentences)

    def opens(self, document: Document, sentences: tuple[Sentence, ...]) -> NDArray[np.bool_]:
        """Say which sentences open a chunk.

        :param document: The document.
        :param sentences: Its sentences, at least one.
        :return: A flag each. *Shape:* ``(n_sentences,)``.
        """
        special, *counts = self._counter.count(["", *(sentence.text for sentence in sentences)]).tolist()
        assert self._config.max_tokens is not None
        return pack([count - special for count in counts], self._config.max_tokens - special)


class TextTilingChunker(GapChunker):
    """Cuts where the words change, by TextTiling (Hearst 1997) as nltk has it; needs no model.

    nltk cuts at blank lines only and knows words of the letters a to z. A text without these, or too short
    for it, stays whole but for limits.

    :param words: Words of a token sequence, nltk's ``w``; 1 or more.
    :param sequences: Token sequences of a block, nltk's ``k``; 1 or more.
    :param config: Limits and context; None: neither.
    :param tokenizer: What its sizes are in; None: the shipped model's.
    :raises MissingPackageError: If nltk is not installed.
    """

    def __init__(
        self,
        words: int = 20,
        sequences: int = 10,
        config: ChunkConfig | None = None,
        tokenizer: TextTokenizer | None = None,
    ) -> None:
        super().__init__(config, tokenizer)
        check_count("words", words, 1)
        check_count("sequences", sequences, 1)
        require("nltk")
        from nltk.tokenize.texttiling import TextTilingTokenizer

        self._words, self._sequences = words, sequences
        # Stop words would be a download.
        self._tiling: Any = TextTilingTokenizer(w=words, k=sequences, stopwords=_STOP_WORDS)

    @property
    def name(self) -> str:
        """Tells its settings from others, in fingerprints."""
        return f"{super().name} {self._words} {self._sequences}"

    def opens(self, document: Document, sentences: tuple[Sentence, ...]) -> NDArray[np.bool_]:
        """Say which sentences open a chunk.

        :param document: The document.
        :param sentences: Its sentences, at least one.
        :return: A flag each. *Shape:* ``(n_sentences,)``.
        """
        # Paragraphs as nltk finds them, and a number that says which sentence each begins with.
        firsts = [0, *(n for n, sentence in enumerate(sentences) if n and sentence.starts_paragraph)]
        lasts = [*firsts[1:], len(sentences)]
        paragraphs = [
            " ".join("".join(sentence.text for sentence in sentences[first:last]).split())
            for first, last in zip(firsts, lasts, strict=True)
        ]
        flags = np.zeros(len(sentences), np.bool_)
        for number in _tiled(self._tiling, paragraphs):
            flags[firsts[number]] = True
        return flags


class DriftChunker(GapChunker):
    """Cuts where the vectors of neighbouring sentences differ most.

    The distance at a gap is 1 - the cosine of the mean vectors of the sentences on each side.

    :param embedder: Makes vectors: a callable that takes texts, or a model of sentence-transformers.
    :param percentile: Gaps whose distance is above this percentile of the document's are cut, 0 to 100.
    :param window: Sentences a side, 1 or more.
    :param config: Limits and context; None: neither.
    :param tokenizer: What its sizes are in; None: the shipped model's.
    :param sentences: How texts are split.
    :raises ConfigError: If a setting is out of its range.
    """

    def __init__(
        self,
        embedder: Embedder,
        percentile: float = 95.0,
        window: int = 1,
        config: ChunkConfig | None = None,
        tokenizer: TextTokenizer | None = None,
        sentences: Sentences = "auto",
    ) -> None:
        super().__init__(config, tokenizer, sentences)
        if not 0 <= percentile <= 100:
            raise ConfigError(f"got percentile={percentile!r}, expected 0 to 100")
        check_count("window", window, 1)
        self._embedder, self._percentile, self._window = embedder, percentile, window

    @property
    def name(self) -> str:
        """Tells its settings from others, in fingerprints; the embedder by its type only."""
        return f"{super().name} {type(self._embedder).__name__} {self._percentile} {self._window}"

    def opens(self, document: Document, sentences: tuple[Sentence, ...]) -> NDArray[np.bool_]:
        """Say which sentences open a chunk.

        :param document: The document.
        :param sentences: Its sentences, at least one.
        :return: A flag each. *Shape:* ``(n_sentences,)``.
        """
        flags = np.zeros(len(sentences), np.bool_)
        if len(sentences) < 2:
            return flags
        distances = self.distances([sentence.text for sentence in sentences])
        flags[1:] = distances > np.percentile(distances, self._percentile)
        return flags

    def distances(self, sentences: list[str]) -> NDArray[np.float64]:
        """How far apart the two sides of each gap are.

        :param sentences: Two or more.
        :return: 0, the same, to 2, opposite. *Shape:* ``(n_sentences - 1,)``.
        """
        vectors = embed(self._embedder, sentences).astype(np.float64)
        sums = np.concatenate([np.zeros((1, vectors.shape[1])), np.cumsum(vectors, axis=0)])
        gaps = np.arange(1, len(sentences))
        left = sums[gaps] - sums[np.maximum(gaps - self._window, 0)]
        right = sums[np.minimum(gaps + self._window, len(sentences))] - sums[gaps]
        lengths = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
        products = (left * right).sum(axis=1)
        found: NDArray[np.float64] = 1 - np.divide(
            products, lengths, out=np.zeros_like(products), where=lengths > 1e-12
        )
        return found


_STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        a about after all also an and any are as at be because been but by can could did do does for from
        had has have he her him his how i if in into is it its just like me more most my no not now of on
        one only or other our out over she so some such than that the their them then there these they
        this those to too up us was we were what when which who will with would you your
        """,
    )
)


def _tiled(tiling: Any, paragraphs: list[str]) -> list[int]:
    """Numbers of the paragraphs that nltk starts a tile with, the first left out."""
    text = "\n\n".join(paragraphs)
    if len(text) > tiling.MAX_TEXT_LEN:
        raise InputError(
            f"got {len(text)} characters, expected {tiling.MAX_TEXT_LEN} or fewer for TextTiling, "
            "whose time is quadratic; take another way of cutting"
        )
    try:
        tiles = tiling.tokenize(text)
    except (ValueError, IndexError, ZeroDivisionError):
        # nltk fails in one of these ways where there are too few words.
        return []
    starts, position = {}, 0
    for number, paragraph in enumerate(paragraphs):
        starts[position] = number
        position += len(paragraph) + 2
    found, position = [], 0
    for tile in tiles:
        # A tile begins with the blank line before it.
        first = position + len(tile) - len(tile.lstrip())
        if position and first in starts:
            found.append(starts[first])
        position += len(tile)
    return found
