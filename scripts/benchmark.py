"""Speed of this package beside the published recipe, on one machine, in one run.

    python scripts/benchmark.py --data ../shared/data --json speed.json

Measured in turns, on the same model, the same sentences and the same threads: (a) the recipe, whose
``TextClassificationPipeline`` takes one pair of sentences at a time in float32; (b) the same pipeline with
``batch_size=32``; (c) this package with each backend and precision of this machine. Every figure is the
median over the turns; every ratio is one within a turn. A book is measured in parts of 500 sentences, a turn
each.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import typer
from numpy.typing import NDArray
from transformers import AutoModelForSequenceClassification, AutoTokenizer, TextClassificationPipeline
from transformers.utils import logging as transformers_logging

from segmenter import Segmenter
from segmenter.backends import choose, load_scorer
from segmenter.backends.choice import possible
from segmenter.checkpoint import Checkpoint
from segmenter.reading import read_documents
from segmenter.scoring import Logits, Scorer
from segmenter.sources import locate

EXAMPLES = Path(__file__).parent.parent / "examples"
PART = 500
COLD_ROUNDS = 5

Predict = Callable[[Sequence[str]], NDArray[np.float32]]


@dataclass
class Text:
    """A document to measure on.

    :ivar name: What it is called.
    :ivar sentences: Its sentences.
    :ivar paragraphs: Those that start a paragraph.
    :ivar turns: The pieces that are measured in turns.
    """

    name: str
    sentences: list[str]
    paragraphs: list[int]
    turns: list[list[str]] = field(default_factory=list)


def main(
    model: Annotated[str | None, typer.Option(help="The shipped one if left out.")] = None,
    data: Annotated[Path | None, typer.Option(help="Folder with enwiki/dev.parquet; else examples/.")] = None,
    device: Annotated[str, typer.Option(help="cpu, cuda.")] = "cpu",
    documents: Annotated[str, typer.Option(help="Which, comma-separated.")] = "page,article,book",
    cold: Annotated[bool, typer.Option(help="Measure the start of the command too.")] = True,
    as_json: Annotated[Path | None, typer.Option("--json", help="Write all figures there.")] = None,
) -> None:
    """Measure and print."""
    transformers_logging.set_verbosity_error()
    folder = locate(model)
    results: dict[str, Any] = {"machine": machine(device)}
    print(json.dumps(results["machine"]))
    for text in texts(data, documents.split(",")):
        results[text.name] = compare(folder, text, device)
    if cold and device == "cpu":
        results["cold start"] = cold_start(folder)
    if as_json is not None:
        as_json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


def machine(device: str) -> dict[str, Any]:
    """What the run runs on, and how fast it multiplies matrices."""
    from segmenter.backends.measured import cpu_name

    kinds = {"float32": torch.float32, "bfloat16": torch.bfloat16}
    return {
        "cpu": cpu_name(),
        "torch": torch.__version__,
        "device": "CPU" if device == "cpu" else torch.cuda.get_device_name(device),
        "matrix product, GFLOP/s": {name: round(peak(kind, device)) for name, kind in kinds.items()},
    }


def peak(kind: torch.dtype, device: str, shape: tuple[int, int, int] | None = None) -> float:
    """Billions of operations a second of a matrix product, the best of some."""
    rows, inner, columns = shape or ((1024,) * 3 if device == "cpu" else (8192,) * 3)
    one = torch.randn(rows, inner, device=device).to(kind)
    other = torch.randn(inner, columns, device=device).to(kind)
    best = float("inf")
    for _ in range(6):
        started = time.perf_counter()
        product = one @ other
        float(product[0, 0])  # Waits for a GPU.
        best = min(best, time.perf_counter() - started)
    return 2 * rows * inner * columns / best / 1e9


def texts(data: Path | None, names: Sequence[str]) -> list[Text]:
    """A page of 20 sentences, an article of 150, a book of 5,000."""
    if data is not None:
        found = [d for d in read_documents([data / "enwiki" / "dev.parquet"]) if d.paragraphs]
        split = [(list(d.sentences), list(d.paragraphs or ())) for d in found]
    else:
        segmenter = Segmenter.from_pretrained(device="cpu")
        results = segmenter.segment_many(p.read_text(encoding="utf-8") for p in sorted(EXAMPLES.glob("*.*")))
        split = [
            (
                [sentence.text.strip() for sentence in result.sentences],
                [n for n, sentence in enumerate(result.sentences) if sentence.starts_paragraph],
            )
            for result in results
        ]
    sizes = {"page": 20, "article": 150, "book": 5000}
    return [joined(name, split, sizes[name]) for name in names]


def joined(name: str, split: Sequence[tuple[list[str], list[int]]], size: int) -> Text:
    """Join documents until there are enough sentences, over again if need be."""
    text = Text(name, [], [])
    while len(text.sentences) < size:
        for sentences, paragraphs in split:
            first = len(text.sentences)
            text.paragraphs += [first, *(first + number for number in paragraphs)]
            text.sentences += sentences
    text.sentences = text.sentences[:size]
    text.paragraphs = sorted({number for number in text.paragraphs if number < size})
    if size > PART:
        text.turns = [text.sentences[start : start + PART] for start in range(0, size, PART)]
    else:
        text.turns = [text.sentences] * (9 if size < 100 else 5)
    return text


def recipe(folder: Path, batch_size: int, device: str) -> Predict:
    """The published recipe: strings of two sentences through a pipeline."""
    tokenizer = AutoTokenizer.from_pretrained(folder)
    network = AutoModelForSequenceClassification.from_pretrained(folder)
    pipeline = TextClassificationPipeline(model=network, tokenizer=tokenizer, device=device)

    def predict(sentences: Sequence[str]) -> NDArray[np.float32]:
        pairs = [f"{left} [SEP] {right}" for left, right in pairwise(sentences)]
        found: list[dict[str, Any]]
        if batch_size == 1:
            found = [pipeline(pair, truncation=True)[0] for pair in pairs]
        else:
            found = pipeline(pairs, truncation=True, batch_size=batch_size)
        chances = [row["score"] if row["label"] == "DIFFERENT" else 1 - row["score"] for row in found]
        return np.array(chances, dtype=np.float32)

    return predict


def compare(folder: Path, text: Text, device: str) -> dict[str, Any]:
    """Measure all on one document, in turns."""
    ways: dict[str, Predict] = {
        "recipe, pair by pair": recipe(folder, 1, device),
        "recipe, batches of 32": recipe(folder, 32, device),
    }
    on_a_gpu = [("torch", dtype) for dtype in ("float32", "float16", "bfloat16")]
    for backend, dtype in possible(folder) if device == "cpu" else on_a_gpu:
        segmenter = Segmenter.from_pretrained(
            folder,
            device=device,
            backend=backend,  # type: ignore[arg-type]
            dtype=dtype,  # type: ignore[arg-type]
            context="sentence",
            candidates="all",
        )
        ways[f"{backend} {dtype}"] = segmenter.predict
    for predict in ways.values():
        predict(text.sentences[:20])
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    found: dict[str, list[NDArray[np.float32]]] = {name: [] for name in ways}
    for turn in text.turns:
        for name, predict in ways.items():
            started = time.perf_counter()
            found[name].append(predict(turn))
            seconds[name].append(time.perf_counter() - started)
    pairs = [len(turn) - 1 for turn in text.turns]
    characters = [sum(map(len, turn)) for turn in text.turns]
    base = "recipe, pair by pair"
    expected = np.concatenate(found[base]) > 0.5
    chosen = choose("auto", "auto", device, folder)
    rows: dict[str, Any] = {}
    print(f"\n{text.name}: {len(text.sentences)} sentences, {len(text.turns)} turns")
    print(f"{'':24} pairs/s  characters/s  times (a)  labels equal")
    for name in ways:
        ratios = [slow / fast for slow, fast in zip(seconds[base], seconds[name], strict=True)]
        rows[name] = {
            "pairs a second": statistics.median(n / s for n, s in zip(pairs, seconds[name], strict=True)),
            "characters a second": statistics.median(
                n / s for n, s in zip(characters, seconds[name], strict=True)
            ),
            "times (a)": statistics.median(ratios),
            "labels equal": float(np.mean((np.concatenate(found[name]) > 0.5) == expected)),
        }
        row = rows[name]
        mark = " <- auto" if name == f"{chosen.backend} {chosen.dtype}" else ""
        print(
            f"{name:24} {row['pairs a second']:7.1f} {row['characters a second']:13.0f} "
            f"{row['times (a)']:10.2f} {row['labels equal']:13.2%}{mark}"
        )
    rows["with paragraphs"] = with_paragraphs(folder, text, device, rows[base]["pairs a second"])
    rows["whole document"] = whole(folder, text, device)
    return rows


def with_paragraphs(folder: Path, text: Text, device: str, usual: float) -> dict[str, float]:
    """The same document scored at its paragraph breaks only; (a) knows no paragraphs."""
    segmenter = Segmenter.from_pretrained(folder, device=device, context="sentence", candidates="auto")
    taken = []
    for _ in range(3):
        started = time.perf_counter()
        segmenter.predict(text.sentences, text.paragraphs)
        taken.append(time.perf_counter() - started)
    seconds = statistics.median(taken)
    row = {
        "breaks": len(text.paragraphs),
        "pairs a second": len(text.paragraphs) / seconds,
        "characters a second": sum(map(len, text.sentences)) / seconds,
        "times (a)": (len(text.sentences) - 1) / usual / seconds,
    }
    print(
        f"{'auto, paragraphs known':24} {row['pairs a second']:7.1f} {row['characters a second']:13.0f} "
        f"{row['times (a)']:10.2f}               {row['breaks']} breaks"
    )
    return row


class Counting:
    """Counts the tokens of batches, and the operations they ask for.

    :param scorer: Does the work.
    :param network: Of the model.
    """

    def __init__(self, scorer: Scorer, network: Any) -> None:
        self._scorer = scorer
        self._size, self._layers, self._inner = (
            network.hidden_size,
            network.num_hidden_layers,
            network.hidden_dim,
        )
        self.batch_tokens = scorer.batch_tokens
        self.runs_ahead = False  # So that the model's time is all counted.
        self.tokens = self.padding = 0
        self.operations = 0.0

    def start(self, input_ids: NDArray[np.int64], attention_mask: NDArray[np.int64]) -> Logits:
        """Run the model."""
        rows, length = input_ids.shape
        size = self._size
        self.tokens += input_ids.size
        self.padding += int((attention_mask == 0).sum())
        keys = 2 * 2 * size**2  # Two products a token; each is a multiplication and an addition.
        rest = 2 * (2 * size**2 + 2 * size * self._inner) + 2 * 2 * length * size
        # The last layer needs keys and values of all tokens, the rest for one.
        self.operations += rows * (length * self._layers * keys + (length * (self._layers - 1) + 1) * rest)
        return self._scorer.start(input_ids, attention_mask)


def whole(folder: Path, text: Text, device: str) -> dict[str, Any]:
    """Stages, padding, operations a second and memory of the whole document, every gap scored."""
    checkpoint = Checkpoint.load(folder)
    config = replace(checkpoint.config, context="sentence", candidates="all", sentences="lines")
    chosen = choose("auto", "auto", device, folder)
    network = checkpoint.model.config
    scorer = Counting(load_scorer(checkpoint, chosen), network)
    segmenter = Segmenter(replace(checkpoint, config=config), scorer)
    kind = getattr(torch, chosen.dtype, torch.float32)
    shape = (scorer.batch_tokens, network.hidden_size, network.hidden_dim)
    # The machine is not as fast at one moment as at another.
    before = [peak(kind, device), peak(kind, device, shape)]
    result = segmenter.segment("\n".join(text.sentences))
    after = [peak(kind, device), peak(kind, device, shape)]
    square, own = ((one + other) / 2 for one, other in zip(before, after, strict=True))
    with segmenter.profile.stage("decoding"):
        n_chunks = len(result.chunks)
    stages = segmenter.profile.seconds
    row = {
        "gaps": len(result.probabilities),
        "chunks": n_chunks,
        "stages": stages,
        "outside the model": segmenter.profile.outside_model,
        "padding": scorer.padding / scorer.tokens,
        "GFLOP/s in the model": scorer.operations / stages["model"] / 1e9,
        "GFLOP/s of a square product, before and after": square,
        "GFLOP/s of a product of the model's shape": own,
        "peak memory, MB": memory(folder, text, device),
    }
    print(
        f"whole document: {row['outside the model']:.1%} outside the model, {row['padding']:.1%} padding, "
        f"{row['GFLOP/s in the model']:.0f} GFLOP/s beside {square:.0f} of a square product and {own:.0f} of "
        f"one of the model's shape, peak memory {row['peak memory, MB']:.0f} MB"
    )
    return row


def memory(folder: Path, text: Text, device: str) -> float:
    """Peak memory of a process that segments the document and does nothing else."""
    code = (
        "import json, sys; from segmenter import Segmenter; from segmenter.profiling import peak_memory; "
        "s = Segmenter.from_pretrained(sys.argv[1], device=sys.argv[3], context='sentence', "
        "candidates='all'); "
        "s.predict(json.load(open(sys.argv[2]))); "
        "print(peak_memory() / 1e6)"
    )
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(text.sentences, file)
        file.flush()
        command = [sys.executable, "-c", code, str(folder), file.name, device]
        return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def cold_start(folder: Path) -> dict[str, float]:
    """Time of the command on a page, beside that of the imports alone, in turns."""
    page = EXAMPLES / "harbour.txt"
    commands = {
        "import torch, transformers": [sys.executable, "-c", "import torch, transformers"],
        "segmenter segment PAGE": [
            sys.executable,
            "-m",
            "segmenter",
            "segment",
            str(page),
            "--model",
            str(folder),
        ],
    }
    taken: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(COLD_ROUNDS):
        for name, command in commands.items():
            started = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            taken[name].append(time.perf_counter() - started)
    usual, ours = taken.values()
    row = {name: statistics.median(times) for name, times in taken.items()}
    row["ratio"] = statistics.median(our / their for our, their in zip(ours, usual, strict=True))
    print("\ncold start: " + ", ".join(f"{name} {value:.2f}" for name, value in row.items()))
    return row


if __name__ == "__main__":
    typer.run(main)
