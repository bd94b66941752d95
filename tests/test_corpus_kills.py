"""A run over a corpus that is killed, whenever: the next one ends with what an undisturbed one writes."""

import contextlib
import json
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from multiprocessing import active_children
from pathlib import Path

import psutil
import pyarrow
import pyarrow.parquet
import pytest

from segmenter import CorpusError, Segmenter
from segmenter.corpus import run
from segmenter.sentences import SentencexSplitter

from .conftest import ROOT
from .tiny_corpus import SHARD, config, sized, write_folder

COUNT = 1500


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_folder(tmp_path_factory.mktemp("corpus") / "in", COUNT)


@pytest.fixture(scope="module")
def undisturbed(tiny: Segmenter, inputs: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    output = tmp_path_factory.mktemp("undisturbed") / "out"
    assert run([inputs], output, tiny, config()).is_complete
    return output


def start(
    model: Path, inputs: Path, output: Path, *event: object, **environment: str
) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.tiny_corpus", *map(str, (model, inputs, output, *event))],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, **environment},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == b"begin\n", process.communicate()[1].decode()
    return process


def tables(output: Path) -> dict[str, pyarrow.Table]:
    """Every shard that a reader sees; a torn one cannot be read at all."""
    return {path.name: pyarrow.parquet.read_table(path) for path in sorted((output / "data").iterdir())}


def assert_whole(output: Path, right: Path) -> None:
    """What is there so far is part of what there is to be."""
    expected = tables(right)
    for name, table in (tables(output) if (output / "data").exists() else {}).items():
        assert table.equals(expected[name]), name


def assert_equal(output: Path, right: Path) -> None:
    """Ids, offsets, texts, probabilities, errors and counts, to the last bit."""
    assert_whole(output, right)
    assert tables(output).keys() == tables(right).keys()
    assert (output / "errors.jsonl").read_bytes() == (right / "errors.jsonl").read_bytes()
    runs = [json.loads((folder / "run.json").read_text()) for folder in (output, right)]
    assert runs[0]["complete"] is runs[1]["complete"] is True
    assert runs[0]["fingerprints"] == runs[1]["fingerprints"]
    for name, value in runs[1]["counts"].items():
        if not name.startswith("seconds"):
            assert runs[0]["counts"][name] == value, name


Kill = tuple[str, int] | float


def kills(seed: int) -> Iterator[Kill]:
    """At ten instants: while a shard is written, before and behind its rename, and at any time."""
    draw = random.Random(seed)
    for _ in range(2):
        yield "open", draw.randint(257, 330)  # The first 256 have been read ahead.
    for _ in range(5):
        yield "os.rename", draw.randint(2, 7)
    for _ in range(3):
        yield draw.uniform(0, 0.15)


def be_killed(tiny_folder: Path, inputs: Path, output: Path, kill: Kill, **environment: str) -> None:
    if isinstance(kill, float):
        process = start(tiny_folder, inputs, output, **environment)
        time.sleep(kill)
        process.kill()
    else:
        process = start(tiny_folder, inputs, output, *kill, **environment)
    stderr = process.communicate(timeout=600)[1]
    assert process.returncode == -signal.SIGKILL, stderr.decode()


def column(table: pyarrow.Table) -> list[dict[str, str]]:
    return list(table.column("context").to_pylist())


def states(output: Path) -> set[str]:
    """What a kill has left behind."""
    done = {path.stem for path in output.glob(".run/done/*.json")}
    shards = {path.stem for path in output.glob("data/*")}
    found = {"a shard without its record"} if shards - done else set()
    return found | ({"a shard half written"} if list(output.glob(".run/partial-part-*.parquet")) else set())


def test_ten_kills(tiny: Segmenter, tiny_folder: Path, inputs: Path, tmp_path: Path) -> None:
    output, undisturbed = tmp_path / "out", tmp_path / "undisturbed"
    assert run([inputs], undisturbed, sized(tiny), config()).is_complete
    assert any(context["before"] for table in tables(undisturbed).values() for context in column(table))
    seen: set[str] = set()
    for number, kill in enumerate(kills(seed=5)):
        be_killed(tiny_folder, inputs, output, kill, WORKERS=str(int(number % 5 == 4)), SIZES="1")
        assert_whole(output, undisturbed)
        seen |= states(output)
    assert seen == {"a shard without its record", "a shard half written"}
    done = len(list((output / ".run" / "done").iterdir()))
    assert 0 < done < COUNT // SHARD
    with pytest.raises(CorpusError, match="holds another run"):
        run([inputs], output, tiny, config())
    assert run([inputs], output, sized(tiny), config()).is_complete
    assert_equal(output, undisturbed)
    assert not list((output / ".run").glob("partial-*"))


@pytest.mark.parametrize(("safeguard", "kill"), [("rename", ("open", 300)), ("record", ("os.rename", 5))])
def test_without_its_safeguards_it_would_fail(
    tiny_folder: Path, inputs: Path, undisturbed: Path, tmp_path: Path, safeguard: str, kill: Kill
) -> None:
    output = tmp_path / "out"
    be_killed(tiny_folder, inputs, output, kill, WITHOUT=safeguard)
    if safeguard == "rename":
        with pytest.raises(pyarrow.ArrowInvalid):
            assert_whole(output, undisturbed)
    else:
        process = start(tiny_folder, inputs, output, WITHOUT=safeguard)
        process.communicate(timeout=600)
        with pytest.raises(AssertionError):
            assert_equal(output, undisturbed)


def test_only_what_is_missing_is_done_again(
    tiny: Segmenter, inputs: Path, undisturbed: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    run([inputs], output, tiny, config())
    times = {path.name: path.stat().st_mtime_ns for path in (output / "data").iterdir()}
    (output / "data" / "part-000002.parquet").unlink()
    (output / "data" / "part-000004.parquet").write_bytes(b"PAR1")
    (output / ".run" / "done" / "part-000006.json").unlink()
    assert run([inputs], output, tiny, config()).is_complete
    assert_equal(output, undisturbed)
    same = {name for name, time in times.items() if (output / "data" / name).stat().st_mtime_ns == time}
    assert times.keys() - same == {f"part-00000{number}.parquet" for number in (2, 4, 6)}


def test_a_full_disk(tiny: Segmenter, inputs: Path, undisturbed: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    # No file may be longer, which is told as a full disk is.
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, hard))
    try:
        with pytest.raises(CorpusError, match=r"cannot write to .*; what is done is kept"):
            run([inputs], output, tiny, config())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not tables(output)
    assert run([inputs], output, tiny, config()).is_complete
    assert_equal(output, undisturbed)


def test_a_second_run_is_refused_and_a_killed_one_leaves_no_lock(
    tiny: Segmenter, tiny_folder: Path, inputs: Path, undisturbed: Path, tmp_path: Path
) -> None:
    output = tmp_path / "out"
    process = start(tiny_folder, inputs, output, WORKERS="1")
    wait_for((output / ".run" / "launch.json").exists)
    children = psutil.Process(process.pid).children(recursive=True)
    with pytest.raises(CorpusError, match=f"another run works in {output}"):
        run([inputs], output, tiny, config())
    process.kill()
    process.communicate()
    # Its workers end with it.
    children = psutil.wait_procs(children, timeout=30)[1]
    assert not [child for child in children if child.status() != psutil.STATUS_ZOMBIE]
    assert run([inputs], output, tiny, config()).is_complete
    assert_equal(output, undisturbed)


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.002)


