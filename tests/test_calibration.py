"""Calibration beside an independent fit, and folded into models of several kinds."""

from collections.abc import Callable

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

from segmenter.training.calibration import Calibration, fit_logistic, fold

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
