"""Evaluation: scores in place, figures that are what they say, intervals, baselines."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from segmenter import InputError, Segmenter
from segmenter.baselines import cut_at_paragraphs, cut_at_random, cut_documents, cut_evenly
from segmenter.evaluation import (
    MACRO,
    MICRO,
    Mode,
    ScoredDocument,
    compare,
    evaluate,
    having,
    measure,
    modes_of,
    score_documents,
)
from segmenter.labelled import LabelledDocument
from segmenter.metrics import (
    average_precision,
    boundary_similarity,
    calibration_curve,
    pk,
    precision_recall_f1,
    segment_lengths,
    window_diff,
)

DOCUMENTS = [
    LabelledDocument("a", [f"The harbour is {n} years old." for n in range(9)], [4, 6], [2, 4, 6]),
    LabelledDocument("b", [f"She built {n} ships." for n in range(5)], [2], [2, 3]),
    LabelledDocument("c", ["Fog."], [], []),
]


def scored_documents(count: int, seed: int = 0, sharpness: float = 0.3) -> list[ScoredDocument]:
    """Documents with probabilities that say something about their boundaries."""
    rng = np.random.default_rng(seed)
    documents = []
    for number in range(count):
        reference = rng.random(rng.integers(5, 40)) < 0.2
        noise = np.random.default_rng((seed, number)).normal(0.3, 0.15, len(reference))
        chances = np.clip(noise + sharpness * reference, 0.01, 0.99).astype(np.float32)
        documents.append(ScoredDocument(str(number), reference, chances > 0.5, chances))
    return documents


@pytest.mark.parametrize("mode", ["flat", "paragraphs"])
def test_documents_are_scored_as_predict_scores_them(tiny: Segmenter, mode: Mode) -> None:
    documents = having(DOCUMENTS, mode)
    assert len(documents) == (3 if mode == "flat" else 2)
    scored = score_documents(tiny, documents, mode)
    for document, found in zip(documents, scored, strict=True):
        paragraphs = document.paragraphs if mode == "paragraphs" else None
        np.testing.assert_allclose(
            found.probabilities, tiny.predict(document.sentences, paragraphs), atol=1e-5
        )
        assert found.probabilities is not None
        expected = cut_at_paragraphs(document) if paragraphs else np.ones(len(found.reference), bool)
        assert np.array_equal(found.probabilities > 0, expected)
        assert np.array_equal(found.found, found.probabilities > 0.5)


def test_each_way_has_its_own_threshold(tiny: Segmenter) -> None:
    config = replace(tiny.config, threshold=0.999, paragraph_threshold=0.0)
    segmenter = Segmenter(replace(tiny._checkpoint, config=config), tiny._scorer)
    found = evaluate(segmenter, DOCUMENTS, resamples=0)
    assert found["flat"].predicted < found["paragraphs"].predicted == 5


def test_micro_figures_are_those_of_all_gaps_together() -> None:
    documents = scored_documents(7)
    found = measure(documents)
    reference = np.concatenate([d.reference for d in documents])
    cuts = np.concatenate([d.found for d in documents])
    chances = np.concatenate([d.probabilities for d in documents if d.probabilities is not None])
    expected = precision_recall_f1(reference, cuts)
    assert (found.documents, found.gaps) == (7, len(reference))
    assert (found.boundaries, found.predicted) == (reference.sum(), cuts.sum())
    for name in ("precision", "recall", "f1"):
        assert found.micro[name].value == pytest.approx(getattr(expected, name))
    assert found.micro["average_precision"].value == pytest.approx(
        average_precision_score(reference, chances)
    )
    assert found.micro["calibration_error"].value == pytest.approx(
        calibration_curve(reference, chances).error
    )


def test_macro_figures_are_means_over_documents() -> None:
    documents = scored_documents(9, seed=3)
    documents.append(
        ScoredDocument("none", np.zeros(4, bool), np.zeros(4, bool), np.full(4, 0.1, np.float32))
    )
    found = measure(documents).macro
    lengths = [(segment_lengths(d.reference), segment_lengths(d.found)) for d in documents]
    for name, function in (
        ("pk", pk),
        ("window_diff", window_diff),
        ("boundary_similarity", boundary_similarity),
    ):
        assert found[name].value == pytest.approx(np.mean([function(*pair) for pair in lengths]))
    with_boundaries = [d for d in documents if d.reference.any()]
    assert len(with_boundaries) < len(documents)
    assert found["f1"].value == pytest.approx(
        np.mean([precision_recall_f1(d.reference, d.found).f1 for d in with_boundaries])
    )
    assert found["average_precision"].value == pytest.approx(
        np.mean([average_precision(d.reference, d.probabilities) for d in with_boundaries])  # type: ignore[arg-type]
    )


def test_documents_too_short_for_a_window_say_nothing_of_pk() -> None:
    short = ScoredDocument("short", np.array([True]), np.array([False]))
    long = np.zeros(20, bool)
    wrong = ScoredDocument("long", long, ~long)
    assert measure([short, wrong]).macro["pk"].value == measure([wrong]).macro["pk"].value > 0


def test_draws_without_boundaries_do_not_count_as_failures() -> None:
    reference = np.array([False, True, False])
    chances = np.array([0.1, 0.9, 0.2], np.float32)
    documents = [
        ScoredDocument("with", reference, chances > 0.5, chances),
        ScoredDocument("without", np.zeros(3, bool), np.zeros(3, bool), chances / 2),
    ]
    found = measure(documents)
    for name in ("recall", "f1", "average_precision"):
        assert found.micro[name].low == found.macro[name].low == 1.0, name
    nothing = measure(documents[1:])
    assert nothing.micro["f1"].value == nothing.micro["f1"].low == nothing.macro["f1"].value == 0


def test_micro_pk_weighs_documents_by_their_windows() -> None:
    """Koshorek et al. (2018): errors of all windows, over all windows, k by document."""
    long, short = np.zeros(100, bool), np.array([True, False, False])
    long[50] = True
    documents = [
        ScoredDocument("long", long, np.zeros(100, bool)),
        ScoredDocument("short", short, np.array([False, False, True])),
    ]
    # k is 25 and 2: 25 of 76 windows are wrong, and 2 of 2.
    assert measure(documents).micro["pk"].value == pytest.approx((25 + 2) / (76 + 2))
    assert measure(documents).macro["pk"].value == pytest.approx((25 / 76 + 1) / 2)


def test_intervals_are_those_of_a_bootstrap_over_documents() -> None:
    documents = scored_documents(30)
    found = measure(documents, resamples=2000).micro
    rng = np.random.default_rng(5)
    draws: dict[str, list[float]] = {"f1": [], "average_precision": []}
    for _ in range(2000):
        drawn = [documents[i] for i in rng.integers(0, 30, 30)]
        reference = np.concatenate([d.reference for d in drawn])
        draws["f1"].append(precision_recall_f1(reference, np.concatenate([d.found for d in drawn])).f1)
        chances = np.concatenate([d.probabilities for d in drawn if d.probabilities is not None])
        draws["average_precision"].append(average_precision(reference, chances))
    for name, values in draws.items():
        low, high = np.quantile(values, [0.025, 0.975])
        assert found[name].low == pytest.approx(low, abs=0.02)
        assert found[name].high == pytest.approx(high, abs=0.02)
        assert found[name].low < found[name].value < found[name].high
    assert measure(documents, seed=1) == measure(documents[::-1], seed=1)


def test_a_paired_difference_is_surer_than_two_intervals() -> None:
    good, poor = scored_documents(40, sharpness=0.4), scored_documents(40, sharpness=0.3)
    difference = compare(good, poor)[MICRO]["average_precision"]
    first, second = (measure(d).micro["average_precision"] for d in (good, poor))
    assert difference.value == pytest.approx(first.value - second.value)
    assert 0 < difference.low < difference.value < difference.high
    assert difference.high - difference.low < first.high - first.low
    same = compare(good, good)
    assert all((f.value, f.low, f.high) == (0, 0, 0) for kind in (MICRO, MACRO) for f in same[kind].values())
    for wrong in ([], good[1:]):
        with pytest.raises(InputError, match="different documents"):
            compare(wrong, poor)


def test_no_documents_is_an_error(tiny: Segmenter) -> None:
    with pytest.raises(InputError, match="no documents"):
        evaluate(tiny, [])


def test_documents_without_gaps_do_no_harm(tiny: Segmenter) -> None:
    found = evaluate(tiny, DOCUMENTS[2:])["flat"]
    assert (found.gaps, found.predicted) == (0, 0)
    assert modes_of(DOCUMENTS[2:]) == ["flat"]


def test_baselines() -> None:
    every = measure(cut_documents(DOCUMENTS[:2], cut_at_paragraphs)).micro
    assert (every["precision"].value, every["recall"].value) == (pytest.approx(3 / 5), 1.0)
    assert "average_precision" not in every
    long = LabelledDocument("d", ["x"] * 10_001, [5])
    even = np.flatnonzero(cut_evenly(0.1)(long))
    assert len(even) == 1000
    assert set(np.diff(even)) == {10}
    assert np.mean(cut_at_random(0.1, seed=0)(long)) == pytest.approx(0.1, abs=0.01)
    assert not cut_evenly(0.1)(DOCUMENTS[2]).size
    for rate in (0.01, 0.3, 0.5, 0.75, 1.0):
        for size in range(1, 30):
            cuts = cut_evenly(rate)(LabelledDocument("e", ["x"] * size, []))
            assert cuts.sum() == int((size - 1) * rate + 1e-9)


def test_cutting_as_often_as_the_reference_takes_the_likeliest_gaps() -> None:
    reference = np.array([False, True, False, True, False, True])
    probabilities = np.array([0.2, 0.1, 0.9, 0.2, 0.2, 0.0], np.float32)
    document = ScoredDocument("a", reference, np.zeros(6, np.bool_), probabilities)
    assert document.cut_as_often().found.tolist() == [True, False, True, True, False, False]
    none = replace(document, reference=np.zeros(6, np.bool_))
    assert not none.cut_as_often().found.any()
