"""Every measure beside an independent reference."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import average_precision_score, precision_recall_fscore_support

from segmenter.metrics import (
    average_precision,
    best_threshold,
    boundary_scores,
    half_mean_section,
    pk,
    window_diff,
)


@st.composite
def flag_pairs(draw: st.DrawFn) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    size = draw(st.integers(1, 40))
    flags = st.lists(st.booleans(), min_size=size, max_size=size)
    return np.array(draw(flags)), np.array(draw(flags))


@given(flag_pairs(), st.integers(1, 10))
def test_pk_and_window_diff_equal_their_definitions(
    pair: tuple[NDArray[np.bool_], NDArray[np.bool_]], k: int
) -> None:
    reference, found = pair
    # The section number of every sentence, as the papers write it.
    sections = [np.concatenate([[0], np.cumsum(flags)]) for flags in (reference, found)]
    n_pairs = len(reference) + 1 - k
    apart = [[s[i] != s[i + k] for i in range(n_pairs)] for s in sections]
    counts = [[s[i + k] - s[i] for i in range(n_pairs)] for s in sections]
    expected_pk = sum(a != b for a, b in zip(*apart, strict=True)) / n_pairs if n_pairs > 0 else 0
    expected_wd = sum(a != b for a, b in zip(*counts, strict=True)) / n_pairs if n_pairs > 0 else 0
    assert pk(reference, found, k) == pytest.approx(expected_pk)
    assert window_diff(reference, found, k) == pytest.approx(expected_wd)
    assert pk(reference, reference, k) == window_diff(found, found, k) == 0


def test_pk_by_hand() -> None:
    # Sentences 0-3 | 4-7 against 0-4 | 5-7; k = 2. Pairs (i, i + 2): 2-4 and 3-5 are apart in the
    # reference, 3-5 and 4-6 in what was found: two of six pairs differ.
    reference = np.array([0, 0, 0, 1, 0, 0, 0], bool)
    found = np.array([0, 0, 0, 0, 1, 0, 0], bool)
    assert half_mean_section(reference) == 2
    assert pk(reference, found) == pytest.approx(2 / 6)
    assert window_diff(reference, found) == pytest.approx(2 / 6)


@given(flag_pairs())
def test_boundary_scores_equal_scikit_learn(pair: tuple[NDArray[np.bool_], NDArray[np.bool_]]) -> None:
    reference, found = pair
    precision, recall, f1, _ = precision_recall_fscore_support(
        reference, found, labels=[True], zero_division=0
    )
    scores = boundary_scores(reference, found)
    assert (scores.precision, scores.recall, scores.f1) == pytest.approx((precision[0], recall[0], f1[0]))


@st.composite
def scored(draw: st.DrawFn) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    size = draw(st.integers(1, 40))
    flags = draw(st.lists(st.booleans(), min_size=size, max_size=size).filter(any))
    # Few distinct values, so that ties occur.
    scores = draw(st.lists(st.integers(1, 9), min_size=size, max_size=size))
    return np.array(flags), np.array(scores) / 10


@given(scored())
def test_average_precision_equals_scikit_learn(pair: tuple[NDArray[np.bool_], NDArray[np.float64]]) -> None:
    assert average_precision(*pair) == pytest.approx(average_precision_score(*pair))


@given(scored())
def test_best_threshold_is_the_best_there_is(pair: tuple[NDArray[np.bool_], NDArray[np.float64]]) -> None:
    reference, probabilities = pair
    chosen = boundary_scores(reference, probabilities > best_threshold(reference, probabilities)).f1
    for threshold in np.arange(0, 1, 0.01):
        assert chosen >= boundary_scores(reference, probabilities > threshold).f1 - 1e-12


def test_average_precision_without_boundaries_is_zero() -> None:
    assert average_precision(np.zeros(3, bool), np.array([0.1, 0.2, 0.3])) == 0
    assert average_precision(np.zeros(0, bool), np.zeros(0)) == 0
