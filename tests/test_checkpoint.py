"""Checkpoint folders: good ones of every kind, and bad ones with what to do about them."""

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
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertForSequenceClassification,
    BertTokenizer,
    DistilBertModel,
    RobertaConfig,
    RobertaForSequenceClassification,
)

from segmenter import CheckpointError, Segmenter
from segmenter.checkpoint import Checkpoint
from segmenter.sources import locate

LINES = ["The harbour is old.", "Fog is common.", "She left school.", "Wipe the wand at once."]


def test_the_published_layout_loads_with_the_articles_defaults(plain_folder: Path) -> None:
    names = {path.name for path in plain_folder.iterdir()}
    assert names == {"config.json", "model.safetensors", "vocab.txt", "tokenizer_config.json"}
    segmenter = Segmenter.from_pretrained(plain_folder, device="cpu")
    assert segmenter.config.context == "sentence"
    assert segmenter.config.threshold == 0.5
    assert segmenter.config.boundary_label == 1
    assert segmenter.config.paragraph_mark is None
    model = AutoModelForSequenceClassification.from_pretrained(plain_folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(plain_folder)
    for index, probability in enumerate(segmenter.predict(LINES)):
        inputs = tokenizer(f"{LINES[index]} [SEP] {LINES[index + 1]}", return_tensors="pt")
        with torch.no_grad():
            logits = model(input_ids=inputs.input_ids, attention_mask=inputs.attention_mask).logits
        assert probability == pytest.approx(logits.softmax(-1)[0, 1].item(), abs=1e-4)


def test_vocab_txt_alone_is_enough_of_a_tokenizer(plain_folder: Path, tmp_path: Path) -> None:
    folder = copy(plain_folder, tmp_path)
    (folder / "tokenizer_config.json").unlink()
    expected = Segmenter.from_pretrained(plain_folder, device="cpu").predict(LINES)
    np.testing.assert_allclose(Segmenter.from_pretrained(folder, device="cpu").predict(LINES), expected)


def test_label_names_decide_which_label_is_the_boundary(plain_folder: Path, tmp_path: Path) -> None:
    folder = copy(plain_folder, tmp_path)
    edit_json(
        folder / "config.json", id2label={"0": "DIFFERENT", "1": "SAME"}, label2id={"DIFFERENT": 0, "SAME": 1}
    )
    expected = Segmenter.from_pretrained(plain_folder, device="cpu").predict(LINES)
    np.testing.assert_allclose(
        Segmenter.from_pretrained(folder, device="cpu").predict(LINES), 1 - expected, atol=1e-6
    )


@pytest.mark.parametrize(
    ("names", "flipped"),
    [({"0": "NEW", "1": "SAME"}, True), ({"0": "SAME", "1": "NEW"}, False), ({"0": "A", "1": "B"}, False)],
)
def test_the_label_that_is_not_same_is_the_boundary(
    plain_folder: Path, tmp_path: Path, names: dict[str, str], flipped: bool
) -> None:
    folder = copy(plain_folder, tmp_path)
    edit_json(folder / "config.json", id2label=names, label2id={name: int(n) for n, name in names.items()})
    assert Segmenter.from_pretrained(folder, device="cpu").config.boundary_label == (0 if flipped else 1)


def test_code_in_a_folder_is_never_run(tiny_folder: Path, tmp_path: Path) -> None:
    folder = copy(tiny_folder, tmp_path)
    (folder / "trap.py").write_text(f"open({str(tmp_path / 'sprung')!r}, 'w')\nclass TrapConfig: pass\n")
    edit_json(folder / "config.json", model_type="trap", auto_map={"AutoConfig": "trap.TrapConfig"})
    done = subprocess.run(
        [sys.executable, "-m", "segmenter", "info", "--model", str(folder)],
        input=b"y\n" * 9,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 2
    assert not (tmp_path / "sprung").exists()


def test_the_written_tokenizer_has_no_leftovers(tiny_folder: Path) -> None:
    settings = json.loads((tiny_folder / "tokenizer_config.json").read_text())
    assert settings["model_input_names"] == ["input_ids", "attention_mask"]
    assert not {"is_local", "local_files_only", "name_or_path", "max_length"} & settings.keys()
    stored = json.loads((tiny_folder / "tokenizer.json").read_text())
    assert stored["padding"] is stored["truncation"] is None
    assert set(AutoTokenizer.from_pretrained(tiny_folder)("the harbour")) == {"input_ids", "attention_mask"}


def test_weights_are_float16_on_disk_and_float32_in_memory(tiny_folder: Path) -> None:
    assert {tensor.dtype for tensor in load_file(tiny_folder / "model.safetensors").values()} == {
        torch.float16
    }
    assert json.loads((tiny_folder / "config.json").read_text())["dtype"] == "float32"
    assert AutoModelForSequenceClassification.from_pretrained(tiny_folder).dtype == torch.float32
    assert Checkpoint.load(tiny_folder).model.dtype == torch.float32


def bert(tokenizer: BertTokenizer) -> torch.nn.Module:
    torch.manual_seed(0)
    return BertForSequenceClassification(
        BertConfig(
            vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
            intermediate_size=64, max_position_embeddings=64,
        )
    )  # fmt: skip


def roberta(tokenizer: BertTokenizer) -> torch.nn.Module:
    torch.manual_seed(0)
    return RobertaForSequenceClassification(
        RobertaConfig(
            vocab_size=len(tokenizer), hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
            intermediate_size=64, max_position_embeddings=66, pad_token_id=1,
        )
    )  # fmt: skip


@pytest.mark.parametrize("build", [bert, roberta])
def test_other_encoders_load_the_same_way(
    build: Callable[[BertTokenizer], torch.nn.Module], tokenizer: BertTokenizer, tmp_path: Path
) -> None:
    model = build(tokenizer)
    model.save_pretrained(tmp_path)  # type: ignore[operator]
    tokenizer.save_pretrained(tmp_path)
    edit_json(tmp_path / "tokenizer_config.json", model_max_length=10**30)
    segmenter = Segmenter.from_pretrained(tmp_path, device="cpu")
    assert Checkpoint.load(tmp_path).max_positions == 64
    assert segmenter.predict(LINES).shape == (3,)
    # The longest window there is: 64 tokens.
    assert segmenter.predict(["harbour " * 99, "fog " * 99]).shape == (1,)


def copy(source: Path, target: Path) -> Path:
    return Path(shutil.copytree(source, target / "copy"))


def edit_json(path: Path, **changes: object) -> None:
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def truncate(path: Path, share: float) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: int(len(data) * share)])


