"""What only a GPU can show; ``scripts/gpu_check.sh`` runs these."""

from pathlib import Path

import numpy as np
import pyarrow.parquet
import pytest
import torch

from segmenter import Segmenter
from segmenter.config import Context
from segmenter.corpus import CorpusConfig, run

from .conftest import ROOT

pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(not torch.cuda.is_available(), reason="torch sees no GPU"),
]
TEXTS = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples").glob("*.*"))] * 5


def probabilities(device: str, dtype: str, context: Context | None = None, **settings: int) -> np.ndarray:
    segmenter = Segmenter.from_pretrained(
        device=device,
        dtype=dtype,  # type: ignore[arg-type]
        candidates="all",
        context=context,
        **settings,
    )
    return np.concatenate([result.probabilities for result in segmenter.segment_many(TEXTS)])


@pytest.mark.parametrize("context", ["sentence", 64])
def test_float32_is_that_of_the_cpu(context: Context) -> None:
    found = probabilities("cuda", "float32", context)
    np.testing.assert_allclose(found, probabilities("cpu", "float32", context), atol=1e-3)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "auto"])
def test_half_precision_gives_the_same_labels(dtype: str) -> None:
    threshold = Segmenter.from_pretrained(device="cpu").config.threshold
    found, expected = probabilities("cuda", dtype) > threshold, probabilities("cpu", "float32") > threshold
    assert np.mean(found == expected) >= 0.995


def test_the_size_of_batches_does_not_matter() -> None:
    small = probabilities("cuda", "float32", batch_tokens=512)
    np.testing.assert_allclose(small, probabilities("cuda", "float32"), atol=1e-4)


def test_out_of_memory_is_survived() -> None:
    expected = probabilities("cuda", "float32")
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_allocated() + 400e6) / total)
    try:
        found = probabilities("cuda", "float32", batch_tokens=10**7)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    np.testing.assert_allclose(found, expected, atol=1e-4)


def test_a_corpus_run_feeds_the_gpu_from_spawned_workers(tmp_path: Path) -> None:
    # CUDA is initialised in this process by now, which a forked one could not survive.
    segmenter = Segmenter.from_pretrained(device="cuda", dtype="float32")
    assert torch.cuda.is_initialized()
    (tmp_path / "in").mkdir()
    for number, text in enumerate(TEXTS):
        (tmp_path / "in" / f"{number:02d}.txt").write_text(text, encoding="utf-8")
    report = run([tmp_path / "in"], tmp_path / "out", segmenter, CorpusConfig(shard_size=4, workers=2))
    assert (report.documents, report.bad_documents, report.is_complete) == (len(TEXTS), 0, True)
    rows = [
        row
        for path in sorted((tmp_path / "out" / "data").iterdir())
        for row in pyarrow.parquet.read_table(path).to_pylist()
    ]
    expected = [chunk for result in segmenter.segment_many(TEXTS) for chunk in result.chunks]
    assert [row["text"] for row in rows] == [chunk.text for chunk in expected]
    for row, chunk in zip(rows, expected, strict=True):
        assert row["probability"] == pytest.approx(chunk.probability, abs=1e-4)
