"""Ways of cutting that need no model, to compare with."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from segmenter.evaluation import ScoredDocument
from segmenter.labelled import LabelledDocument, gap_flags

__all__ = ["cut_at_paragraphs", "cut_at_random", "cut_documents", "cut_evenly"]

Cut = Callable[[LabelledDocument], NDArray[np.bool_]]
"""Says which gaps of a document are cut. *Shape:* ``(n_gaps,)``."""


def cut_documents(documents: Sequence[LabelledDocument], cut: Cut) -> list[ScoredDocument]:
    """Cut documents without a model.

    :param documents: The documents.
    :param cut: How.
    :return: What :func:`segmenter.evaluation.measure` takes, without probabilities.
    """
    return [ScoredDocument(document.id, document.reference, cut(document)) for document in documents]


def cut_at_paragraphs(document: LabelledDocument) -> NDArray[np.bool_]:
    """Cut at every paragraph.

    :param document: One with known paragraphs.
    :return: Which gaps are cut. *Shape:* ``(n_gaps,)``.
    """
    return gap_flags(document.paragraphs or (), len(document.sentences))


def cut_at_random(rate: float, seed: int) -> Cut:
    """Cut every gap with the same chance.

    :param rate: The chance, 0 to 1.
    :param seed: Of what is drawn.
    :return: A way of cutting.
    """
    rng = np.random.default_rng(seed)
    return lambda document: rng.random(max(0, len(document.sentences) - 1)) < rate


def cut_evenly(rate: float) -> Cut:
    """Cut at even distances.

    :param rate: Share of the gaps to cut, above 0 up to 1.
    :return: A way of cutting.
    """

    def cut(document: LabelledDocument) -> NDArray[np.bool_]:
        n_gaps = max(0, len(document.sentences) - 1)
        flags = np.zeros(n_gaps, dtype=np.bool_)
        # A little more than exact, since 3 * 0.1 / 0.1 is less than 3.
        numbers = np.arange(1, int(n_gaps * rate + 1e-9) + 1)
        flags[np.minimum((numbers / rate + 1e-9).astype(np.int64), n_gaps) - 1] = True
        return flags

    return cut
