"""Loading without transformers: the same as with it, or left to it."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from segmenter import CheckpointError, Segmenter
from segmenter.checkpoint import Checkpoint
from segmenter.encoder import Logits
from segmenter.light import load_light
from segmenter.sources import shipped_model
from segmenter.tokenizing import SentenceTokenizer

from .conftest import ROOT

SENTENCES = [
    "Fog came over the harbour.",
    "Zażółć gęślą jaźń — 港口 [SEP] \u00a0 e\u0301",
    "",
    "1) U.S. in 2020!?",
]


@pytest.fixture(params=["tiny", "shipped"])
def folder(request: pytest.FixtureRequest, tiny_folder: Path) -> Path:
    return tiny_folder if request.param == "tiny" else shipped_model()


def test_it_is_the_same_as_with_transformers(folder: Path) -> None:
    light, whole = load_light(folder), Checkpoint.load(folder)
    assert light is not None
    for name in ("config", "max_positions", "cls_id", "sep_id", "pad_id", "unk_id", "mark_id", "folder"):
        assert getattr(light, name) == getattr(whole, name), name
    assert {name: tuple(w.shape) for name, w in light.model.state_dict().items()} == {
        name: tuple(w.shape) for name, w in whole.model.state_dict().items()
    }
    rng = np.random.default_rng(0)
    for lengths in ([9, 9], [30, 4, 17]):
        mask = torch.from_numpy((np.arange(max(lengths)) < np.array(lengths)[:, None]).astype(np.int64))
        ids = torch.from_numpy(rng.integers(5, whole.model.config.vocab_size, mask.shape)) * mask
        with torch.inference_mode():
            expected = whole.model(input_ids=ids, attention_mask=mask).logits
            torch.testing.assert_close(Logits(light.model)(ids, mask), expected)


def test_texts_become_the_same_tokens(folder: Path, examples: dict[str, str]) -> None:
    light = load_light(folder)
    assert light is not None
    texts = [*SENTENCES, *examples.values()]
    found, expected = (
        list(SentenceTokenizer(checkpoint.vocabulary).encode(texts))
        for checkpoint in (light, Checkpoint.load(folder))
    )
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def test_transformers_is_not_imported() -> None:
    text = ROOT / "examples" / "harbour.txt"
    code = (
        "import sys; from segmenter import Segmenter; "
        f"Segmenter.from_pretrained(device='cpu').segment(open({str(text)!r}).read()).chunks; "
        "print([name for name in ('transformers', 'datasets', 'scipy', 'accelerate') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def change(path: Path, **values: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **values}))


def rename_weight(folder: Path) -> None:
    path = folder / "model.safetensors"
    state = load_file(path)
    state["classifier.other"] = state.pop("classifier.bias")
    save_file(state, path, metadata={"format": "pt"})


@pytest.mark.parametrize(
    "spoil",
    [
        lambda folder: change(folder / "config.json", activation="silu"),
        lambda folder: change(folder / "config.json", architectures=["DistilBertModel"]),
        lambda folder: change(folder / "config.json", n_layers=5),
        lambda folder: (folder / "config.json").write_text("[]"),
        lambda folder: (folder / "segmenter.json").unlink(),
        lambda folder: (folder / "tokenizer_config.json").unlink(),
        lambda folder: (folder / "tokenizer.json").write_text("{}"),
        lambda folder: change(folder / "tokenizer_config.json", cls_token="[NONE]"),
        lambda folder: change(folder / "segmenter.json", paragraph_mark="[NONE]"),
        rename_weight,
    ],
)
def test_what_is_not_plain_is_left_to_transformers(
    tiny_folder: Path, tmp_path: Path, spoil: Callable[[Path], object]
) -> None:
    folder = Path(shutil.copytree(tiny_folder, tmp_path / "model"))
    spoil(folder)
    assert load_light(folder) is None


def test_a_damaged_file_is_told_either_way(tiny_folder: Path, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(tiny_folder, tmp_path / "model"))
    (folder / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(CheckpointError, match="damaged, cut short or unreadable"):
        Segmenter.from_pretrained(folder)
