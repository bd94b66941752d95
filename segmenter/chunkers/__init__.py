"""Ways of cutting behind one interface: by topic, and by size, sentence or paragraph to compare with.

.. code-block:: python

    for chunk in FixedSizeChunker(150, 0.2).chunk(text):
        print(chunk.start, chunk.end, chunk.embed_text)
"""

from segmenter.chunkers.base import Chunker
from segmenter.chunkers.fixed import FixedSizeChunker, Style, Unit, WholeDocument
from segmenter.chunkers.gaps import GapChunker, ParagraphChunker, SentenceChunker, pack
from segmenter.chunkers.topic import TopicChunker

__all__ = [
    "Chunker",
    "FixedSizeChunker",
    "GapChunker",
    "ParagraphChunker",
    "SentenceChunker",
    "Style",
    "TopicChunker",
    "Unit",
    "WholeDocument",
    "pack",
]
