"""Speed of the cutters that need no model beside that of the peers' own packages, in one run.

    pip install chonkie semantic-text-splitter langchain-text-splitters
    python scripts/benchmark_cutters.py --megabytes 50

The text is the examples over and over. Figures are seconds of the processor, so that other work on the
machine counts little, and megabytes (of characters) a second. Peers that are not installed are left out.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from segmenter.chunkers import FixedSizeChunker, ParagraphChunker, SentenceChunker

EXAMPLES = Path(__file__).parent.parent / "examples"
SIZE = 1000

Cut = Callable[[str], Sequence[Any]]


def ours() -> dict[str, Callable[[], Cut]]:
    """Ways of cutting of this package, by name."""
    return {
        "ours: 1,000 characters": lambda: FixedSizeChunker(SIZE, 0, "characters").chunk,
        "ours: 150 words, 20 % overlap": lambda: FixedSizeChunker().chunk,
        "ours: sentences up to 150 words": lambda: SentenceChunker(150).chunk,
        "ours: paragraphs": lambda: ParagraphChunker().chunk,
    }


def peers() -> dict[str, Callable[[], Cut]]:
    """Those of others; each is made when it is needed, since its package may be missing."""

    def chonkie(name: str) -> Cut:
        import chonkie as package

        made: Cut = getattr(package, name)("character", chunk_size=SIZE)
        return made

    def text_splitter() -> Cut:
        from semantic_text_splitter import TextSplitter

        made: Cut = TextSplitter(SIZE).chunks
        return made

    def recursive() -> Cut:
        from langchain_text_splitters import RecursiveCharacterTextSplitter

        made: Cut = RecursiveCharacterTextSplitter(chunk_size=SIZE, chunk_overlap=0).split_text
        return made

    return {
        "chonkie token": lambda: chonkie("TokenChunker"),
        "chonkie sentence": lambda: chonkie("SentenceChunker"),
        "chonkie recursive": lambda: chonkie("RecursiveChunker"),
        "semantic-text-splitter": text_splitter,
        "langchain recursive": recursive,
    }


def main(
    megabytes: Annotated[float, typer.Option(help="Characters of the text, in millions.")] = 50.0,
    only: Annotated[str, typer.Option(help="Names that begin so; all if left out.")] = "",
) -> None:
    """Measure and print."""
    base = "\n\n".join(path.read_text(encoding="utf-8") for path in sorted(EXAMPLES.glob("*.*"))) + "\n\n"
    length = int(megabytes * 1e6)
    text = (base * (length // len(base) + 1))[:length]
    print("| way | chunks | seconds | MB/s |\n|---|---:|---:|---:|", flush=True)
    for name, make in {**ours(), **peers()}.items():
        if not name.startswith(only):
            continue
        try:
            cut = make()
        except ImportError:
            print(f"| {name} | not installed | | |", flush=True)
            continue
        cut(base)  # What is loaded at first use does not count.
        started = time.process_time()
        chunks = cut(text)
        taken = time.process_time() - started
        print(f"| {name} | {len(chunks)} | {taken:.2f} | {megabytes / taken:.1f} |", flush=True)


if __name__ == "__main__":
    typer.run(main)
