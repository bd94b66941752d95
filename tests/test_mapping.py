"""A Segmenter in other processes, and its function for ``datasets``."""

import json
import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pytest
from datasets import Dataset
from datasets.fingerprint import Hasher

from segmenter import CheckpointError, Chunk, ChunkConfig, ConfigError, Document, InputError, Segmenter
from segmenter.backends import TorchScorer
from segmenter.light import load_light

from .conftest import ROOT
from .cutting import byte_level_bpe

TEXTS = ["The harbour is old. Fog is common. She left school.", None, "", "Beans are ground.\n\nFog."]


@pytest.fixture(autouse=True)
def _no_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")


def dataset(folder: Path) -> Dataset:
    path = folder / "rows.jsonl"
    rows = [{"id": f"d{number}", "text": text, "year": number} for number, text in enumerate(TEXTS)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return datasets.load_dataset("json", data_files=str(path), split="train", cache_dir=str(folder / "cache"))


def chance(chunk: Chunk) -> object:
    return pytest.approx(np.nan if chunk.probability is None else chunk.probability, abs=1e-4, nan_ok=True)


def chunks_of(tiny: Segmenter, number: int, **settings: Any) -> list[dict[str, Any]]:
    document = Document(text=TEXTS[number] or "", id=f"d{number}", title=f"Year {number}")
    return [
        {**chunk.row(), "probability": chance(chunk), "title": "", "page": chunk.page or 0}
        for chunk in tiny.segment(document, **settings).chunks
    ]


def lists_of(tiny: Segmenter, **settings: Any) -> list[list[dict[str, Any]] | None]:
    rows = [chunks_of(tiny, number, **settings) for number in range(len(TEXTS))]
    without = [[{name: row[name] for name in row if name != "doc_id"} for row in found] for found in rows]
    return [None if text is None else found for text, found in zip(TEXTS, without, strict=True)]


def test_a_list_column_a_row(tiny: Segmenter, tmp_path: Path) -> None:
    found = dataset(tmp_path).map(tiny.as_map(), batched=True, batch_size=3)
    assert found.column_names == ["id", "text", "year", "chunks"]
    assert list(found["text"]) == TEXTS
    assert list(found["chunks"]) == lists_of(tiny)


def test_sizes_and_context_too(tiny: Segmenter, tmp_path: Path) -> None:
    settings = {
        "chunks": ChunkConfig(max_tokens=90, neighbours=1, header="{document}"),
        "tokenizer": byte_level_bpe([text for text in TEXTS if text]),
    }
    mapped = tiny.as_map(**settings, title_column="year")
    before = dataset(tmp_path).map(lambda row: {"year": f"Year {row['year']}"})
    first = Hasher.hash(mapped)
    found = before.map(mapped, batched=True, batch_size=3, features=mapped.features(before.features))
    assert list(found["chunks"]) == lists_of(tiny, **settings)
    contexts = [chunk["context"] for chunks in found["chunks"] for chunk in chunks or ()]
    assert {context["header"] for context in contexts} == {"Year 0\n\n", "Year 3\n\n"}
    assert any(context["before"] for context in contexts)
    # What a tokenizer has worked out by now does not matter to the cache.
    assert Hasher.hash(mapped) == first != Hasher.hash(tiny.as_map(chunks=settings["chunks"]))


def test_structure_too(tiny: Segmenter) -> None:
    texts = ["# Fog\n\nIt is common.", "<h1>Fog</h1><p>It is common.", None]
    before = Dataset.from_dict({"id": ["a.md", "b.html", "c.md"], "text": texts})
    sections = {}
    for markup in ("auto", "plain", "markdown", "html"):
        mapped = tiny.as_map(markup=markup)  # type: ignore[arg-type]
        found = before.map(mapped, batched=True, features=mapped.features(before.features))
        sections[markup] = [chunks and chunks[0]["section"] for chunks in found["chunks"]]
    fog: list[str] = ["Fog"]
    assert sections["auto"] == [fog, [], None]
    assert sections["plain"] == [[], [], None]
    assert sections["markdown"] == [fog, [], None]
    assert sections["html"] == [[], fog, None]


def test_a_row_a_chunk(tiny: Segmenter, tmp_path: Path) -> None:
    before = dataset(tmp_path)
    flat = tiny.as_map(flatten=True)
    expected = [row for number in range(len(TEXTS)) for row in chunks_of(tiny, number)]
    names = before.column_names
    features = flat.features(before.features)
    assert list(before.map(flat, batched=True, remove_columns=names, features=features)) == expected
    unnamed = before.remove_columns("id")
    found = unnamed.map(flat, batched=True, with_indices=True, remove_columns=unnamed.column_names)
    assert [row["doc_id"] for row in found] == [row["doc_id"][1:] for row in expected]
    with pytest.raises(InputError, match="expected one named id; or give with_indices=True"):
        flat({"text": TEXTS})
    with pytest.raises(InputError, match="got columns a; expected one named text"):
        flat({"a": [""]})
    with pytest.raises(InputError, match="got a int, expected a str"):
        flat({"text": [7], "id": ["a"]})


def test_types_are_known_before_the_first_chunk_that_shows_them(tiny: Segmenter) -> None:
    before = Dataset.from_dict({"text": ["Fog."] * 3 + TEXTS[:1]})
    mapped = tiny.as_map()
    found = before.map(mapped, batched=True, batch_size=2, writer_batch_size=2)
    assert len(found[3]["chunks"]) == len(tiny.segment(str(TEXTS[0])).chunks)
    before = Dataset.from_dict({"text": [""] * 3 + TEXTS[:1]})
    features = mapped.features(before.features)
    found = before.map(mapped, batched=True, batch_size=2, writer_batch_size=2, features=features)
    assert found.features == features
    assert len(found[3]["chunks"]) == len(tiny.segment(str(TEXTS[0])).chunks)


def test_streams_too(tiny: Segmenter, tmp_path: Path) -> None:
    found = dataset(tmp_path).to_iterable_dataset().map(tiny.as_map(), batched=True)
    assert [row["chunks"] for row in found] == lists_of(tiny)


HASH = """
import sys
from datasets.fingerprint import Hasher
from segmenter import Segmenter
segmenter = Segmenter.from_pretrained(sys.argv[1], device="cpu")
segmenter.segment("Fog is common. She left school.")
print(Hasher.hash(segmenter.as_map()))
"""


def test_the_fingerprint_is_the_same_tomorrow_and_another_for_other_answers(
    tiny: Segmenter, tiny_folder: Path, fresh_folder: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", HASH, str(tiny_folder)], capture_output=True, text=True, check=True, cwd=ROOT
    )
    first = Hasher.hash(tiny.as_map())
    assert done.stdout.strip() == first
    others = [
        Segmenter.from_pretrained(tiny_folder, device="cpu", threshold=0.4).as_map(),
        Segmenter.from_pretrained(tiny_folder, device="cpu", sentences="lines").as_map(),
        Segmenter.from_pretrained(fresh_folder, device="cpu").as_map(),
        tiny.as_map(text_column="id"),
        tiny.as_map(flatten=True),
    ]
    assert len({first, *(Hasher.hash(other) for other in others)}) == 6


def test_the_cache_is_used(tiny: Segmenter, tiny_folder: Path, tmp_path: Path) -> None:
    before = dataset(tmp_path)
    first = before.map(tiny.as_map(), batched=True)
    again = before.map(Segmenter.from_pretrained(tiny_folder, device="cpu").as_map(), batched=True)
    assert first.cache_files
    assert again.cache_files == first.cache_files


FORKED = """
import sys
from datasets import Dataset
from segmenter import Segmenter
segmenter = Segmenter.from_pretrained(sys.argv[1], device="cpu")
# The threads of the tokenizer and of torch have run before the fork.
text = "The harbour is old. Fog is common. She left school. " * 40
right = [chunk.text for chunk in segmenter.segment(text).chunks]
rows = Dataset.from_dict({"text": [text] * 4})
found = rows.map(segmenter.as_map(), batched=True, batch_size=1, num_proc=2)
assert all([chunk["text"] for chunk in row["chunks"]] == right for row in found)
print("fine")
"""


def test_forked_workers_do_not_hang(tiny_folder: Path) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "RAYON_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", FORKED, str(tiny_folder)],
        capture_output=True, text=True, check=False, cwd=ROOT, env=environment, timeout=600,
    )  # fmt: skip
    assert done.stdout == "fine\n", done.stderr[-3000:]


