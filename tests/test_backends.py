"""What runs a model, and how it is chosen."""

import json
import shutil
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from segmenter import CheckpointError, ConfigError, InputError, MissingPackageError, Segmenter
from segmenter.backends import choice, choose, load_scorer, measured
from segmenter.backends.choice import Backend, Choice, Dtype
from segmenter.backends.measured import LEAST_GAPS, MEASURED_FILE, ONNX_FILES, Measured, write_measured
from segmenter.checkpoint import Checkpoint
from segmenter.cli import app
from segmenter.export import export

from .conftest import ROOT

TEXTS = [(ROOT / "examples" / name).read_text(encoding="utf-8") for name in ("career.txt", "harbour.txt")]
UNITS = {"cpu_name": "test", "avx512_bf16": True}


@pytest.fixture(scope="module")
def exported(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported") / "model"
    export(Checkpoint.load(tiny_folder), TEXTS, folder)
    return folder


@pytest.fixture
def folder(exported: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(exported, tmp_path / "model"))


def row(backend: str, dtype: str, speedup: float, equal: float = 1.0, gaps: int = LEAST_GAPS) -> Measured:
    return Measured(
        backend=backend, dtype=dtype, gaps=gaps, labels_equal=equal, largest_difference=0, speedup=speedup
    )


def chosen(folder: Path, backend: Backend = "auto", dtype: Dtype = "auto") -> tuple[str, str]:
    found = choose(backend, dtype, "cpu", folder)
    return found.backend, found.dtype


@pytest.mark.parametrize(
    ("backend", "dtype", "tolerance"),
    [
        ("torch", "float32", 1e-5),
        ("torch", "bfloat16", 0.05),
        ("torch", "float16", 0.01),
        ("onnx", "float32", 1e-5),
        ("onnx", "int8", 0.2),
        ("openvino", "float32", 1e-5),
    ],
)
def test_every_backend_gives_the_same_logits(
    exported: Path, backend: Backend, dtype: Dtype, tolerance: float
) -> None:
    checkpoint = Checkpoint.load(exported)
    scorer = load_scorer(checkpoint, choose(backend, dtype, "cpu", exported))
    assert scorer.batch_tokens > 0
    rng = np.random.default_rng(0)
    for lengths in ([12, 12, 12], [12, 7, 3], [3], [30, 4]):
        mask = (np.arange(max(lengths)) < np.array(lengths)[:, None]).astype(np.int64)
        ids = rng.integers(5, checkpoint.model.config.vocab_size, mask.shape) * mask
        with torch.inference_mode():
            output = checkpoint.model(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask))
        found = scorer.start(ids, mask)()
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, output.logits, atol=tolerance, rtol=tolerance)


def test_openvino_needs_no_export(tiny_folder: Path, exported: Path) -> None:
    found = Segmenter.from_pretrained(tiny_folder, backend="openvino", dtype="float32").segment(TEXTS[0])
    expected = Segmenter.from_pretrained(tiny_folder, dtype="float32", backend="torch").segment(TEXTS[0])
    np.testing.assert_allclose(found.probabilities, expected.probabilities, atol=1e-5)


def test_another_precision_leaves_the_checkpoint_as_exact_as_it_was(
    tiny_folder: Path, tmp_path: Path
) -> None:
    Segmenter.from_pretrained(tiny_folder, dtype="bfloat16", backend="torch").save_pretrained(tmp_path / "m")
    one, other = (Checkpoint.load(path).model.state_dict() for path in (tiny_folder, tmp_path / "m"))
    assert all(torch.equal(one[name], other[name]) for name in one)


def test_an_export_is_a_whole_checkpoint_with_measured_backends(tiny_folder: Path, exported: Path) -> None:
    names = {path.relative_to(exported).as_posix() for path in exported.rglob("*") if path.is_file()}
    assert {*ONNX_FILES.values(), MEASURED_FILE, "config.json", "model.safetensors"} <= names
    assert not any("partial" in name for name in names)
    rows = [Measured(**row) for row in json.loads((exported / MEASURED_FILE).read_text())["measured"]]
    found = {(row.backend, row.dtype): row for row in rows}
    assert {("torch", "float32"), ("onnx", "float32"), ("onnx", "int8"), ("openvino", "float32")} <= set(
        found
    )
    n_gaps = sum(
        len(result.probabilities) for result in Segmenter.from_pretrained(tiny_folder).segment_many(TEXTS)
    )
    for one in rows:
        assert one.gaps == n_gaps
        assert one.speedup > 0
        if one.dtype == "float32":
            assert one.labels_equal == 1
            assert one.largest_difference < 1e-5


