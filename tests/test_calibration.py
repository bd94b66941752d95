"""Calibration beside an independent fit, and folded into models of several kinds."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    RobertaConfig,
    RobertaForSequenceClassification,
)

from segmenter import ConfigError, InputError
from segmenter.config import CheckpointConfig
from segmenter.evaluation import ScoredDocument, measure
from segmenter.metrics import best_threshold
from segmenter.training.calibration import (
    Calibration,
    Goal,
    apply,
    calibrate,
    choose_threshold,
    cross_fitted,
    fit_logistic,
    fold,
    scored_gaps,
    self_fitted,
    steady_threshold,
)

from . import tiny_training

SIZES = {"vocab_size": 40, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4}


def test_the_fit_equals_logistic_regression_without_penalty() -> None:
    rng = np.random.default_rng(0)
    margins = rng.normal(0, 3, 4000)
    reference = rng.random(4000) < 1 / (1 + np.exp(-(margins / 2.5 - 1.2)))
    slope, shift = fit_logistic(margins, reference)
    expected = LogisticRegression(C=1e9, tol=1e-8, max_iter=1000).fit(margins[:, None], reference)
    assert slope == pytest.approx(expected.coef_[0, 0], rel=1e-3)
    assert shift == pytest.approx(expected.intercept_[0], rel=1e-3)
    assert 1 / slope == pytest.approx(2.5, rel=0.1)


@pytest.mark.parametrize(
    "build",
    [
        tiny_training.model,
        lambda: BertForSequenceClassification(BertConfig(**SIZES)),
        lambda: RobertaForSequenceClassification(RobertaConfig(**SIZES, pad_token_id=1)),
    ],
    ids=["DistilBERT", "BERT", "RoBERTa"],
)
def test_folding_changes_the_margins_as_fitted(build: Callable[[], torch.nn.Module]) -> None:
    torch.manual_seed(0)
    model = build().eval()
    ids = torch.randint(5, 40, (6, 12))

    def margins() -> torch.Tensor:
        with torch.no_grad():
            logits = model(input_ids=ids, attention_mask=torch.ones_like(ids)).logits
        return logits[:, 1] - logits[:, 0]

    before = margins()
    fold(model, Calibration(temperature=1.7, shift=-0.6, thresholds={}))  # type: ignore[arg-type]
    torch.testing.assert_close(margins(), before / 1.7 - 0.6, atol=1e-5, rtol=1e-4)


def scored(chances: list[float], boundaries: list[int]) -> ScoredDocument:
    reference = np.isin(np.arange(len(chances)), boundaries)
    return ScoredDocument("a", reference, np.zeros(len(chances), bool), np.array(chances, np.float32))


def test_a_threshold_for_each_goal() -> None:
    document = scored([0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2, 0.1, 0.0], [0, 1, 3, 7])
    best = choose_threshold([document], Goal())
    assert document.cut(best).found.sum() == 4
    # Precision of the n highest: 1, 1, 2/3, 3/4, 3/5, 3/6, 3/7, 4/8, 4/9.
    for wished, cuts in ((1.0, 2), (0.7, 4), (0.5, 8), (0.01, 9)):
        found = document.cut(choose_threshold([document], Goal(precision=wished))).found
        assert found.sum() == cuts
    for mean, cuts in ((11.0, 0), (5.5, 1), (2.75, 3), (1.0, 9)):
        found = document.cut(choose_threshold([document], Goal(mean_section=mean))).found
        assert found.sum() == cuts


def test_the_threshold_of_the_best_f1_does_not_jump_about() -> None:
    """From sample to sample of one model's documents, on the flat top of its F1."""
    best, steady = [], []
    for seed in range(30):
        documents = apply(Calibration(temperature=3, shift=-4 / 3, thresholds={}), known_model(12, seed))
        best.append(best_threshold(*scored_gaps(documents)))
        steady.append(steady_threshold(documents))
    assert np.std(steady) < 0.85 * np.std(best)
    assert np.mean(steady) == pytest.approx(np.mean(best), abs=0.03)
    assert steady_threshold(documents) == steady[-1]


