"""``segmenter corpus`` on a cluster, by Ray Data; ``--help`` says what it takes.

python scripts/segment_corpus_ray.py s3://bucket/articles/ --output s3://bucket/chunks \
    --address auto --actors 1 16 --gpus-per-actor 1
"""

import argparse
import sys
from typing import Any

import ray

from segmenter.cli.cutting import parse_cutting
from segmenter.corpus import CorpusConfig
from segmenter.errors import SegmenterError
from segmenter.integrations.ray import run


def arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("inputs", nargs="+", help="as of `segmenter corpus`; every machine has to reach them")
    parser.add_argument("--output", required=True, help="new folder or address, for all machines")
    parser.add_argument("--address", help="of the cluster; 'auto' on one of its machines")
    parser.add_argument("--actors", nargs=2, type=int, default=(1, 1), metavar=("MIN", "MAX"))
    parser.add_argument("--gpus-per-actor", type=float, default=0.0, help="0.5: two actors on one")
    parser.add_argument("--cpus-per-actor", type=float, default=1.0)
    parser.add_argument("--model", help="checkpoint folder or hub name; default: the shipped model")
    parser.add_argument("--threshold", type=float)
    parser.add_argument(
        "--chunker",
        default="topic",
        metavar="NAME[:SETTING=VALUE,...]",
        help="how to cut, the settings named as the options of `segmenter corpus`:\n"
        "topic:max_tokens=256,overlap=1,neighbours=1,tokenizer=FILE or paragraphs:max_tokens=256",
    )
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--text-column", default="text")
    parser.add_argument("--id-column", default="id")
    parser.add_argument("--title-column", default="title")
    parser.add_argument("--markup", default="auto", choices=("auto", "plain", "markdown", "html"))
    parser.add_argument("--carry", action="append", default=[], metavar="COLUMN")
    parser.add_argument("--format", default="parquet", choices=("parquet", "jsonl", "jsonl.zst"))
    return parser.parse_args()


def recipe(given: argparse.Namespace) -> dict[str, Any]:
    """How each actor cuts."""
    cutting = parse_cutting(given.chunker)
    if not cutting.needs_model:
        return {"chunker": cutting.build(None)}
    cutting.check()
    threshold = given.threshold if cutting.threshold is None else cutting.threshold
    settings = {"threshold": threshold, "backend": given.backend, "dtype": given.dtype}
    return {
        "model": {"model": given.model, **settings},
        "chunks": cutting.config,
        "tokenizer": cutting.loaded_tokenizer,
    }


def main() -> None:
    """Run to the end."""
    given = arguments()
    choices: dict[str, Any] = {"output_format": given.format, "markup": given.markup}
    try:
        config = CorpusConfig(
            text_column=given.text_column,
            id_column=given.id_column,
            title_column=given.title_column,
            carry=tuple(given.carry),
            **choices,
        )
        how = recipe(given)
        ray.init(address=given.address)
        report = run(
            given.inputs,
            given.output,
            config,
            **how,
            actors=tuple(given.actors),
            gpus_an_actor=given.gpus_per_actor,
            cpus_an_actor=given.cpus_per_actor,
        )
    except SegmenterError as error:
        sys.exit(f"segmenter: {error}")
    print(f"{report.chunks:,} chunks, {report.bad_documents:,} bad documents; wrote {given.output}")


if __name__ == "__main__":
    main()