NO_GPU_IN_A_FORK = """
import os, sys
from segmenter.errors import ConfigError
from segmenter.forking import prepare_process
prepare_process("cuda:0")
child = os.fork()
if child == 0:
    try:
        prepare_process("cuda:0")
    except ConfigError as error:
        os._exit(7 if "cannot use cuda:0, expected one that was spawned" in str(error) else 1)
    os._exit(0)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_gpu_is_never_used_in_a_fork() -> None:
    done = subprocess.run(
        [sys.executable, "-c", NO_GPU_IN_A_FORK], capture_output=True, text=True, check=True
    )
    assert done.stdout == "7\n"


def test_a_segmenter_can_be_sent(tiny: Segmenter, examples: dict[str, str]) -> None:
    sent = pickle.loads(pickle.dumps(tiny))
    text = examples["harbour.txt"]
    assert sent.identity() == tiny.identity()
    assert np.array_equal(sent.segment(text).probabilities, tiny.segment(text).probabilities)
    prepared = tiny.preparer.prepare(text, tiny.profile)
    copied = pickle.loads(pickle.dumps(prepared))
    assert copied.sentences == prepared.sentences
    assert copied.document == prepared.document
    (result,) = tiny.segment_prepared([copied])
    assert not isinstance(result, Exception)
    assert result.chunks == tiny.segment(text).chunks
    again = pickle.loads(pickle.dumps(result))
    assert again.sentences == result.sentences
    config = ChunkConfig(max_tokens=20, neighbours=1)
    assert again.rechunk(config).chunks == result.rechunk(config).chunks


def test_what_cannot_be_sent_says_so(tiny_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(tiny_folder, folder)
    sent = pickle.dumps(Segmenter.from_pretrained(folder, device="cpu"))
    checkpoint = load_light(folder)
    assert checkpoint is not None
    with pytest.raises(ConfigError, match="with a scorer of its own"):
        pickle.dumps(Segmenter(checkpoint, TorchScorer(checkpoint.model, "cpu")))
    weights = folder / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.unlink()
    weights.write_bytes(content)
    with pytest.raises(CheckpointError, match="have changed since they were loaded"):
        pickle.loads(sent)
