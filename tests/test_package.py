"""The package as its users meet it."""

import json
import os
import subprocess
import sys
import tarfile
import tomllib
import venv
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

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


def needed_by(requirements: Iterable[str]) -> dict[str, metadata.Distribution]:
    """Packages that some packages need here, by name, without extras that nobody asked for."""
    found: dict[str, metadata.Distribution] = {}
    seen: set[tuple[str, str]] = set()
    left = [(Requirement(text), "") for text in requirements]
    while left:
        requirement, extra = left.pop()
        name = canonicalize_name(requirement.name)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": extra}):
            continue
        for wanted in {"", *requirement.extras} - {known for other, known in seen if other == name}:
            seen.add((name, wanted))
            found[name] = metadata.distribution(name)
            left += [(Requirement(text), wanted) for text in found[name].requires or ()]
    return found


def clean_environment(folder: Path, needed: Iterable[metadata.Distribution]) -> Path:
    """An environment that sees those packages, linked from this one, and nothing else.

    :return: Its ``bin``.
    """
    venv.create(folder, symlinks=True)
    (site,) = (folder / "lib").glob("python3.*/site-packages")
    for distribution in needed:
        for name in {file.parts[0] for file in distribution.files or () if file.parts[0] != ".."}:
            if not (site / name).exists():
                (site / name).symlink_to(Path(str(distribution.locate_file(name))))
    return folder / "bin"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist."""
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", folder], cwd=ROOT, check=True, env=CLEAN
    )
    return folder


@pytest.mark.parametrize("pattern", ["cross_segmenter-*.whl", "cross_segmenter-*.tar.gz"])
def test_what_is_built_runs_in_a_clean_environment(pattern: str, built: Path, tmp_path: Path) -> None:
    """With the packages that ``pyproject.toml`` names and no others, so that none is missing there."""
    (package,) = built.glob(pattern)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    needed = needed_by([*project["project"]["dependencies"], *project["build-system"]["requires"]])
    commands = clean_environment(tmp_path / "venv", needed.values())
    pip = [sys.executable, "-m", "pip", "--python", commands / "python", "install", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--no-build-isolation", package], check=True, env=CLEAN, cwd=tmp_path)

    def run(*words: str) -> str:
        done = subprocess.run(
            [commands / words[0], *words[1:]],
            cwd=tmp_path, capture_output=True, text=True, check=False, timeout=300,
            env={**CLEAN, "HF_HUB_OFFLINE": "1", "PYTHONNOUSERSITE": "1"},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    sample = "The harbour is old. Fog is common.\n\nBeans taste best when they are fresh."
    (tmp_path / "sample.txt").write_text(sample, encoding="utf-8")
    (tmp_path / "handbook").mkdir()
    for number in range(12):
        page = f"## Fog\n\nIt is common on day {number}. It is grey.\n\n## Beans\n\nThey are fresh.\n"
        (tmp_path / "handbook" / f"{number}.md").write_text(page, encoding="utf-8")
    assert str(tmp_path / "venv") in run("python", "-c", "import segmenter; print(segmenter.__file__)")
    assert str(Path("segmenter", "shipped", "minilm-l6")) in run("segmenter", "info")
    rows = [
        json.loads(line)
        for line in run("segmenter", "segment", "sample.txt", "--format", "jsonl").splitlines()
    ]
    assert "".join(row["text"] for row in rows) == sample
    assert len(rows) == 2
    assert "wrote out.html" in run("segmenter", "view", "sample.txt", "-o", "out.html")
    assert "1 documents" in run("segmenter", "corpus", "sample.txt", "--output", "chunks", "--quiet")
    short = ("--max-steps", "1", "--batch-tokens", "256")
    assert "wrote mine" in run("segmenter", "train", "--train", "handbook", "--output", "mine", *short)
    assert "fine-tuned" in (tmp_path / "mine" / "README.md").read_text(encoding="utf-8")


def test_the_sdist_has_what_the_tests_and_the_pages_need(built: Path) -> None:
    (package,) = built.glob("*.tar.gz")
    with tarfile.open(package) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    kept = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {name for name in kept.stdout.split() if not name.startswith(".")} <= names


def test_constraints_pin_what_pyproject_asks_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    for text in (*project["project"]["dependencies"], *project["dependency-groups"]["dev"]):
        requirement = Requirement(text)
        assert requirement.specifier.contains(pins[requirement.name]), text
