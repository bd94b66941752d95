"""Memory and speed of runs over corpora: the figures of docs/scale.md.

    python scripts/benchmark_corpus.py memory --documents 20000 --documents 200000
    python scripts/benchmark_corpus.py articles --data ../shared/data/enwiki/train-00.parquet
    python scripts/benchmark_corpus.py ranks --data ../shared/data/enwiki/train-00.parquet

memory: short documents on the tiny model of the tests, each size in a process of its own. articles: the
shipped model on articles, `segment_many` on a list in memory beside a run over a file, in turns. ranks: one
process with two threads beside two with one thread each, over the same articles.
"""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import psutil
import typer

from segmenter import Segmenter
from segmenter.corpus import run
from segmenter.profiling import peak_memory
from segmenter.reading import read_documents

ROOT = Path(__file__).parent.parent
SENTENCES = (
    "The harbour is old.", "Ships wait for the fog to rise.", "Coffee oils turn bitter.", "Beans are ground.",
    "She left school.", "A prize came late.", "The fjord is deep.", "Water runs through the group head.",
)  # fmt: skip

app = typer.Typer(add_completion=False, help=__doc__, rich_markup_mode=None)
Data = Annotated[Path, typer.Option(help="Labelled documents; their sentences are joined.")]
Count = Annotated[int, typer.Option(help="How many articles.")]


@app.command()
def memory(
    documents: Annotated[list[int] | None, typer.Option(help="Sizes; 20,000 and 200,000.")] = None,
) -> None:
    """Peak memory, documents a second, and how long the model waits, by the number of documents."""
    sys.path.insert(0, str(ROOT))
    from tests.conftest import EXAMPLES, make_tokenizer, write_tiny

    texts = {path.name: path.read_text(encoding="utf-8") for path in EXAMPLES}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "tiny").mkdir()
        write_tiny(make_tokenizer(texts), folder / "tiny")
        peaks = []
        for count in documents or [20_000, 200_000]:
            with (folder / f"{count}.jsonl").open("w", encoding="utf-8") as file:
                file.writelines(json.dumps({"id": n, "text": short(n)}) + "\n" for n in range(count))
            command = [sys.executable, __file__, "one", name, str(count)]
            row = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            peaks.append(row["peak_mib"])
            print(json.dumps(row), flush=True)
        print(json.dumps({"largest_to_smallest_peak": round(max(peaks) / min(peaks), 3)}))


@app.command(hidden=True)
def one(folder: Path, count: int) -> None:
    """Measure one size in this process."""
    peak = Peak()
    segmenter = Segmenter.from_pretrained(folder / "tiny", device="cpu")
    started = time.perf_counter()
    report = run([folder / f"{count}.jsonl"], folder / f"out{count}", segmenter)
    seconds = time.perf_counter() - started
    row = {
        "documents": count,
        "peak_mib": round(peak_memory() / 2**20),
        "peak_with_workers_mib": peak.mebibytes(),
        "documents_a_second": round(count / seconds),
        "share_waited": report.throughput()["share_waited"],
        "share_in_model": report.throughput()["share_in_model"],
    }
    print(json.dumps(row))


class Peak:
    """Watches the memory of this process and its children together."""

    def __init__(self) -> None:
        self._most = 0
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def mebibytes(self) -> int:
        """Most there was, pages that are shared counted once for each."""
        self._is_over.set()
        self._thread.join()
        return round(self._most / 2**20)

    def _watch(self) -> None:
        own = psutil.Process()
        while not self._is_over.wait(0.2):
            total = 0
            for process in [own, *own.children(recursive=True)]:
                try:
                    total += process.memory_info().rss
                except psutil.NoSuchProcess:
                    continue
            self._most = max(self._most, total)


