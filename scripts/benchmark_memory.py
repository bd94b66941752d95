"""Time and peak memory of one long text, by its number of sentences.

    python scripts/benchmark_memory.py
    python scripts/benchmark_memory.py --model models/minilm-l6 --sentences 50000 --sentences 100000

The sentences are those of an example, over and over, 20 a paragraph. Each size runs in a process of its
own. Without a model it is as small as one can be, of random weights, so that what is measured is everything
around it: splitting, tokenizing, windows, batches, decoding.
"""

import json
import subprocess
import sys
import tempfile
import time
from itertools import cycle, islice
from pathlib import Path
from typing import Annotated

import typer
from transformers import BertTokenizer, DistilBertConfig, DistilBertForSequenceClassification

from segmenter import Segmenter
from segmenter.checkpoint import write_checkpoint
from segmenter.config import CheckpointConfig
from segmenter.profiling import peak_memory

EXAMPLE = Path(__file__).parent.parent / "examples" / "harbour.txt"
PARAGRAPH = 20


def main(
    sentences: Annotated[list[int] | None, typer.Option(help="Sizes; 12,500 to 100,000.")] = None,
    model: Annotated[Path | None, typer.Option(help="A small one of random weights if left out.")] = None,
    candidates: Annotated[list[str] | None, typer.Option(help="auto, all; both if left out.")] = None,
    one: Annotated[bool, typer.Option(hidden=True)] = False,
) -> None:
    """Measure every size, flat and with paragraphs."""
    if one:
        assert model is not None
        assert sentences
        assert candidates
        measure(model, sentences[0], candidates[0])
        return
    with tempfile.TemporaryDirectory() as name:
        folder = model or Path(name)
        if model is None:
            make_checkpoint(folder)
        for which in candidates or ["auto", "all"]:
            print(f"candidates={which}", flush=True)
            for size in sentences or [12_500, 25_000, 50_000, 100_000]:
                options = ["--one", "--model", str(folder), "--sentences", str(size), "--candidates", which]
                subprocess.run([sys.executable, __file__, *options], check=True)


def measure(folder: Path, sentences: int, candidates: str) -> None:
    """Segment a text of that length, and print what it took."""
    segmenter = Segmenter.from_pretrained(folder, device="cpu", candidates=candidates)  # type: ignore[arg-type]
    page = EXAMPLE.read_text(encoding="utf-8") + "\n\n"
    pieces = cycle(sentence.text.strip() for sentence in segmenter.segment(page).sentences)
    paragraphs = (" ".join(islice(pieces, PARAGRAPH)) for _ in range(0, sentences, PARAGRAPH))
    text = "\n\n".join(paragraphs)
    before = peak_memory()
    started = time.perf_counter()
    (result,) = segmenter.segment_many([text])
    chunks = len(result.chunks)
    seconds = time.perf_counter() - started
    after = peak_memory()
    row = {
        "sentences": len(result.sentences),
        "megabytes": round(len(text) / 1e6, 2),
        "gaps_scored": int(result.scored.sum()),
        "chunks": chunks,
        "seconds": round(seconds, 2),
        "peak_mb": round(after / 1e6),
        "above_a_page_mb": round((after - before) / 1e6),
    }
    print(json.dumps(row), flush=True)


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


if __name__ == "__main__":
    typer.run(main)
