"""Cuts between sentences, within limits like those of the model's."""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segmenter.chunkers.base import OneByOne, settings_of
from segmenter.config import ChunkConfig, check_count
from segmenter.counting import TextTokenizer, counter_of
from segmenter.document import Chunk, Document, Sentence
from segmenter.segmentation import Segmentation
from segmenter.sentences import Sentences, resolve_splitter, split_document
from segmenter.sources import shipped_tokenizer

__all__ = ["GapChunker", "ParagraphChunker", "SentenceChunker", "pack"]


class GapChunker(OneByOne):
    """Cuts between sentences where :meth:`opens` says so, within limits like those of ``Segmenter``.

    :param config: Limits and context; its threshold is not used. None: neither.
    :param tokenizer: What its sizes are in; None: the shipped model's.
    :param sentences: How texts are split.
    """

    def __init__(
        self,
        config: ChunkConfig | None = None,
        tokenizer: TextTokenizer | None = None,
        sentences: Sentences = "auto",
    ) -> None:
        self._config = config or ChunkConfig()
        if tokenizer is None:
            tokenizer = shipped_tokenizer() if self._config.counts_tokens else len
        self._counter = counter_of(tokenizer)
        self._splitter = resolve_splitter(sentences)

    def opens(self, document: Document, sentences: tuple[Sentence, ...]) -> NDArray[np.bool_]:
        """Say which sentences open a chunk.

        :param document: The document.
        :param sentences: Its sentences, at least one.
        :return: A flag each; that of the first does not count. *Shape:* ``(n_sentences,)``.
        """
        raise NotImplementedError

    @property
    def name(self) -> str:
        """Tells its settings from others, in fingerprints."""
        return f"{type(self).__name__} {type(self._splitter).__name__}"

    def identity(self) -> dict[str, Any]:
        """What its cuts depend on.

        :return: Its name and how it cuts; values that JSON can hold.
        """
        return {"chunker": self.name, **settings_of(self._config, self._counter)}

    def _cut(self, document: Document) -> tuple[Chunk, ...]:
        sentences = tuple(split_document(document, self._splitter))
        flags = self.opens(document, sentences)[1:] if sentences else np.zeros(0, np.bool_)
        result = Segmentation(
            document=document,
            sentences=sentences,
            token_counts=np.zeros(len(sentences), np.int64),
            probabilities=flags.astype(np.float32),
            scored=np.zeros(len(flags), np.bool_),
            trimmed_gaps=0,
            threshold=0.5,
            model=self.name,
            counter=self._counter,
        )
        return result.rechunk(self._config).chunks


class SentenceChunker(GapChunker):
    """Glues whole sentences while they fit; a longer one stays whole.

    :param max_words: Of a chunk, 1 or more.
    :param config: Limits in tokens and context besides; None: neither.
    :param tokenizer: What its sizes are in; None: the shipped model's.
    :param sentences: How texts are split.
    :raises ConfigError: If a setting is out of its range.
    """

    def __init__(
        self,
        max_words: int = 16,
        config: ChunkConfig | None = None,
        tokenizer: TextTokenizer | None = None,
        sentences: Sentences = "auto",
    ) -> None:
        super().__init__(config, tokenizer, sentences)
        check_count("max_words", max_words, 1)
        self._max_words = max_words

    @property
    def name(self) -> str:
        """Tells its settings from others, in fingerprints."""
        return f"{super().name} {self._max_words}"

    def opens(self, document: Document, sentences: tuple[Sentence, ...]) -> NDArray[np.bool_]:
        """Say which sentences open a chunk.

        :param document: The document.
        :param sentences: Its sentences, at least one.
        :return: A flag each. *Shape:* ``(n_sentences,)``.
        """
        counts = [len(sentence.text.split()) for sentence in sentences]
        return pack(counts, self._max_words)


class ParagraphChunker(GapChunker):
    """Cuts at every blank line.

    :param config: Limits in tokens and context; None: neither.
    :param tokenizer: What its sizes are in; None: the shipped model's.
    :param sentences: How texts are split, which matters where a paragraph is over a limit.
    """

    def opens(self, document: Document, sentences: tuple[Sentence, ...]) -> NDArray[np.bool_]:
        """Say which sentences open a chunk.

        :param document: The document.
        :param sentences: Its sentences, at least one.
        :return: A flag each. *Shape:* ``(n_sentences,)``.
        """
        return np.array([sentence.starts_paragraph for sentence in sentences], dtype=np.bool_)


def pack(sizes: Iterable[int], most: int) -> NDArray[np.bool_]:
    """Fill chunks one after another.

    :param sizes: Of what is to be packed.
    :param most: Of a chunk; only a single thing may have more.
    :return: What opens a chunk, the first thing included. *Shape:* ``(n_sizes,)``.
    """
    flags: list[bool] = []
    total = 0
    for size in sizes:
        is_new = not flags or total + size > most
        total = size if is_new else total + size
        flags.append(is_new)
    return np.array(flags, dtype=np.bool_)
