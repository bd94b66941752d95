"""The shipped model on the examples: a change of versions that changes answers is seen.

``python -m tests.test_golden`` writes the file anew.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from segmenter import Segmentation, Segmenter
from segmenter.sources import shipped_model

from .conftest import EXAMPLES, ROOT

GOLDEN = Path(__file__).parent / "golden.json"
SENTENCES = {"career.txt": "lines"}


def segment(name: str) -> Segmentation:
    segmenter = Segmenter.from_pretrained(device="cpu", sentences=SENTENCES.get(name, "auto"))  # type: ignore[arg-type]
    return segmenter.segment((ROOT / "examples" / name).read_text(encoding="utf-8"))


def summary(result: Segmentation) -> dict[str, object]:
    return {
        "boundaries": list(result.boundaries),
        "starts": [chunk.start for chunk in result.chunks],
        "token_counts": [chunk.token_count for chunk in result.chunks],
        "probabilities": [round(float(p), 4) for p in result.probabilities],
    }


@pytest.mark.parametrize("name", [path.name for path in EXAMPLES])
def test_the_shipped_model_answers_as_it_did(name: str) -> None:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))[name]
    found = summary(segment(name))
    np.testing.assert_allclose(found.pop("probabilities"), golden.pop("probabilities"), atol=2e-3)
    assert found == golden


def test_the_shipped_model_is_small_and_documented() -> None:
    folder = shipped_model()
    assert (folder / "model.safetensors").stat().st_size <= 46_000_000
    assert {str(tensor.dtype) for tensor in load_file(folder / "model.safetensors").values()} == {"float16"}
    assert "## How it was trained" in (folder / "README.md").read_text(encoding="utf-8")
    figures = (ROOT / "models" / "README.md").read_text(encoding="utf-8")
    sets = (
        "enwiki/dev",
        "techdocs/dev",
        "dccode/dev",
        "openstax/dev",
        "qmsum/dev",
        "wiki300/test",
        "choi/test",
    )
    for name in sets:
        assert f"| {name} | flat |" in figures
    config = Segmenter.from_pretrained(device="cpu").config
    assert config.paragraph_mark == "[unused1]"
    assert config.metrics


def test_the_shipped_model_prefers_a_change_of_topic() -> None:
    segmenter = Segmenter.from_pretrained(device="cpu")
    ships = "Ships reach the port through a narrow channel."
    same = segmenter.predict([ships, "Pilots steer them past the rocks at its mouth."])
    different = segmenter.predict([ships, "Born in 1958, she studied physics at the university of Graz."])
    assert different[0] > 2 * same[0]


if __name__ == "__main__":
    answers = {path.name: summary(segment(path.name)) for path in EXAMPLES}
    GOLDEN.write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")
