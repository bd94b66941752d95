"""Does a cut keep answers whole? Chunks are retrieved for questions whose answers are known.

.. code-block:: python

    documents, questions = read_corpus("corpus"), read_questions("questions.csv")
    result = evaluate_retrieval(FixedSizeChunker(), documents, questions, MiniLM())
    print(result.figures[5]["recall"])
"""

import csv
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segmenter.chunkers import Chunker
from segmenter.counting import TextTokenizer, counter_of
from segmenter.document import Chunk, Document
from segmenter.embedding import Embedder, embed
from segmenter.errors import InputError
from segmenter.evaluation import Figure, figure_of
from segmenter.markup import HTML_SUFFIXES, MARKDOWN_SUFFIXES, Markup, language_of, read_markup

__all__ = [
    "KS",
    "MEASURES",
    "Question",
    "Retrieval",
    "compare_retrieval",
    "evaluate_retrieval",
    "read_corpus",
    "read_questions",
]

KS = (1, 3, 5, 10)
"""How many chunks are retrieved."""

MEASURES = ("recall", "precision", "iou", "whole")

_SUFFIXES = (".txt", ".text", *MARKDOWN_SUFFIXES, *HTML_SUFFIXES)
_CSV_COLUMNS = ("question", "references", "corpus_id")


@dataclass(frozen=True, kw_only=True, slots=True)
class Question:
    """A question and where its answer stands.

    :ivar text: The question.
    :ivar document_id: The document that answers it.
    :ivar spans: Start and end of every passage of the answer, in characters.
    """

    text: str
    document_id: str
    spans: tuple[tuple[int, int], ...]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Retrieval:
    """How well chunks answer questions.

    Each measure is a mean over the questions, in characters (Smith and Troynikov 2024): recall, the share of
    the answer that the k chunks have; precision, the share of the chunks that is answer; iou, what both
    share of all there is in either, a character in two of the chunks counting twice; whole, the share of the
    questions whose every passage lies whole in one of the chunks.

    :ivar chunks: Number of chunks.
    :ivar mean_tokens: Of what is embedded, special tokens included.
    :ivar mean_characters: Of what is embedded.
    :ivar figures: Measures by k and name, with intervals over draws of the questions.
    :ivar values: Of every question. *Shape:* ``(n_questions, len(ks), 4)``.
    :ivar ks: How many chunks were retrieved.
    """

    chunks: int
    mean_tokens: float
    mean_characters: float
    figures: Mapping[int, Mapping[str, Figure]]
    values: NDArray[np.float64]
    ks: tuple[int, ...]


def read_corpus(folder: str | os.PathLike[str], markup: Markup = "auto") -> list[Document]:
    """Read the documents of a folder.

    :param folder: Has a file a document; its name without its suffix is the document's id.
    :param markup: What they are written in.
    :return: The documents, by name; those with names that begin with a dot, and names without a suffix of
        text (``.md``, ``.txt``, ``.html``), are left out.
    :raises InputError: If there are none, or one is not UTF-8.
    """
    documents = []
    for path in sorted(Path(folder).glob("*")):
        if path.suffix.lower() not in _SUFFIXES or path.name.startswith("."):
            continue
        try:
            # Not as text, which would rewrite line ends and move offsets.
            text = path.read_bytes().decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"cannot read {path}, expected UTF-8: {error}") from error
        documents.append(read_markup(text, language_of(path.name, markup), id=path.stem))
    if not documents:
        raise InputError(
            f"got {folder}, which has no .md, .txt or .html files; expected a folder of documents"
        )
    return documents


def read_questions(path: str | os.PathLike[str]) -> list[Question]:
    """Read questions.

    :param path: A CSV file with the columns ``question``, ``corpus_id`` and ``references``, a JSON list of
        objects with ``start_index`` and ``end_index``; or JSONL, an object a line with ``question``,
        ``document`` and ``spans``, a list of start and end.
    :return: The questions.
    :raises InputError: If a row does not fit.
    """
    path = Path(path)
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            if path.suffix.lower() == ".csv":
                rows: list[Any] = list(csv.DictReader(file))
                make: Callable[[Any], Question] = _from_csv
            else:
                rows = [line for line in file if line.strip()]
                make = _from_json
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"cannot read {path}: {error}") from error
    questions = []
    for number, row in enumerate(rows, 1):
        try:
            questions.append(make(row))
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(
                f"got question {number} of {path}, which does not fit ({error!r}); expected CSV with the "
                f"columns "
                f"{', '.join(_CSV_COLUMNS)}, or JSONL with question, document and spans"
            ) from error
    if not questions:
        raise InputError(f"got {path}, which has no questions")
    return questions


def _from_csv(row: Mapping[str, str]) -> Question:
    spans = [(found["start_index"], found["end_index"]) for found in json.loads(row["references"])]
    return _question(row["question"], row["corpus_id"], spans)


def _from_json(line: str) -> Question:
    row = json.loads(line)
    return _question(row["question"], row["document"], row["spans"])


def _question(text: str, document: str, spans: Sequence[Sequence[int]]) -> Question:
    found = tuple((int(start), int(end)) for start, end in spans)
    if not found or any(not 0 <= start < end for start, end in found):
        raise ValueError(f"spans {spans}: expected one or more, each of a start below its end")
    return Question(text=text, document_id=document, spans=found)


