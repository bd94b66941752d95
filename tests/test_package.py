"""The package as its users meet it."""

import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest
from packaging.requirements import Requirement

import segmenter

from .conftest import ROOT

CLEAN = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}


def python(code: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True, text=True, check=False, timeout=300, env=CLEAN, **options,
    )  # fmt: skip


def test_import_loads_neither_torch_nor_transformers() -> None:
    heavy = ("torch", "transformers", "numpy", "datasets")
    code = f"import sys, segmenter; print([name for name in {heavy} if name in sys.modules])"
    assert python(code).stdout == "[]\n"


def test_plain_values_load_without_torch() -> None:
    code = "import sys; from segmenter import ChunkConfig, Chunk, Segmentation; print('torch' in sys.modules)"
    assert python(code).stdout == "False\n"


@pytest.mark.parametrize("name", segmenter.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    found = getattr(segmenter, name)
    assert found.__name__ == name
    assert found.__doc__
    assert name in dir(segmenter)


def test_public_names_are_few_and_others_are_told() -> None:
    assert len(segmenter.__all__) <= 15
    assert segmenter.__all__ == sorted(segmenter.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'Segmentor'"):
        _ = segmenter.Segmentor


def blocks() -> list[str]:
    return re.findall(
        r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.DOTALL
    )


@pytest.mark.parametrize("number", range(len(blocks())))
def test_readme_code_runs(number: int) -> None:
    done = python(blocks()[number], cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_wheel_carries_the_model_and_runs_anywhere(tmp_path: Path) -> None:
    subprocess.run(
        [
            sys.executable,
            "-m",
            "pip",
            "wheel",
            "-q",
            "--no-deps",
            "--no-build-isolation",
            "-w",
            tmp_path,
            ROOT,
        ],
        check=True,
        env=CLEAN,
    )
    (wheel,) = tmp_path.glob("cross_segmenter-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    sample = tmp_path / "sample.txt"
    sample.write_text("The harbour is old. Fog is common.\n\nShe left school in 1976.", encoding="utf-8")
    environment = {**CLEAN, "PYTHONPATH": str(tmp_path / "site"), "HF_HUB_OFFLINE": "1"}
    for arguments, expected in (
        (["info"], str(tmp_path / "site" / "segmenter" / "shipped")),
        (["segment", "sample.txt"], "The harbour is old. Fog is common."),
        (["view", "sample.txt", "-o", "out.html"], "wrote out.html"),
    ):
        done = subprocess.run(
            [sys.executable, "-m", "segmenter", *arguments],
            cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300, env=environment,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert expected in done.stdout


def test_constraints_pin_what_pyproject_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    for text in (*project["project"]["dependencies"], *project["dependency-groups"]["dev"]):
        requirement = Requirement(text)
        assert requirement.specifier.contains(pins[requirement.name]), text