@app.command()
def articles(
    data: Data,
    count: Count = 1000,
    turns: Annotated[int, typer.Option(help="How often each is measured.")] = 2,
    model: Annotated[str | None, typer.Option(help="The shipped one if left out.")] = None,
) -> None:
    """Gaps a second of a run beside those of segment_many on the same list."""
    texts = joined(data, count)
    segmenter = Segmenter.from_pretrained(model, device="cpu")
    speeds: dict[str, list[float]] = {"segment_many": [], "run": []}
    for turn in range(turns):
        started = time.perf_counter()
        gaps = sum(int(result.scored.sum()) for result in segmenter.segment_many(texts))
        speeds["segment_many"].append(gaps / (time.perf_counter() - started))
        with tempfile.TemporaryDirectory() as name:
            write_lines(Path(name) / "in.jsonl", texts)
            started = time.perf_counter()
            report = run([Path(name) / "in.jsonl"], Path(name) / "out", segmenter)
            speeds["run"].append(report.gaps / (time.perf_counter() - started))
            assert report.gaps == gaps
        row = {name: round(found[turn], 1) for name, found in speeds.items()}
        print(json.dumps(row | report.throughput()), flush=True)
    medians = {name: statistics.median(found) for name, found in speeds.items()}
    ratio = medians["run"] / medians["segment_many"]
    print(json.dumps({"articles": len(texts), "gaps": gaps, "run_to_segment_many": round(ratio, 3)}))
    an_hour = 3600 * report.throughput()["documents_a_second"]
    print("computed from it, nine tenths of the speed for each process more (see ranks):")
    for processes in (1, 2, 4, 8, 16, 64):
        share = 1.0 if processes == 1 else 0.9
        print(f"| {processes} | {processes * share * an_hour:,.0f} documents an hour |")


@app.command()
def ranks(
    data: Data,
    count: Count = 200,
    shard_size: Annotated[int, typer.Option(help="Documents of a shard.")] = 10,
    model: Annotated[str | None, typer.Option(help="The shipped one if left out.")] = None,
) -> None:
    """Speed of two processes of one thread beside one of two threads; the start is not counted."""
    texts = joined(data, count)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_lines(folder / "in.jsonl", texts)
        options = ["--shard-size", str(shard_size), "--device", "cpu", "--quiet"]
        options += ["--model", model] if model else []
        script = [str(ROOT / "scripts" / "segment_corpus.py"), str(folder / "in.jsonl"), *options]
        launch = ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2"]
        speeds = {
            "one of two threads": speed([*script], folder / "one", 2, len(texts)),
            "two of one thread": speed([*launch, *script], folder / "two", 1, len(texts)),
        }
        print(json.dumps({name: round(found, 3) for name, found in speeds.items()}))
        ratio = speeds["two of one thread"] / speeds["one of two threads"]
        print(json.dumps({"two_to_one": round(ratio, 3)}))


def speed(command: Sequence[str], output: Path, threads: int, count: int) -> float:
    """Documents a second, from the begin of the first shard to the end of the last."""
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads), "ACCELERATE_USE_CPU": "true"}
    subprocess.run(
        [sys.executable, *command, "--output", str(output)], check=True, env=environment, capture_output=True
    )
    ends, begins = [], []
    for path in (output / ".run" / "done").iterdir():
        record: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        ends.append(path.stat().st_mtime)
        begins.append(ends[-1] - record["seconds"])
    return count / float(max(ends) - min(begins))


def short(number: int) -> str:
    """Some sentences, others for every number."""
    step = 1 + number % 5
    return " ".join(
        SENTENCES[(number * 3 + place * step) % len(SENTENCES)] for place in range(3 + number % 6)
    )


def joined(data: Path, count: int) -> list[str]:
    """Articles as text, a blank line between paragraphs."""
    texts: list[str] = []
    for document in read_documents([data]):
        if len(texts) == count:
            break
        starts = set(document.paragraphs or ())
        pieces = [
            ("\n\n" if number in starts else " " if number else "") + sentence
            for number, sentence in enumerate(document.sentences)
        ]
        texts.append("".join(pieces))
    return texts


def write_lines(path: Path, texts: Sequence[str]) -> None:
    """Write texts as JSONL."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"id": n, "text": text}) + "\n" for n, text in enumerate(texts))


if __name__ == "__main__":
    app()
