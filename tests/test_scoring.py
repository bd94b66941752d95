"""Scoring, with scorers that stand in for a model."""

import logging

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from transformers import (
    BertConfig,
    BertForSequenceClassification,
    DistilBertConfig,
    DistilBertForSequenceClassification,
    PreTrainedModel,
)

from segmenter.backends import TorchScorer
from segmenter.profiling import Profile
from segmenter.scoring import BatchBudget, Logits, sigmoid, start_scoring
from segmenter.windows import TokenStream, WindowBuilder, Windows

BUILDER = WindowBuilder(4, 20, 101, 102)


class Adding:
    """Scores a window by its tokens alone, and remembers the batches it saw."""

    batch_tokens = 100
    runs_ahead = False

    def __init__(self, most_tokens: int = 10**9) -> None:
        self.most_tokens = most_tokens
        self.shapes: list[tuple[int, ...]] = []

    def start(self, input_ids: NDArray[np.int64], attention_mask: NDArray[np.int64]) -> Logits:
        if input_ids.size > self.most_tokens:
            raise MemoryError
        self.shapes.append(input_ids.shape)
        total = (input_ids * attention_mask).sum(axis=1) / 1000
        return lambda: np.stack([np.zeros_like(total), total], axis=1).astype(np.float32)


def documents(seed: int = 0) -> list[Windows]:
    rng = np.random.default_rng(seed)
    made = []
    for n_sentences in (7, 1, 30, 2, 1, 12):
        sentences = [rng.integers(5, 90, rng.integers(0, 9)).astype(np.int32) for _ in range(n_sentences)]
        made.append(BUILDER.build(TokenStream.join(sentences), np.arange(n_sentences - 1)))
    return made


def expected(windows: Windows) -> list[float]:
    return [
        (sum(map(int, (*left, *right))) + 101 + 2 * 102) / 1000
        for left, right in map(windows.sides, range(len(windows)))
    ]


@pytest.mark.parametrize("budget", [None, 1, 20, 64, 10_000])
def test_order_is_restored_across_documents(budget: int | None) -> None:
    scorer = Adding()
    budget = budget or scorer.batch_tokens
    margins = start_scoring(scorer, BUILDER, 0, documents(), BatchBudget(budget), Profile())()
    for windows, margin in zip(documents(), margins, strict=True):
        np.testing.assert_allclose(margin, expected(windows), rtol=1e-5)
    assert all(rows * length <= budget or rows == 1 for rows, length in scorer.shapes)
    # Batches run across documents: with room for all there is one.
    if budget == 10_000:
        assert len(scorer.shapes) == 1


def test_batches_have_little_padding_and_are_not_tiny() -> None:
    rng = np.random.default_rng(1)
    lengths = np.concatenate([rng.integers(3, 200, 400), np.full(300, 60)])
    builder = WindowBuilder(200, 600, 101, 102)
    sentences = [rng.integers(5, 90, length).astype(np.int32) for length in lengths]
    windows = builder.build(TokenStream.join(sentences), np.arange(len(sentences) - 1))
    scorer = Adding()
    start_scoring(scorer, builder, 0, [windows], BatchBudget(8000), Profile())()
    assert sum(rows for rows, _ in scorer.shapes) == len(windows)
    position = 0
    falling = np.sort(windows.lengths)[::-1]
    for number, (rows, length) in enumerate(scorer.shapes):
        assert rows * length <= 8000
        inside = falling[position : position + rows]
        position += rows
        if rows * length > 1000:
            assert inside[-1] >= 0.8 * length
        elif number < len(scorer.shapes) - 1:
            assert (rows + 1) * length > 1000
    padding = 1 - falling.sum() / sum(rows * length for rows, length in scorer.shapes)
    assert padding < 0.1


