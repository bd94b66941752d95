"""Whole corpora: from files, folders, addresses and data sets to files of chunks, resumable.

.. code-block:: python

    from segmenter import corpus

    if __name__ == "__main__":
        corpus.run(["articles/", "more.jsonl.zst"], "chunks/", show_progress=True)
"""

from segmenter.corpus.config import CorpusConfig, OutputFormat
from segmenter.corpus.ranks import Rank, device_of, this_rank
from segmenter.corpus.runner import CorpusReport, run

__all__ = ["CorpusConfig", "CorpusReport", "OutputFormat", "Rank", "device_of", "run", "this_rank"]
