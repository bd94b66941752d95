"""Evaluation: scores in place, baselines that do what their names say."""

import numpy as np
import pytest

from segmenter import Segmenter
from segmenter.evaluation import (
    cut_at_paragraphs,
    cut_at_random,
    cut_evenly,
    measure,
    measure_cuts,
    score_documents,
)
from segmenter.labelled import LabelledDocument
from segmenter.metrics import average_precision, boundary_scores, pk, window_diff

DOCUMENTS = [
    LabelledDocument("a", [f"The harbour is {n} years old." for n in range(9)], [4, 6], [2, 4, 6]),
    LabelledDocument("b", [f"She built {n} ships." for n in range(5)], [2], [2, 3]),
    LabelledDocument("c", ["Fog."], [], []),
]


def test_the_reference_is_the_gap_before_each_boundary() -> None:
    assert np.flatnonzero(DOCUMENTS[0].reference).tolist() == [3, 5]
    assert DOCUMENTS[2].reference.shape == (0,)


@pytest.mark.parametrize("mode", ["flat", "paragraphs"])
def test_documents_are_scored_as_predict_scores_them(tiny: Segmenter, mode: str) -> None:
    scored = score_documents(tiny, DOCUMENTS, mode)  # type: ignore[arg-type]
    for document, found in zip(DOCUMENTS, scored, strict=True):
        paragraphs = document.paragraphs if mode == "paragraphs" else None
        np.testing.assert_allclose(
            found.probabilities, tiny.predict(document.sentences, paragraphs), atol=1e-5
        )
        expected = cut_at_paragraphs(document) if paragraphs else np.ones(len(found.reference), bool)
        assert np.array_equal(found.scored, expected)


def test_measures_are_those_of_the_metrics(tiny: Segmenter) -> None:
    scored = score_documents(tiny, DOCUMENTS[:2], "flat")
    found = measure(scored, 0.4)
    reference = np.concatenate([document.reference for document in scored])
    chances = np.concatenate([document.probabilities for document in scored])
    scores = boundary_scores(reference, chances > 0.4)
    assert (found.documents, found.gaps, found.rate) == (2, 12, pytest.approx(3 / 12))
    assert (found.f1, found.precision, found.recall) == (scores.f1, scores.precision, scores.recall)
    assert found.average_precision == average_precision(reference, chances)
    assert found.f1_at_half == boundary_scores(reference, chances > 0.5).f1
    assert found.pk == np.mean([pk(d.reference, d.probabilities > 0.4) for d in scored])
    assert found.window_diff == np.mean([window_diff(d.reference, d.probabilities > 0.4) for d in scored])


def test_baselines() -> None:
    every = measure_cuts(DOCUMENTS[:2], cut_at_paragraphs)
    assert (every.precision, every.recall) == (pytest.approx(3 / 5), 1.0)
    assert every.average_precision is None
    long = LabelledDocument("d", ["x"] * 10_001, [5])
    even = np.flatnonzero(cut_evenly(0.1)(long))
    assert len(even) == 1000
    assert set(np.diff(even)) == {10}
    assert np.mean(cut_at_random(0.1, seed=0)(long)) == pytest.approx(0.1, abs=0.01)
    assert not cut_evenly(0.1)(DOCUMENTS[2]).size
