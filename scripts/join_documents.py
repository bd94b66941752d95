"""Make training documents whose sections come from different documents, as Choi (2000) made his test set.

    python scripts/join_documents.py DATA/enwiki/train-00.parquet --output joined.parquet --documents 1500

A file, a mail or a page often holds texts that have nothing to do with each other; documents with sections of
one subject do not show a model such ends.
"""

from itertools import pairwise
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from datasets import Dataset

from segmenter.labelled import LabelledDocument
from segmenter.reading import read_documents


def main(
    data: Annotated[list[Path], typer.Argument(help="Labelled documents to take the sections from.")],
    output: Annotated[Path, typer.Option(help="A parquet file.")],
    documents: Annotated[int, typer.Option(help="How many to make.")] = 1500,
    sections: Annotated[int, typer.Option(help="Sections of each.")] = 10,
    shortest: Annotated[int, typer.Option(help="Fewest sentences of a section.")] = 2,
    longest: Annotated[int, typer.Option(help="Most sentences of a section.")] = 11,
    seed: Annotated[int, typer.Option(help="Of all that is drawn.")] = 0,
) -> None:
    """Join and write."""
    rng = np.random.default_rng(seed)
    sources = [source for source in read_documents(data) if len(source.sentences) >= shortest]
    rows: dict[str, list[object]] = {"id": [], "sentences": [], "paragraphs": [], "boundaries": []}
    if sections > len(sources):
        raise typer.BadParameter(
            f"got {len(sources)} documents to take {sections} sections from, each of another"
        )
    for number in range(documents):
        chosen = rng.choice(len(sources), size=sections, replace=False)
        pieces = [_piece(sources[index], shortest, longest, rng) for index in chosen]
        starts = np.cumsum([0, *(len(sentences) for sentences, _ in pieces)]).tolist()
        marks = [
            start + mark for start, (_, found) in zip(starts, pieces, strict=False) for mark in found or ()
        ]
        rows["id"].append(f"joined-{seed}-{number}")
        rows["sentences"].append([sentence for sentences, _ in pieces for sentence in sentences])
        rows["boundaries"].append(starts[1:-1])
        known = all(found is not None for _, found in pieces)
        rows["paragraphs"].append(sorted([*starts[1:-1], *marks]) if known else None)
    Dataset.from_dict(rows).to_parquet(output)


def _piece(
    source: LabelledDocument, shortest: int, longest: int, rng: np.random.Generator
) -> tuple[list[str], list[int] | None]:
    """Take the start of one section, of a length drawn evenly: sentences, paragraph starts among them."""
    edges = [0, *source.boundaries, len(source.sentences)]
    places = [(start, end) for start, end in pairwise(edges) if end - start >= shortest] or [
        (0, len(source.sentences))
    ]
    start, end = places[rng.integers(len(places))]
    end = min(end, start + int(rng.integers(shortest, longest + 1)))
    marks = None if source.paragraphs is None else [p - start for p in source.paragraphs if start < p < end]
    return list(source.sentences[start:end]), marks


if __name__ == "__main__":
    typer.run(main)
