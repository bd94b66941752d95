"""Time and peak memory of one long text, by its length, with a small model of random weights.

    python scripts/benchmark_memory.py [MEGABYTES...]

Each length runs in a process of its own. The model is as small as one can be, so that what is measured
is everything around it: splitting, tokenizing, windows, batches, decoding.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from transformers import BertTokenizer, DistilBertConfig, DistilBertForSequenceClassification

from segmenter import Segmenter
from segmenter.checkpoint import write_checkpoint
from segmenter.config import CheckpointConfig

EXAMPLE = Path(__file__).parent.parent / "examples" / "harbour.txt"


def make_checkpoint(folder: Path) -> None:
    """Write a checkpoint of one layer of eight numbers."""
    words = sorted({word.strip(".,").lower() for word in EXAMPLE.read_text(encoding="utf-8").split()})
    tokens = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", ",", *words]
    tokenizer = BertTokenizer(
        vocab={token: number for number, token in enumerate(tokens)}, model_max_length=64
    )
    model = DistilBertForSequenceClassification(
        DistilBertConfig(
            vocab_size=len(tokens), max_position_embeddings=64, dim=8, n_layers=1, n_heads=1, hidden_dim=8
        )
    )
    write_checkpoint(model, tokenizer, CheckpointConfig(context=16), folder)


def measure(folder: str, megabytes: float, candidates: str) -> None:
    """Segment a text of that length, and print what it took."""
    segmenter = Segmenter.from_pretrained(folder, device="cpu", candidates=candidates)  # type: ignore[arg-type]
    page = EXAMPLE.read_text(encoding="utf-8") + "\n"
    segmenter.segment(page)
    text = page * int(megabytes * 1e6 / len(page))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started = time.perf_counter()
    result = segmenter.segment(text)
    chunks = len(result.chunks)
    seconds = time.perf_counter() - started
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    row = {
        "megabytes": len(text) / 1e6,
        "gaps_scored": int(result.scored.sum()),
        "chunks": chunks,
        "seconds": round(seconds, 2),
        "peak_mib": round(after / 1024),
        "above_a_page_mib": round((after - before) / 1024),
    }
    print(json.dumps(row))


def main() -> None:
    """Measure every length, flat and with paragraphs."""
    sizes = [float(size) for size in sys.argv[1:]] or [1.25, 2.5, 5, 10]
    with tempfile.TemporaryDirectory() as folder:
        make_checkpoint(Path(folder))
        for candidates in ("auto", "all"):
            print(f"candidates={candidates}", flush=True)
            for size in sizes:
                subprocess.run([sys.executable, __file__, "--one", folder, str(size), candidates], check=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        measure(sys.argv[2], float(sys.argv[3]), sys.argv[4])
    else:
        main()
