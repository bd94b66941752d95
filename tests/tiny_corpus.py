"""A corpus to segment, and a run over it as a process that may kill itself at a given instant.

``python -m tests.tiny_corpus MODEL INPUT OUTPUT [EVENT COUNT]`` kills itself, as by ``kill -9``, when Python
is about to do something for the COUNT-th time: ``open`` an input file, or ``os.rename``.
``WITHOUT=rename`` and ``WITHOUT=record`` take a safeguard out, to show that it is needed. ``SIZES=1`` cuts to
sizes, with context.
"""

import os
import signal
import sys
from pathlib import Path

from segmenter import ChunkConfig, Segmenter
from segmenter.chunkers import TopicChunker
from segmenter.corpus import CorpusConfig, run
from segmenter.corpus.folder import CorpusFolder
from segmenter.errors import SegmenterError

SENTENCES = (
    "The harbour is old.", "Ships wait for the fog to rise.", "Coffee oils turn bitter.", "Beans are ground.",
    "She left school.", "A prize came late.", "The fjord is deep.", "Water runs through the group head.",
)  # fmt: skip
SHARD = 25


def text(number: int) -> str:
    """A short document, another one for every number."""
    lines = [
        SENTENCES[(number * 3 + place * (1 + number % 5)) % len(SENTENCES)] for place in range(number % 7)
    ]
    return ("\n\n" if number % 3 else " ").join(lines) + f" {number}.\r\n"


def write_folder(folder: Path, count: int) -> Path:
    """A file a document, one in fifty of them bad."""
    folder.mkdir()
    for number in range(count):
        content = b"\xff" if number % 50 == 49 else text(number).encode()
        (folder / f"{number:05d}.txt").write_bytes(content)
    return folder


def config(**settings: object) -> CorpusConfig:
    """A run without processes of its own."""
    return CorpusConfig(**{"shard_size": SHARD, "workers": 0, **settings})  # type: ignore[arg-type]


def sized(segmenter: Segmenter) -> TopicChunker:
    """A cutter to sizes, with context."""
    return TopicChunker(segmenter, ChunkConfig(max_tokens=20, overlap_sentences=1, header="{document}"))


def kill_at(event: str, count: int, inputs: Path) -> None:
    """Kill this process when something is about to happen for that many times."""
    left = count

    def watch(name: str, arguments: tuple[object, ...]) -> None:
        nonlocal left
        if name == event and (event != "open" or str(arguments[0]).startswith(str(inputs))):
            left -= 1
            if left == 0:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(watch)


def take_out(safeguard: str) -> None:
    """Break the folder on purpose."""
    if safeguard == "rename":
        CorpusFolder.partial = CorpusFolder._shard  # type: ignore[method-assign]
    if safeguard == "record":
        CorpusFolder.is_done = lambda self, number: self._shard(number).exists()  # type: ignore[method-assign]
        CorpusFolder._record = lambda self, number: None  # type: ignore[method-assign]


def main() -> None:
    """Run, if it may, to the end."""
    model, inputs, output = map(Path, sys.argv[1:4])
    take_out(os.environ.get("WITHOUT", ""))
    segmenter = Segmenter.from_pretrained(model, device="cpu")
    workers = int(os.environ.get("WORKERS", "0"))
    if len(sys.argv) > 4:
        kill_at(sys.argv[4], int(sys.argv[5]), inputs)
    print("begin", flush=True)
    try:
        chunker = sized(segmenter) if "SIZES" in os.environ else segmenter
        run([inputs], output, chunker, config(workers=workers))
    except SegmenterError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