def test_the_head_stays_in_float(exported: Path) -> None:
    onnx = pytest.importorskip("onnx")
    graph = onnx.load(exported / ONNX_FILES["int8"]).graph
    weights = [tensor for tensor in graph.initializer if len(tensor.dims) == 2]
    kinds = {tensor.name: tensor.data_type for tensor in weights}
    head = {name: kind for name, kind in kinds.items() if "classifier" in name}
    assert len(head) == 2
    assert set(head.values()) == {onnx.TensorProto.FLOAT}
    # All six products of the one layer there is are not.
    assert sum(kind == onnx.TensorProto.INT8 for kind in kinds.values()) >= 6


# The choice.


def test_without_an_export_it_is_what_the_cpu_has_units_for(
    tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "capabilities", dict)
    assert chosen(tiny_folder) == ("torch", "float32")
    assert chosen(tiny_folder, "openvino") == ("openvino", "float32")
    monkeypatch.setattr(choice, "capabilities", lambda: UNITS)
    assert chosen(tiny_folder) == ("torch", "float32")  # As conftest.py limits it.
    monkeypatch.delenv("ONEDNN_MAX_CPU_ISA")
    assert chosen(tiny_folder) == ("openvino", "bfloat16")
    assert chosen(tiny_folder, "torch") == ("torch", "bfloat16")
    assert chosen(tiny_folder, dtype="float32") == ("torch", "float32")
    monkeypatch.setattr(choice, "is_installed", lambda module: False)
    assert chosen(tiny_folder) == ("torch", "bfloat16")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([row("torch", "float32", 1), row("onnx", "int8", 2)], ("onnx", "int8")),
        ([row("torch", "float32", 1), row("onnx", "int8", 2, 0.99)], ("torch", "float32")),
        ([row("torch", "float32", 1), row("onnx", "int8", 2, gaps=40)], ("torch", "float32")),
        ([row("torch", "float32", 1), row("onnx", "float32", 1.5, gaps=40)], ("onnx", "float32")),
        ([row("torch", "float32", 1), row("onnx", "float32", 1.05)], ("torch", "float32")),
        ([row("onnx", "int8", 2, 0.9)], ("torch", "float32")),
    ],
)
def test_the_fastest_that_is_as_right_is_taken(
    folder: Path, rows: list[Measured], expected: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "capabilities", dict)
    write_measured(folder, rows)
    assert chosen(folder) == expected
    assert chosen(folder, "onnx", "int8") == ("onnx", "int8")
    # What was measured on another machine says nothing here.
    monkeypatch.setattr(measured, "capabilities", lambda: {"cpu_name": "another"})
    assert chosen(folder) == ("torch", "float32")


def test_files_of_other_weights_are_not_used(folder: Path, tiny_folder: Path) -> None:
    checkpoint = Checkpoint.load(folder)
    torch.nn.init.normal_(checkpoint.model.classifier.weight)
    Segmenter(checkpoint, load_scorer(checkpoint, Choice("torch", "float32", "cpu", ""))).save_pretrained(
        folder
    )
    with pytest.raises(
        CheckpointError, match=r"no onnx/model\.onnx, or one of other weights; run `segmenter"
    ):
        chosen(folder, "onnx")
    assert chosen(folder, "torch", "float32") == ("torch", "float32")
    found = Segmenter.from_pretrained(folder, backend="openvino", dtype="float32").segment(TEXTS[0])
    expected = Segmenter.from_pretrained(folder, backend="torch", dtype="float32").segment(TEXTS[0])
    np.testing.assert_allclose(found.probabilities, expected.probabilities, atol=1e-5)