def test_a_precision_that_no_threshold_has(caplog: pytest.LogCaptureFixture) -> None:
    document = scored([0.9, 0.8, 0.7], [1, 2])
    assert document.cut(choose_threshold([document], Goal(precision=0.9))).found.tolist() == [True] * 3
    assert "no threshold has a precision of 0.9; taking that of the highest, 0.667" in caplog.text


@pytest.mark.parametrize(
    "wish",
    [{"precision": 0}, {"precision": 1.1}, {"mean_section": 0.5}, {"precision": 0.5, "mean_section": 5}],
)
def test_goals_out_of_range_are_refused(wish: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match=r"wished|two goals"):
        Goal(**wish)


def known_model(count: int, seed: int) -> list[ScoredDocument]:
    """Documents scored by a model that is too sure, and thinks boundaries too frequent."""
    rng = np.random.default_rng(seed)
    found = []
    for number in range(count):
        honest = rng.normal(-2, 2, 40)
        reference = rng.random(40) < 1 / (1 + np.exp(-honest))
        chances = (1 / (1 + np.exp(-(3 * honest + 4)))).astype(np.float32)
        found.append(ScoredDocument(f"{seed} {number}", reference, chances > 0.5, chances))
    return found


def test_calibration_makes_a_models_probabilities_honest() -> None:
    fitted = calibrate({"flat": known_model(200, 0)}, Goal())
    assert fitted.temperature == pytest.approx(3, rel=0.1)
    assert fitted.shift == pytest.approx(-4 / 3, abs=0.15)
    new = known_model(200, 1)
    before, after = measure(new, resamples=0), measure(apply(fitted, new), resamples=0)
    assert after.micro["calibration_error"].value < 0.03 < before.micro["calibration_error"].value / 4
    areas = [found.micro["average_precision"].value for found in (before, after)]
    assert areas[0] == pytest.approx(areas[1], abs=1e-3)
    settings = fitted.settings(CheckpointConfig())
    assert settings.threshold == fitted.thresholds["flat"]
    assert settings.paragraph_threshold is None


def test_what_is_reported_was_fitted_to_other_documents() -> None:
    documents = known_model(6, 3)
    crossed = cross_fitted({"flat": documents}, Goal())
    assert crossed is not None
    found = crossed["flat"]
    assert sorted(d.id for d in found) == sorted(d.id for d in documents)
    for half in (0, 1):
        fitted = calibrate({"flat": documents[1 - half :: 2]}, Goal())
        for document in documents[half::2]:
            same = next(d for d in found if d.id == document.id)
            expected = apply(fitted, [document])[0].cut(fitted.thresholds["flat"])
            assert np.array_equal(same.found, expected.found)
            assert np.array_equal(same.probabilities, expected.probabilities)
    assert cross_fitted({"flat": documents[:1]}, Goal()) is None
    fitted = calibrate({"flat": documents[:1]}, Goal())
    (alone,) = self_fitted({"flat": documents[:1]}, fitted)["flat"]
    assert np.array_equal(alone.found, apply(fitted, documents[:1])[0].cut(fitted.thresholds["flat"]).found)


def test_a_way_of_reading_that_scores_no_boundary_has_no_threshold() -> None:
    documents = known_model(20, 4)
    silent = [replace(d, probabilities=np.zeros(40, np.float32)) for d in documents]
    assert calibrate({"flat": documents, "paragraphs": silent}, Goal()).thresholds.keys() == {"flat"}


def test_gaps_that_are_not_scored_stay_so() -> None:
    document = scored([0.9, 0.0, 0.4], [0])
    fitted = Calibration(temperature=2.0, shift=3.0, thresholds={})
    found = apply(fitted, [document])[0].probabilities
    assert found is not None
    assert found[1] == 0
    assert found[2] > 0.4


def test_a_model_that_is_always_wrong_or_always_right() -> None:
    reference = np.arange(100) % 4 == 0
    for sign in (-1.0, 1.0):
        slope, shift = fit_logistic(np.where(reference, 5.0, -5.0) * sign, reference)
        assert slope > 0
        assert np.isfinite(slope + shift)
    with pytest.raises(InputError, match="of one kind"):
        calibrate({"flat": [scored([0.3, 0.4], [])]}, Goal())
