"""Every measure beside an independent reference."""

import time
from itertools import product

import numpy as np
import pytest
import segeval
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, precision_recall_fscore_support

from segmenter.errors import InputError
from segmenter.metrics import (
    average_precision,
    best_threshold,
    boundary_similarity,
    calibration_curve,
    half_mean_segment,
    pk,
    precision_recall_f1,
    segment_lengths,
    window_diff,
    window_errors,
)

Flags = NDArray[np.bool_]


@st.composite
def flag_pairs(draw: st.DrawFn) -> tuple[Flags, Flags]:
    size = draw(st.integers(0, 40))
    flags = st.lists(st.booleans(), min_size=size, max_size=size)
    return np.array(draw(flags), bool), np.array(draw(flags), bool)


def random_pairs(count: int) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Segment lengths of two segmentations, from dense to sparse, often near each other."""
    rng = np.random.default_rng(0)
    pairs = []
    for _ in range(count):
        size = rng.integers(2, 60)
        reference = rng.random(size) < rng.choice([0.05, 0.2, 0.5, 0.9])
        moved = np.roll(reference, rng.integers(-2, 3)) ^ (rng.random(size) < rng.choice([0.0, 0.1, 0.5]))
        pairs.append((segment_lengths(reference), segment_lengths(moved)))
    return pairs


def similarity_of_segeval(reference: tuple[int, ...], hypothesis: tuple[int, ...], n_t: int = 2) -> float:
    if len(reference) == len(hypothesis) == 1:
        return 1.0  # segeval fails where there is no boundary at all.
    return float(segeval.boundary_similarity(reference, hypothesis, n_t=n_t))


def test_window_measures_and_boundary_similarity_equal_segeval() -> None:
    for reference, hypothesis in random_pairs(3000):
        assert half_mean_segment(reference) == segeval.compute_window_size(reference)
        # segeval takes the hypothesis first.
        assert pk(reference, hypothesis) == pytest.approx(float(segeval.pk(hypothesis, reference)))
        if window_errors(reference, hypothesis).windows:  # segeval divides by zero there
            assert window_diff(reference, hypothesis) == pytest.approx(
                float(segeval.window_diff(hypothesis, reference))
            )
        assert boundary_similarity(reference, hypothesis) == pytest.approx(
            similarity_of_segeval(reference, hypothesis)
        )


@pytest.mark.parametrize(("k", "n_t"), [(1, 1), (2, 3), (3, 4), (7, 6)])
def test_the_same_with_other_widths(k: int, n_t: int) -> None:
    for reference, hypothesis in random_pairs(400):
        assert pk(reference, hypothesis, k) == pytest.approx(
            float(segeval.pk(hypothesis, reference, window_size=k))
        )
        if sum(reference) > k:
            assert window_diff(reference, hypothesis, k) == pytest.approx(
                float(segeval.window_diff(hypothesis, reference, window_size=k))
            )
        assert boundary_similarity(reference, hypothesis, n_t) == pytest.approx(
            similarity_of_segeval(reference, hypothesis, n_t)
        )


def test_near_boundaries_are_paired_as_segeval_pairs_them_in_every_small_document() -> None:
    for reference, hypothesis in product(product([False, True], repeat=6), repeat=2):
        lengths = [segment_lengths(np.array(flags)) for flags in (reference, hypothesis)]
        assert boundary_similarity(*lengths) == pytest.approx(similarity_of_segeval(*lengths))


@given(flag_pairs(), st.integers(1, 10))
def test_window_measures_equal_their_definitions(pair: tuple[Flags, Flags], k: int) -> None:
    # The section number of every sentence, as the papers write it.
    sections = [np.concatenate([[0], np.cumsum(flags)]) for flags in pair]
    n_pairs = len(pair[0]) + 1 - k
    apart = [[s[i] != s[i + k] for i in range(n_pairs)] for s in sections]
    counts = [[s[i + k] - s[i] for i in range(n_pairs)] for s in sections]
    expected_pk = sum(a != b for a, b in zip(*apart, strict=True)) / n_pairs if n_pairs > 0 else 0
    expected_wd = sum(a != b for a, b in zip(*counts, strict=True)) / n_pairs if n_pairs > 0 else 0
    reference, hypothesis = map(segment_lengths, pair)
    assert pk(reference, hypothesis, k) == pytest.approx(expected_pk)
    assert window_diff(reference, hypothesis, k) == pytest.approx(expected_wd)
    assert pk(reference, reference, k) == window_diff(hypothesis, hypothesis, k) == 0


def test_pk_by_hand() -> None:
    # Sentences 0-3 | 4-7 against 0-4 | 5-7; k = 2. Pairs (i, i + 2): 2-4 and 3-5 are apart in the
    # reference, 3-5 and 4-6 in the hypothesis: two of six pairs differ.
    assert half_mean_segment((4, 4)) == 2
    assert pk((4, 4), (5, 3)) == pytest.approx(2 / 6)
    assert window_diff((4, 4), (5, 3)) == pytest.approx(2 / 6)


def test_segment_lengths() -> None:
    assert segment_lengths(np.array([], bool)) == (1,)
    assert segment_lengths(np.array([True, False, True])) == (1, 2, 1)


@pytest.mark.parametrize(
    ("reference", "hypothesis", "message"),
    [
        ((2, 3), (2, 4), "segmentations of 5 and 6 sentences"),
        ((2, 0, 3), (5,), r"segment lengths \[2, 0, 3\]"),
        ((), (5,), r"segment lengths \[\]"),
    ],
)
def test_segmentations_of_different_documents_are_refused(
    reference: tuple[int, ...], hypothesis: tuple[int, ...], message: str
) -> None:
    for measure in (pk, window_diff, boundary_similarity):
        with pytest.raises(InputError, match=message):
            measure(reference, hypothesis)
    with pytest.raises(InputError, match="k=0"):
        pk((2, 3), (5,), 0)
    with pytest.raises(InputError, match="n_t=0"):
        boundary_similarity((2, 3), (5,), 0)


def test_time_is_linear() -> None:
    def seconds(n_segments: int) -> float:
        lengths = [np.random.default_rng(seed).permutation(n_segments) % 7 + 1 for seed in (0, 1)]
        start = time.process_time()
        for measure in (pk, window_diff, boundary_similarity):
            measure(*lengths)
        return time.process_time() - start

    seconds(1000)
    small, large = seconds(20_000), seconds(200_000)
    assert large < 40 * small + 0.5


@given(flag_pairs())
def test_precision_recall_f1_equal_scikit_learn(pair: tuple[Flags, Flags]) -> None:
    reference, hypothesis = pair
    scores = precision_recall_f1(reference, hypothesis)
    if not len(reference):
        assert scores == (0, 0, 0)
        return
    precision, recall, f1, _ = precision_recall_fscore_support(
        reference, hypothesis, labels=[True], zero_division=0
    )
    assert scores == pytest.approx((precision[0], recall[0], f1[0]))


@st.composite
def scored(draw: st.DrawFn) -> tuple[Flags, NDArray[np.float64]]:
    size = draw(st.integers(1, 40))
    flags = draw(st.lists(st.booleans(), min_size=size, max_size=size).filter(any))
    # Few distinct values, so that ties occur.
    scores = draw(st.lists(st.integers(1, 9), min_size=size, max_size=size))
    return np.array(flags), np.array(scores) / 10


@given(scored())
def test_average_precision_equals_scikit_learn(pair: tuple[Flags, NDArray[np.float64]]) -> None:
    assert average_precision(*pair) == pytest.approx(average_precision_score(*pair))


@given(scored())
def test_best_threshold_is_the_best_there_is(pair: tuple[Flags, NDArray[np.float64]]) -> None:
    reference, probabilities = pair
    chosen = precision_recall_f1(reference, probabilities > best_threshold(reference, probabilities)).f1
    for threshold in np.arange(0, 1, 0.01):
        assert chosen >= precision_recall_f1(reference, probabilities > threshold).f1 - 1e-12


def test_average_precision_without_boundaries_is_zero() -> None:
    assert average_precision(np.zeros(3, bool), np.array([0.1, 0.2, 0.3])) == 0
    assert average_precision(np.zeros(0, bool), np.zeros(0)) == 0


@settings(max_examples=50)
@given(scored(), st.integers(1, 12))
def test_the_calibration_curve_is_a_mean_over_each_bin(
    pair: tuple[Flags, NDArray[np.float64]], bins: int
) -> None:
    reference, probabilities = pair
    curve = calibration_curve(reference, probabilities, bins)
    expected_error = 0.0
    rows = []
    for number in range(bins):
        inside = [i for i, p in enumerate(probabilities) if min(int(p * bins), bins - 1) == number]
        if inside:
            rows.append((np.mean(probabilities[inside]), np.mean(reference[inside]), len(inside)))
            expected_error += abs(rows[-1][0] - rows[-1][1]) * len(inside) / len(reference)
    found = list(zip(curve.predicted, curve.observed, curve.counts, strict=True))
    assert np.array(found) == pytest.approx(np.array(rows))
    assert curve.error == pytest.approx(expected_error)