def only_pickle(folder: Path) -> None:
    torch.save(load_file(folder / "model.safetensors"), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()


def bare_encoder(folder: Path) -> None:
    model = DistilBertModel.from_pretrained(folder)
    model.save_pretrained(folder)


def three_labels(folder: Path) -> None:
    edit_json(
        folder / "config.json", id2label={"0": "A", "1": "B", "2": "C"}, label2id={"A": 0, "B": 1, "C": 2}
    )


def wrong_shape(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    weights["classifier.weight"] = torch.zeros(2, 5)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})


def no_tokenizer(folder: Path) -> None:
    for path in (*folder.glob("tokenizer*"), *folder.glob("vocab*")):
        path.unlink()


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "no config": (lambda f: (f / "config.json").unlink(), "has no config.json, expected a checkpoint folder"),
    "no weights": (lambda f: (f / "model.safetensors").unlink(), "has no model.safetensors"),
    "empty config": (lambda f: (f / "config.json").write_text(""), r"cannot read .*config\.json"),
    "cut config": (lambda f: truncate(f / "config.json", 0.5), r"cannot read .*config\.json"),
    "unknown architecture": (
        lambda f: edit_json(f / "config.json", model_type="warp"),
        r"cannot read .*config\.json",
    ),
    "half the weights": (lambda f: truncate(f / "model.safetensors", 0.5), "damaged, cut short.*again"),
    "a tenth of a percent": (
        lambda f: truncate(f / "model.safetensors", 0.999),
        "damaged, cut short.*again",
    ),
    "no weights in the file": (lambda f: truncate(f / "model.safetensors", 0), "damaged, cut short.*again"),
    "pickle only": (only_pickle, "only as pytorch_model.bin, a pickle.*convert"),
    "bare encoder": (bare_encoder, "lack classifier.*not a bare encoder; train it first"),
    "three labels": (three_labels, "has 3 labels, expected 2"),
    "wrong shape": (wrong_shape, "cannot load the model"),
    "a size in words": (lambda f: edit_json(f / "config.json", dim="x"), r"cannot read .*config\.json"),
    "a vocabulary too large": (lambda f: edit_json(f / "config.json", vocab_size=9), "cannot load the model"),
    "a mark that is a number": (
        lambda f: edit_json(f / "segmenter.json", paragraph_mark=5),
        "paragraph_mark=5",
    ),
    "metrics that are a list": (lambda f: edit_json(f / "segmenter.json", metrics=[1]), r"metrics=\[1\]"),
    "no tokenizer": (no_tokenizer, "has no tokenizer, expected tokenizer.json or vocab.txt"),
    "cut tokenizer": (lambda f: truncate(f / "tokenizer.json", 0.5), "cannot load the tokenizer"),
    "cut settings": (lambda f: truncate(f / "segmenter.json", 0.5), r"segmenter\.json: expected JSON"),
    "settings that are a list": (lambda f: (f / "segmenter.json").write_text("[]"), "got a JSON list"),
    "unknown setting": (
        lambda f: edit_json(f / "segmenter.json", contxt=3),
        r"unknown settings \['contxt'\]",
    ),
    "a later format": (
        lambda f: edit_json(f / "segmenter.json", format_version=2),
        "format_version=2.*upgrade",
    ),
    "bad threshold": (lambda f: edit_json(f / "segmenter.json", threshold=7), "threshold=7"),
    "bad paragraph threshold": (
        lambda f: edit_json(f / "segmenter.json", paragraph_threshold=-1),
        "threshold=-1",
    ),
    "a threshold in words": (lambda f: edit_json(f / "segmenter.json", threshold="high"), "threshold='high'"),
    "a mark it has not": (lambda f: edit_json(f / "segmenter.json", paragraph_mark="[P]"), r"mark '\[P\]'"),
}


