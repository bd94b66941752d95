"""Labelled documents, tokenized once and packed into flat arrays."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from segmenter.labelled import LabelledDocument
from segmenter.tokenizing import SentenceTokenizer
from segmenter.windows import TokenStream

__all__ = ["PackedDocuments"]


@dataclass(frozen=True, slots=True)
class PackedDocuments:
    """The sentences of many documents, one after the other.

    :ivar ids: Token ids of all sentences. *Shape:* ``(n_tokens,)``.
    :ivar token_offsets: Sentence ``s`` is ``ids[token_offsets[s]:token_offsets[s + 1]]``.
        *Shape:* ``(n_sentences + 1,)``.
    :ivar sentence_offsets: Document ``d`` has the sentences ``sentence_offsets[d]`` up to
        ``sentence_offsets[d + 1]``. *Shape:* ``(n_documents + 1,)``.
    :ivar boundary: Whether a sentence starts a section; never the first one of a document.
        *Shape:* ``(n_sentences,)``.
    :ivar paragraph: Whether a sentence starts a paragraph. *Shape:* ``(n_sentences,)``.
    :ivar has_paragraphs: Whether the paragraphs of a document are known. *Shape:*
        ``(n_documents,)``.
    """

    ids: NDArray[np.int32]
    token_offsets: NDArray[np.int64]
    sentence_offsets: NDArray[np.int64]
    boundary: NDArray[np.bool_]
    paragraph: NDArray[np.bool_]
    has_paragraphs: NDArray[np.bool_]

    @classmethod
    def from_documents(
        cls, documents: Iterable[LabelledDocument], tokenizer: SentenceTokenizer
    ) -> "PackedDocuments":
        """Tokenize and pack.

        :param documents: Labelled documents.
        :param tokenizer: The tokenizer of the model.
        :return: The packed documents.
        """
        tokens: list[NDArray[np.int32]] = []
        sentence_counts: list[int] = []
        boundary: list[NDArray[np.bool_]] = []
        paragraph: list[NDArray[np.bool_]] = []
        has_paragraphs: list[bool] = []
        token_counts: list[NDArray[np.int64]] = []
        for document in documents:
            encoded = tokenizer.encode(document.sentences)
            tokens.append(np.concatenate([np.zeros(0, np.int32), *encoded]))
            token_counts.append(np.array([len(ids) for ids in encoded], dtype=np.int64))
            sentence_counts.append(len(encoded))
            boundary.append(_flags(document.boundaries, len(encoded)))
            paragraph.append(_flags(document.paragraphs or (), len(encoded)))
            has_paragraphs.append(document.paragraphs is not None)
        return cls(
            ids=np.concatenate([np.zeros(0, np.int32), *tokens]),
            token_offsets=_offsets(np.concatenate([np.zeros(0, np.int64), *token_counts])),
            sentence_offsets=_offsets(np.array(sentence_counts, dtype=np.int64)),
            boundary=np.concatenate([np.zeros(0, np.bool_), *boundary]),
            paragraph=np.concatenate([np.zeros(0, np.bool_), *paragraph]),
            has_paragraphs=np.array(has_paragraphs, dtype=np.bool_),
        )

    @classmethod
    def load(cls, path: Path) -> "PackedDocuments":
        """Read what :meth:`save` wrote.

        :param path: The file.
        :return: The packed documents.
        """
        with np.load(path, allow_pickle=False) as arrays:
            return cls(**{field.name: arrays[field.name] for field in fields(cls)})

    def save(self, path: Path) -> None:
        """Write to one file, which appears whole or not at all.

        :param path: The file, ending in ``.npz``.
        """
        partial = path.with_name(f"partial-{path.name}")
        np.savez(partial, **{field.name: getattr(self, field.name) for field in fields(self)})
        partial.replace(path)

    def __len__(self) -> int:
        return len(self.has_paragraphs)

    def stream(self, document: int, mark_id: int | None) -> TokenStream:
        """One document as the windows need it.

        :param document: Its number.
        :param mark_id: The token before each new paragraph, or None for no marks.
        :return: Its stream.
        """
        first, last = self.sentence_offsets[document], self.sentence_offsets[document + 1]
        offsets = self.token_offsets[first : last + 1]
        sentences = (self.ids[a:b] for a, b in pairwise(offsets))
        return TokenStream.join(sentences, self.paragraph[first:last], mark_id)


def _offsets(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])


def _flags(indices: Sequence[int], length: int) -> NDArray[np.bool_]:
    flags = np.zeros(length, dtype=np.bool_)
    flags[list(indices)] = True
    return flags