@pytest.mark.parametrize(
    ("backend", "dtype", "message"),
    [
        ("tensorflow", "auto", "got backend='tensorflow', expected one of auto, torch, onnx, openvino"),
        ("auto", "float64", "got dtype='float64', expected one of auto, float32"),
        ("torch", "int8", "got dtype='int8' with backend='torch', expected bfloat16, float16, float32"),
        ("openvino", "bfloat16", "got dtype='bfloat16', for which this CPU has no units"),
    ],
)
def test_what_does_not_go_is_refused(
    tiny_folder: Path, backend: Backend, dtype: Dtype, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choice, "capabilities", dict)
    with pytest.raises(ConfigError, match=message):
        choose(backend, dtype, "cpu", tiny_folder)


def test_a_backend_that_was_not_exported(tiny_folder: Path) -> None:
    for dtype, file in (("float32", "onnx/model.onnx"), ("int8", "onnx/model_int8.onnx")):
        with pytest.raises(CheckpointError, match=f"no {file}.*run `segmenter export` first"):
            choose("onnx", dtype, "cpu", tiny_folder)  # type: ignore[arg-type]


@pytest.mark.parametrize(("backend", "module"), [("onnx", "onnxruntime"), ("openvino", "openvino")])
def test_a_missing_package_is_one_clear_import_error(
    tiny_folder: Path, backend: Backend, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(__import__("sys").modules, module, None)
    monkeypatch.setattr(choice, "is_installed", lambda name: name != module)
    message = rf"needs {module}, which is not installed: pip install 'cross-segmenter\[{backend}\]'"
    with pytest.raises(ImportError, match=message) as caught:
        Segmenter.from_pretrained(tiny_folder, backend=backend)
    assert isinstance(caught.value, MissingPackageError)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"weights": 3', '{"measured": [{"backend": "torch"}]}'])
def test_damaged_measurements_are_told(folder: Path, content: str) -> None:
    if content.startswith('{"measured'):
        good = json.loads((folder / MEASURED_FILE).read_text())
        content = json.dumps({**good, **json.loads(content)})
    (folder / MEASURED_FILE).write_text(content)
    with pytest.raises(CheckpointError, match=r"backends\.json cannot be read .* delete it"):
        chosen(folder)


def test_texts_without_a_gap_are_refused(tiny_folder: Path) -> None:
    for texts in ([], ["One."], [""]):
        with pytest.raises(InputError, match="texts without a gap"):
            export(Checkpoint.load(tiny_folder), texts)


def test_export_and_info_as_commands(tiny_folder: Path, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text(TEXTS[0], encoding="utf-8")
    output = tmp_path / "out"
    command = ["export", str(text), "--model", str(tiny_folder), "--output", str(output)]
    done = CliRunner().invoke(app, command, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    assert "onnx      int8" in done.stdout
    assert f"wrote {output}; auto is " in done.stdout
    assert "auto needs 99.5% of 400 gaps or more" in done.stdout
    info = CliRunner().invoke(app, ["info", "--model", str(output)]).stdout
    assert "runs with" in info
    options = ["--model", str(output), "--backend", "onnx", "--dtype", "float32", "--format", "jsonl"]
    cut = CliRunner().invoke(app, ["segment", str(text), *options]).stdout
    usual = CliRunner().invoke(app, ["segment", str(text), *options[:2], "--dtype", "float32", *options[-2:]])
    ends = [[json.loads(line)["end"] for line in out.splitlines()] for out in (cut, usual.stdout)]
    assert ends[0] == ends[1]


def test_no_model_is_overwritten(tiny_folder: Path, folder: Path, tmp_path: Path) -> None:
    before = (folder / "model.safetensors").read_bytes()
    with pytest.raises(CheckpointError, match="holds a model already, expected a new folder"):
        export(Checkpoint.load(tiny_folder), TEXTS, folder)
    assert (folder / "model.safetensors").read_bytes() == before
    done = CliRunner().invoke(app, ["export", str(ROOT / "examples" / "harbour.txt")])
    assert done.exit_code == 2
    assert "the shipped model, and one of the hub, stay as they are" in done.stderr


def test_rows_are_plain_data() -> None:
    assert replace(row("torch", "float32", 1), speedup=2.0).speedup == 2
    assert set(asdict(row("torch", "float32", 1))) == set(Measured.__dataclass_fields__)
