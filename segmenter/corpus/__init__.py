"""Whole corpora: from files, folders, addresses and data sets to files of chunks, resumable.

.. code-block:: python

    from segmenter import corpus

    if __name__ == "__main__":
        corpus.run(["articles/", "more.jsonl.zst"], "chunks/", show_progress=True)
        # Or cut in another way.
        chunker = TopicChunker(Segmenter.from_pretrained(), ChunkConfig(max_tokens=256), tokenizer)
        corpus.run(["articles/"], "small-chunks/", chunker)
"""

from segmenter.corpus.config import CorpusConfig, OutputFormat
from segmenter.corpus.cutting import CorpusChunker
from segmenter.corpus.ranks import Rank, device_of, this_rank
from segmenter.corpus.report import CorpusReport
from segmenter.corpus.runner import run

__all__ = [
    "CorpusChunker",
    "CorpusConfig",
    "CorpusReport",
    "OutputFormat",
    "Rank",
    "device_of",
    "run",
    "this_rank",
]
