"""Chunks of this package beside those of others, on questions whose answers are known, in one run.

    pip install chonkie semchunk semantic-text-splitter langchain-text-splitters langchain-experimental
    python scripts/compare_peers.py --corpus DATA --questions DATA/questions.csv --json peers.json

Nothing of the peers is needed by the package; those that are not installed are left out and named. All count
tokens with the embedder's tokenizer, and none may have more than its cap. Each peer is compared with ours at
a mean size within a tenth of its own: ``target_tokens`` is searched for by bisection, which looks at sizes
only, never at answers. The semantic ones of LangChain know no cap, so that theirs are cut off by the
embedder. A difference marked * has no 0 in its interval (paired, over the questions).
"""

import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from tokenizers import Tokenizer

from segmenter import Chunk, ChunkConfig, Document, Segmentation, Segmenter
from segmenter.counting import counter_of
from segmenter.embedding import MiniLM, Remembering, embed
from segmenter.retrieval import (
    MEASURES,
    Retrieval,
    compare_retrieval,
    evaluate_retrieval,
    read_corpus,
    read_questions,
)

Split = Callable[[str], list[str]]


class Peer:
    """Pieces of text, found again in the document they are from.

    :param split: Cuts a text.
    """

    def __init__(self, split: Split) -> None:
        self._split = split
        self.seconds = 0.0
        self.lost = 0

    def chunk(self, text: str | Document) -> tuple[Chunk, ...]:
        """Cut a document; a piece that is not in it, not even by its letters, is counted as lost."""
        document = text if isinstance(text, Document) else Document(text=text)
        started = time.process_time()
        pieces = self._split(document.text)
        self.seconds += time.process_time() - started
        chunks: list[Chunk] = []
        letters, offsets = letters_of(document.text)
        position = 0
        for piece in pieces:
            # Some give back other text than they took: lower case, other white space.
            wanted, inked = letters_of(piece)
            if not wanted:
                continue
            found = letters.find(wanted, max(0, position - len(wanted)))
            if found < 0:
                self.lost += 1
                continue
            position = found + len(wanted)
            start, end = offsets[found], offsets[position - 1] + 1
            # With what stands around the letters of the piece, where the document has the same.
            start -= inked[0] if document.text[start - inked[0] : start] == piece[: inked[0]] else 0
            tail = piece[inked[-1] + 1 :]
            end += len(tail) if document.text[end : end + len(tail)] == tail else 0
            shown = document.text[start:end]
            chunks.append(Chunk(shown, start, end, 0, len(chunks), document_id=document.id))
        return tuple(chunks)

    def chunk_many(
        self, texts: Iterable[str | Document], *, show_progress: bool = False
    ) -> Iterator[tuple[Chunk, ...]]:
        """Cut documents."""
        return map(self.chunk, texts)


class Ours:
    """Results that the model has been run for, cut in one way.

    :param results: One a document.
    :param config: How to cut.
    :param tokenizer: What sizes are in.
    """

    def __init__(self, results: list[Segmentation], config: ChunkConfig, tokenizer: Any) -> None:
        self._results = [result.rechunk(config, tokenizer) for result in results]

    def chunk(self, text: str | Document) -> tuple[Chunk, ...]:
        """Cut a document that the model was run for."""
        (found,) = (result for result in self._results if result.document == text)
        return found.chunks

    def chunk_many(
        self, texts: Iterable[str | Document], *, show_progress: bool = False
    ) -> Iterator[tuple[Chunk, ...]]:
        """Cut documents."""
        return map(self.chunk, texts)

    @property
    def mean_size(self) -> float:
        """Characters of a chunk."""
        return float(np.mean([len(chunk.text) for result in self._results for chunk in result.chunks]))


def letters_of(text: str) -> tuple[str, list[int]]:
    """The letters and digits of a text in lower case, and where each stands."""
    kept = [(place, character.lower()) for place, character in enumerate(text) if character.isalnum()]
    kept = [(place, lower) for place, lower in kept if len(lower) == 1]
    return "".join(lower for _, lower in kept), [place for place, _ in kept]


def whole_tokenizer(embedder: MiniLM) -> Tokenizer:
    """The embedder's tokenizer, without the truncation that embedding leaves switched on."""
    tokenizer = Tokenizer.from_str(embedder.tokenizer.backend_tokenizer.to_str())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def semantic_peers(embedder: MiniLM, tokenizer: Tokenizer, room: int) -> dict[str, Callable[[], Split]]:
    """Those that cut by vectors of sentences."""

    def chonkie_semantic() -> Split:
        from chonkie import BaseEmbeddings, SemanticChunker

        class Embeddings(BaseEmbeddings):  # type: ignore[misc]
            """Ours, as chonkie takes them."""

            dimension = 384

            def embed(self, text: str) -> Any:
                return embed(embedder, [text])[0]

            def embed_batch(self, texts: list[str]) -> Any:
                return list(embed(embedder, texts))

            def get_tokenizer(self) -> Any:
                return tokenizer

        chunker = SemanticChunker(Embeddings(), chunk_size=room)
        return lambda text: [chunk.text for chunk in chunker(text)]

    def langchain_semantic() -> Split:
        from langchain_experimental.text_splitter import SemanticChunker

        class Embeddings:
            """Ours, as LangChain takes them."""

            def embed_documents(self, texts: list[str]) -> Any:
                return embed(embedder, texts).tolist()

        splitter = SemanticChunker(Embeddings())
        return lambda text: list(splitter.split_text(text))

    return {"chonkie semantic": chonkie_semantic, "langchain semantic": langchain_semantic}