@pytest.mark.parametrize(("damage", "message"), BROKEN.values(), ids=BROKEN)
def test_broken_folders_say_what_to_do(
    tiny_folder: Path, tmp_path: Path, damage: Callable[[Path], object], message: str
) -> None:
    folder = copy(tiny_folder, tmp_path)
    damage(folder)
    with pytest.raises(CheckpointError, match=message):
        Segmenter.from_pretrained(folder)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("./nowhere", "no such folder"),
        ("/nowhere/at/all", "no such folder"),
        ("~/no-such-model", "no such folder"),
    ],
)
def test_a_path_that_is_not_there(source: str, message: str) -> None:
    with pytest.raises(CheckpointError, match=message):
        locate(source)


def test_a_file_is_not_a_folder(tmp_path: Path) -> None:
    (tmp_path / "model").touch()
    with pytest.raises(CheckpointError, match="expected a checkpoint folder"):
        locate(tmp_path / "model")


def test_a_hub_name_that_is_not_cached_is_told_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(CheckpointError, match="no folder here and could not be had from the hub"):
        Segmenter.from_pretrained("nobody/no-such-model", revision="main")


def test_a_cached_hub_name_loads_offline(
    tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = "0123456789abcdef0123456789abcdef01234567"
    cached = tmp_path / "models--somebody--their-model"
    shutil.copytree(tiny_folder, cached / "snapshots" / commit)
    (cached / "refs").mkdir()
    (cached / "refs" / "v1").write_text(commit)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    segmenter = Segmenter.from_pretrained("somebody/their-model", revision="v1", device="cpu")
    expected = Segmenter.from_pretrained(tiny_folder, device="cpu").predict(LINES)
    np.testing.assert_allclose(segmenter.predict(LINES), expected)