def evaluate_retrieval(
    chunker: Chunker,
    documents: Sequence[Document],
    questions: Sequence[Question],
    embedder: Embedder,
    *,
    tokenizer: TextTokenizer | None = None,
    ks: Sequence[int] = KS,
    resamples: int = 1000,
    seed: int = 0,
) -> Retrieval:
    """Cut documents, find the nearest chunks of every question, and measure what they hold of its answer.

    All chunks of all documents are searched, by the cosine of the vectors of ``embed_text`` and question.

    :param chunker: Cuts.
    :param documents: Each with an id.
    :param questions: Of these documents.
    :param embedder: Makes vectors.
    :param tokenizer: Counts the tokens of the mean; None: the embedder's ``tokenizer`` if it has one, else
        words.
    :param ks: How many chunks are retrieved, each 1 or more.
    :param resamples: Draws of the intervals; 0 for none.
    :param seed: Of those draws.
    :return: The measures.
    :raises InputError: If a question is about a document that is not there, or a place beyond its end.
    """
    _check(documents, questions, ks)
    chunks = [chunk for found in chunker.chunk_many(documents) for chunk in found]
    texts = [chunk.embed_text for chunk in chunks]
    similarity = embed(embedder, [question.text for question in questions]) @ embed(embedder, texts).T
    # The first of equals, whatever the sort.
    order = np.argsort(-similarity, axis=1, kind="stable")[:, : max(ks)]
    values = np.array(
        [
            [_measure(question, [chunks[number] for number in row[:k]]) for k in ks]
            for question, row in zip(questions, order.tolist(), strict=True)
        ]
    )
    count = counter_of(tokenizer or getattr(embedder, "tokenizer", None) or _words).count(texts)
    return Retrieval(
        chunks=len(chunks),
        mean_tokens=float(count.mean()) if len(count) else 0.0,
        mean_characters=float(np.mean([len(text) for text in texts])) if texts else 0.0,
        figures=_figures(values, ks, resamples, seed),
        values=values,
        ks=tuple(ks),
    )


def compare_retrieval(
    first: Retrieval, second: Retrieval, *, resamples: int = 1000, seed: int = 0
) -> dict[int, dict[str, Figure]]:
    """Subtract the measures of one way of cutting from those of another, question by question.

    :param first: One.
    :param second: The other, on the same questions and ks.
    :param resamples: Draws of the intervals; 0 for none.
    :param seed: Of those draws.
    :return: Differences by k and name, above 0 where the first is higher. One whose interval has no 0 in it
        is real: other questions would show it too.
    :raises InputError: If the questions are not the same.
    """
    if first.values.shape != second.values.shape or first.ks != second.ks:
        raise InputError("got results on different questions or ks, expected the same")
    return _figures(first.values - second.values, first.ks, resamples, seed)


def _check(documents: Sequence[Document], questions: Sequence[Question], ks: Sequence[int]) -> None:
    if not questions or not ks or min(ks) < 1:
        raise InputError(f"got {len(questions)} questions and ks={list(ks)}, expected one or more of each")
    lengths = {document.id: len(document.text) for document in documents}
    for question in questions:
        if question.document_id not in lengths:
            raise InputError(
                f"got a question about {question.document_id!r}, expected one of {sorted(map(str, lengths))}"
            )
        if max(end for _, end in question.spans) > lengths[question.document_id]:
            raise InputError(
                f"got an answer at {question.spans} of {question.document_id!r}, "
                f"which has {lengths[question.document_id]} characters: offsets count code points"
            )


def _shown(chunk: Chunk) -> tuple[int, int]:
    """What a chunk shows of its document."""
    return chunk.start - len(chunk.context.before), chunk.end + len(chunk.context.after)


def _measure(question: Question, chunks: Sequence[Chunk]) -> tuple[float, float, float, float]:
    """Recall, precision, IoU and whether every passage is whole."""
    spans = [_shown(chunk) for chunk in chunks if chunk.document_id == question.document_id]
    answer = _union(question.spans)
    found = _union([(max(a, c), min(b, d)) for a, b in answer for c, d in spans if max(a, c) < min(b, d)])
    length = sum(end - start for start, end in answer)
    hit = sum(end - start for start, end in found)
    retrieved = sum(end - start for start, end in map(_shown, chunks))
    whole = all(any(c <= a and b <= d for c, d in spans) for a, b in question.spans)
    return hit / length, hit / max(1, retrieved), hit / (retrieved + length - hit), float(whole)


def _union(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _figures(
    values: NDArray[np.float64], ks: Sequence[int], resamples: int, seed: int
) -> dict[int, dict[str, Figure]]:
    """Means over the questions and over draws of them, the same draws for the same number of questions."""
    n_questions = len(values)
    draws = np.random.default_rng(seed).multinomial(
        n_questions, np.full(n_questions, 1 / n_questions), resamples
    )
    flat = values.reshape(n_questions, -1)
    rows = np.concatenate([flat.mean(axis=0, keepdims=True), draws @ flat / n_questions])
    return {
        k: {name: figure_of(rows[:, place * len(MEASURES) + number]) for number, name in enumerate(MEASURES)}
        for place, k in enumerate(ks)
    }


def _words(text: str) -> int:
    return len(text.split())