def peers(embedder: MiniLM, cap: int) -> dict[str, Callable[[], Split]]:
    """Ways of cutting by name; each is made when it is needed, since its package may be missing."""
    tokenizer = whole_tokenizer(embedder)
    # The cap is on what is embedded, special tokens included; these count without.
    room = cap - 2
    counter = counter_of(tokenizer)

    def count(text: str) -> int:
        return int(counter.count([text])[0]) - 2

    def chonkie(name: str, **settings: Any) -> Split:
        import chonkie as package

        chunker = getattr(package, name)(tokenizer, chunk_size=room, **settings)
        return lambda text: [chunk.text for chunk in chunker(text)]

    def semchunk() -> Split:
        import semchunk as package

        chunker: Split = package.chunkerify(count, room)
        return chunker

    def text_splitter() -> Split:
        from semantic_text_splitter import TextSplitter

        splitter = TextSplitter.from_callback(count, room)
        return lambda text: list(splitter.chunks(text))

    def recursive() -> Split:
        from langchain_text_splitters import RecursiveCharacterTextSplitter

        splitter = RecursiveCharacterTextSplitter(chunk_size=room, chunk_overlap=0, length_function=count)
        return lambda text: list(splitter.split_text(text))

    return {
        "chonkie token": lambda: chonkie("TokenChunker"),
        "chonkie sentence": lambda: chonkie("SentenceChunker"),
        "chonkie recursive": lambda: chonkie("RecursiveChunker"),
        "semchunk": semchunk,
        "semantic-text-splitter": text_splitter,
        "langchain recursive": recursive,
        **semantic_peers(embedder, tokenizer, room),
    }


def ours_at(results: list[Segmentation], size: float, cap: int, tokenizer: Any) -> tuple[Ours, ChunkConfig]:
    """Our cut whose chunks have that many characters in the mean, by bisection over the target."""
    low, high = 8, cap
    while True:
        target = (low + high) // 2
        config = ChunkConfig(max_tokens=cap, target_tokens=target)
        found = Ours(results, config, tokenizer)
        if low >= high or abs(found.mean_size / size - 1) < 0.02:
            return found, config
        low, high = (target + 1, high) if found.mean_size < size else (low, target)


def line(name: str, found: Retrieval, k: int) -> str:
    """A row of the table."""
    cells = [f"{found.figures[k][measure].value:.4f}" for measure in MEASURES]
    return f"| {name} | {found.chunks} | {found.mean_characters:.0f} | {' | '.join(cells)} |"


def main(
    corpus: Annotated[Path, typer.Option(help="A folder of .md and .txt files.")],
    questions: Annotated[Path, typer.Option(help="CSV or JSONL, as evaluate-retrieval takes them.")],
    cap: Annotated[int, typer.Option(help="Most tokens of a chunk, special ones included.")] = 200,
    our_cap: Annotated[
        int, typer.Option(help="The same for ours, whose mean size is what has to agree.")
    ] = 254,
    k: Annotated[int, typer.Option(help="Chunks retrieved.")] = 5,
    only: Annotated[str, typer.Option(help="Peers, comma-separated; all if left out.")] = "",
    model: Annotated[str | None, typer.Option(help="The shipped one if left out.")] = None,
    output: Annotated[Path | None, typer.Option("--json", help="Write all figures there.")] = None,
) -> None:
    """Measure and print."""
    documents, asked = read_corpus(corpus), read_questions(questions)
    asked = [question for question in asked if question.document_id in {d.id for d in documents}]
    embedder = MiniLM()
    tokenizer = whole_tokenizer(embedder)
    remembering = Remembering(embedder)
    segmenter = Segmenter.from_pretrained(model)
    results = list(segmenter.segment_many(documents, chunks=ChunkConfig(max_tokens=cap), tokenizer=tokenizer))
    print("| way | chunks | characters | " + " | ".join(MEASURES) + " |\n|---|" + "---:|" * 6, flush=True)
    written: dict[str, Any] = {"cap": cap, "our_cap": our_cap, "k": k, "questions": len(asked), "ways": {}}
    for name, make in peers(embedder, cap).items():
        if only and name not in only.split(","):
            continue
        try:
            peer = Peer(make())
        except ImportError as error:
            print(f"| {name}: not installed ({error}) |", flush=True)
            continue
        theirs = evaluate_retrieval(peer, documents, asked, remembering, ks=(k,))
        size = float(np.mean([len(c.text) for found in peer.chunk_many(documents) for c in found]))
        cut, config = ours_at(results, size, our_cap, tokenizer)
        mine = evaluate_retrieval(cut, documents, asked, remembering, ks=(k,))
        print(line(name, theirs, k) + (f" {peer.lost} pieces not in the text" if peer.lost else ""))
        print(line(f"ours, target {config.target_tokens}", mine, k))
        differences = compare_retrieval(mine, theirs)[k]
        cells = [
            f"{figure.value:+.4f}{'*' if figure.low > 0 or figure.high < 0 else ''}"
            for figure in differences.values()
        ]
        print(f"| ours - {name} | | | {' | '.join(cells)} |", flush=True)
        written["ways"][name] = {
            "theirs": {m: asdict(figure) for m, figure in theirs.figures[k].items()},
            "ours": {m: asdict(figure) for m, figure in mine.figures[k].items()},
            "difference": {m: asdict(figure) for m, figure in differences.items()},
            "characters": [theirs.mean_characters, mine.mean_characters],
            "target_tokens": config.target_tokens,
        }
    if output is not None:
        output.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    typer.run(main)