def test_out_of_memory_halves_the_budget_and_goes_on(caplog: pytest.LogCaptureFixture) -> None:
    scorer = Adding(most_tokens=30)
    budget = BatchBudget(200)
    done: list[int] = []
    with caplog.at_level(logging.WARNING, "segmenter"):
        margins = start_scoring(scorer, BUILDER, 0, documents(), budget, Profile(), done.append)()
    for windows, margin in zip(documents(), margins, strict=True):
        np.testing.assert_allclose(margin, expected(windows), rtol=1e-5)
    assert sum(done) == sum(len(windows) for windows in documents())
    assert len(caplog.records) == 3
    # Batches of the longest windows, 11 tokens: 18, 9, 4 and 2 of them.
    assert budget.tokens == 22
    # What was learned holds for the next documents.
    caplog.clear()
    start_scoring(scorer, BUILDER, 0, documents(), budget, Profile())()
    assert not caplog.records


def test_out_of_memory_with_a_single_window_is_an_error() -> None:
    with pytest.raises(MemoryError):
        start_scoring(Adding(most_tokens=5), BUILDER, 0, documents(), BatchBudget(200), Profile())()


def test_nothing_to_score() -> None:
    assert start_scoring(Adding(), BUILDER, 0, [], BatchBudget(9), Profile())() == []
    (margins,) = start_scoring(Adding(), BUILDER, 0, [documents()[1]], BatchBudget(9), Profile())()
    assert margins.shape == (0,)


@pytest.mark.parametrize(
    ("error", "raised"),
    [
        (torch.OutOfMemoryError("CUDA out of memory"), MemoryError),
        (RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory"), MemoryError),
        (RuntimeError("MPS backend out of memory"), MemoryError),
        (RuntimeError("shapes differ"), RuntimeError),
    ],
)
def test_torch_scorer_tells_out_of_memory_from_other_errors(
    error: Exception, raised: type[Exception]
) -> None:
    class Failing(torch.nn.Module):
        def forward(self, **_: torch.Tensor) -> None:
            raise error

    scorer = TorchScorer(Failing(), "cpu")  # type: ignore[arg-type]
    with pytest.raises(raised) as caught:
        scorer.start(np.zeros((1, 2), np.int64), np.ones((1, 2), np.int64))
    assert type(caught.value) is raised


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
def test_logits_come_in_float32(dtype: torch.dtype) -> None:
    class Output:
        logits = torch.ones(1, 2, dtype=dtype)

    class Model(torch.nn.Module):
        def forward(self, **_: torch.Tensor) -> Output:
            return Output()

    assert (
        TorchScorer(Model(), "cpu").start(np.zeros((1, 2), np.int64), np.ones((1, 2), np.int64))().dtype
        == np.float32
    )  # type: ignore[arg-type]


def test_sigmoid_equals_a_softmax_over_both_logits() -> None:
    margins = np.array([-200, -30, -3, -0.1, 0, 0.1, 3, 30, 200], np.float32)
    softmax = torch.softmax(torch.stack([torch.zeros(9), torch.from_numpy(margins)], dim=1).double(), dim=1)[
        :, 1
    ]
    np.testing.assert_allclose(sigmoid(margins), softmax, atol=1e-7)
    # 0 is kept for gaps that were not scored.
    assert np.all(sigmoid(margins) > 0)


@pytest.mark.parametrize("kind", ["distilbert", "bert"])
@pytest.mark.parametrize("lengths", [(9, 9, 9), (9, 5, 3), (1,)])
def test_logits_are_those_of_the_model(kind: str, lengths: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    size = {"vocab_size": 40, "max_position_embeddings": 16}
    model: PreTrainedModel
    if kind == "distilbert":
        model = DistilBertForSequenceClassification(
            DistilBertConfig(dim=16, n_layers=3, n_heads=4, hidden_dim=32, activation="relu", **size)
        )
    else:
        model = BertForSequenceClassification(
            BertConfig(
                hidden_size=16, num_hidden_layers=3, num_attention_heads=4, intermediate_size=32, **size
            )
        )
    model.eval()
    mask = (np.arange(max(lengths)) < np.array(lengths)[:, None]).astype(np.int64)
    ids = np.random.default_rng(0).integers(1, 40, mask.shape) * mask
    with torch.inference_mode():
        expected = model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask)).logits
    np.testing.assert_allclose(TorchScorer(model, "cpu").start(ids, mask)(), expected, atol=1e-6)