def test_a_worker_that_dies_costs_nothing(
    tiny: Segmenter, inputs: Path, undisturbed: Path, tmp_path: Path
) -> None:
    # The tokenizer of this process has been used: workers are spawned, so that it cannot hang them.
    assert tiny.segment("The harbour is old. Fog is common.").chunks
    output = tmp_path / "out"
    killed = []

    def kill_a_worker() -> None:
        with contextlib.suppress(AssertionError):
            wait_for(lambda: bool(active_children()))
            time.sleep(0.5)
            for child in active_children():
                os.kill(child.pid or 0, signal.SIGKILL)
                killed.append(child.pid)

    thread = threading.Thread(target=kill_a_worker)
    thread.start()
    assert run([inputs], output, tiny, config(workers=1)).is_complete
    thread.join()
    assert killed
    assert_equal(output, undisturbed)


class DeadlySplitter(SentencexSplitter):
    """Kills the process that it is used in, unless that is the run's own."""

    def __init__(self) -> None:
        super().__init__()
        self.parent = os.getpid()

    def starts(self, text: str) -> list[int]:
        if "poison" in text and os.getpid() != self.parent:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().starts(text)


def test_a_document_that_kills_its_worker_costs_only_itself(tiny_folder: Path, tmp_path: Path) -> None:
    segmenter = Segmenter.from_pretrained(tiny_folder, device="cpu", sentences=DeadlySplitter())
    path = tmp_path / "in.jsonl"
    texts = [f"The harbour is old {number}." for number in range(6)]
    texts[3] = "poison"
    path.write_text("".join(json.dumps({"id": n, "text": text}) + "\n" for n, text in enumerate(texts)))
    report = run([path], tmp_path / "out", segmenter, config(workers=1, shard_size=4))
    assert (report.documents, report.bad_documents, report.is_complete) == (6, 1, True)
    (line,) = (tmp_path / "out" / "errors.jsonl").read_text().splitlines()
    assert json.loads(line)["id"] == f"{path.name}:4"
    assert "died" in json.loads(line)["cause"]
    ids = [row["doc_id"] for table in tables(tmp_path / "out").values() for row in table.to_pylist()]
    assert ids == ["0", "1", "2", "4", "5"]
