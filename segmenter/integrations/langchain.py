"""A text splitter for LangChain: ``pip install 'cross-segmenter[langchain]'``.

.. code-block:: python

    splitter = SegmenterTextSplitter(TopicChunker(Segmenter.from_pretrained(), ChunkConfig(max_tokens=256)))
    documents = splitter.split_documents(pages)
"""

from typing import Any

from segmenter.chunkers import Chunker
from segmenter.extras import require
from segmenter.integrations.metadata import inked, metadata_of

require("langchain_text_splitters")

from langchain_core.documents import Document  # noqa: E402
from langchain_text_splitters import TextSplitter  # noqa: E402

__all__ = ["SegmenterTextSplitter"]


class SegmenterTextSplitter(TextSplitter):
    """Splits as a cutter of this package does.

    The content of a document is ``chunk.embed_text``; its metadata are those of the one it is from and
    ``start_index``, ``end_index`` and more (:func:`segmenter.integrations.metadata.metadata_of`).

    :param chunker: Any of :mod:`segmenter.chunkers` and :mod:`segmenter.rivals`.
    """

    def __init__(self, chunker: Chunker) -> None:
        super().__init__(add_start_index=True, strip_whitespace=False)
        self._chunker = chunker

    def split_text(self, text: str) -> list[str]:
        """Split a text.

        :param text: Any string.
        :return: What is to be embedded; nothing for a blank text.
        """
        return [chunk.embed_text for chunk in inked(self._chunker.chunk(text))]

    def create_documents(
        self, texts: list[str], metadatas: list[dict[Any, Any]] | None = None
    ) -> list[Document]:
        """Split texts, in batches that run across them.

        :param texts: Any strings.
        :param metadatas: What is known of each.
        :return: A document a chunk, in order.
        """
        known = metadatas or [{}] * len(texts)
        return [
            Document(page_content=chunk.embed_text, metadata={**one, **metadata_of(chunk)})
            for one, chunks in zip(known, self._chunker.chunk_many(texts), strict=True)
            for chunk in inked(chunks)
        ]
