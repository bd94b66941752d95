"""What a page shows of a document: its gaps, and what a threshold can do with them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from segmenter.config import ChunkConfig
from segmenter.errors import InputError
from segmenter.labelled import LabelledDocument
from segmenter.profiling import Profile
from segmenter.segmentation import Segmentation
from segmenter.segmenter import Segmenter
from segmenter.sentences import paragraph_flags
from segmenter.view.sides import Sides, text_of_windows

__all__ = ["Picture", "picture_of", "picture_of_labelled"]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Picture:
    """A document, and how likely each of its gaps is a boundary.

    :ivar name: Stands above it.
    :ivar sentences: Its sentences.
    :ivar is_joined: Whether the sentences, joined, are the text; else there is a space between two.
    :ivar token_counts: Tokens of each sentence. *Shape:* ``(n_sentences,)``.
    :ivar paragraph_starts: Which sentences start a paragraph. *Shape:* ``(n_sentences,)``.
    :ivar probabilities: P(boundary) of each gap. *Shape:* ``(n_gaps,)``.
    :ivar candidates: Which gaps are cut where the probability is above the threshold: those that were
        scored and are not held together by the structure of the document. *Shape:* ``(n_gaps,)``.
    :ivar forced: Which gaps are cut whatever the threshold. *Shape:* ``(n_gaps,)``.
    :ivar threshold: To start with, 0 to 1.
    :ivar labels: The document with its sections, where they are known.
    :ivar sides: What the model saw at each candidate, where that is known.
    """

    name: str
    sentences: tuple[str, ...]
    is_joined: bool
    token_counts: NDArray[np.int64]
    paragraph_starts: NDArray[np.bool_]
    probabilities: NDArray[np.float32]
    candidates: NDArray[np.bool_]
    forced: NDArray[np.bool_]
    threshold: float
    labels: LabelledDocument | None = None
    sides: Sides | None = None

    def payload(self) -> dict[str, Any]:
        """All of it as plain values, for JSON.

        :return: What the scripts read. Probabilities have as many digits as tell them from other numbers in
            float32; what a window lacks of a sentence is in code points.
        """
        gaps = np.flatnonzero(self.candidates)
        sides = None
        if self.sides is not None:
            sides = {
                "back": (gaps - self.sides.first).tolist(),
                "skip": self.sides.skipped.tolist(),
                "ahead": (self.sides.last - gaps - 1).tolist(),
                "drop": self.sides.dropped.tolist(),
            }
        labels = None
        if self.labels is not None:
            titles = self.labels.titles
            labels = {
                "boundaries": list(self.labels.boundaries),
                "titles": None if titles is None else list(titles),
            }
        return {
            "name": self.name,
            "sentences": list(self.sentences),
            "glue": "" if self.is_joined else " ",
            "tokens": self.token_counts.tolist(),
            "paragraphs": np.flatnonzero(self.paragraph_starts).tolist(),
            # Of most documents every gap is one: null says so.
            "gaps": None if self.candidates.all() else gaps.tolist(),
            "chances": [float(str(chance)) for chance in self.probabilities[gaps]],
            "forced": np.flatnonzero(self.forced).tolist(),
            "threshold": self.threshold,
            "labels": labels,
            "marks": self.sides is not None and self.sides.has_marks,
            "sides": sides,
        }


def picture_of(result: Segmentation, segmenter: Segmenter | None = None, name: str | None = None) -> Picture:
    """Make a picture of a result.

    :param result: The result; limits of size it was cut with do not count here.
    :param segmenter: What it is from, to show what the model saw; None: that is left out.
    :param name: Stands above it; None: the document's title or id.
    :return: The picture.
    :raises InputError: If it is not what the result is from.
    """
    n_gaps = len(result.probabilities)
    # The highest threshold leaves what must be cut; the lowest takes all that may be.
    forced, may = (_flags(result, threshold, n_gaps) for threshold in (1.0, 0.0))
    candidates = result.scored & may & ~forced
    strings = tuple(sentence.text for sentence in result.sentences)
    sides = None
    if segmenter is not None and candidates.any():
        preparer = segmenter.preparer
        prepared = preparer.prepare(result.document, Profile())
        if prepared.sentences != result.sentences:
            raise InputError(
                "got a segmenter that splits the text in another way than the result; expected its own"
            )
        windows = preparer.builder.build(prepared.stream, np.flatnonzero(candidates))
        sides = text_of_windows(windows, strings, preparer.tokenizer)
    return Picture(
        name=name or result.document.title or result.document.id or "Text",
        sentences=strings,
        is_joined=True,
        token_counts=result.token_counts,
        paragraph_starts=paragraph_flags(result.sentences),
        probabilities=result.probabilities,
        candidates=candidates,
        forced=forced,
        threshold=result.threshold,
        sides=sides,
    )


def _flags(result: Segmentation, threshold: float, n_gaps: int) -> NDArray[np.bool_]:
    flags = np.zeros(n_gaps, np.bool_)
    cut = result.rechunk(ChunkConfig(threshold=threshold)).boundaries
    flags[np.array(cut, dtype=np.int64) - 1] = True
    return flags


def picture_of_labelled(
    document: LabelledDocument, segmenter: Segmenter, *, show_progress: bool = False
) -> Picture:
    """Run a model over a document whose sections are known, and make a picture of both.

    :param document: The document; the model is told of its paragraphs where they are known.
    :param segmenter: The model.
    :param show_progress: Whether to show a bar on the standard error.
    :return: The picture.
    """
    sentences = tuple(document.sentences)
    scores = segmenter.predict_many([(sentences, document.paragraphs)], show_progress=show_progress)
    probabilities = next(scores)
    preparer = segmenter.preparer
    prepared = preparer.prepare_split(sentences, document.paragraphs, Profile())
    paragraph_starts = np.zeros(len(sentences), np.bool_)
    paragraph_starts[list(document.paragraphs or ())] = True
    return Picture(
        name=document.id,
        sentences=sentences,
        is_joined=False,
        token_counts=prepared.stream.ends - prepared.stream.starts,
        paragraph_starts=paragraph_starts,
        probabilities=probabilities,
        candidates=probabilities > 0,
        forced=np.zeros(len(probabilities), np.bool_),
        threshold=segmenter.config.threshold_for(prepared.at_breaks),
        labels=document,
        sides=text_of_windows(prepared.windows, sentences, preparer.tokenizer),
    )
