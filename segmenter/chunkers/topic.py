"""Cuts by topic."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from segmenter.chunkers.base import settings_of
from segmenter.config import ChunkConfig
from segmenter.counting import TextTokenizer, counter_of
from segmenter.document import Chunk, Document
from segmenter.segmentation import Segmentation

if TYPE_CHECKING:
    from segmenter.segmenter import Segmenter

__all__ = ["TopicChunker"]


class TopicChunker:
    """Cuts where the topic changes.

    :param segmenter: Has the model.
    :param config: How to cut; None: at the threshold, without limits.
    :param tokenizer: What its sizes are in; None: the checkpoint's.
    """

    def __init__(
        self,
        segmenter: "Segmenter",
        config: ChunkConfig | None = None,
        tokenizer: TextTokenizer | None = None,
    ) -> None:
        self.segmenter = segmenter
        self.config = config or ChunkConfig()
        self.counter = None if tokenizer is None else counter_of(tokenizer)

    def identity(self) -> dict[str, Any]:
        """What its cuts depend on.

        :return: That of the segmenter, and how it cuts; values that JSON can hold.
        """
        return {"chunker": "topic", **self.segmenter.identity(), **settings_of(self.config, self.counter)}

    def chunk(self, text: str | Document) -> tuple[Chunk, ...]:
        """Cut a document.

        :param text: Any string, or a document.
        :return: Its chunks, whose texts joined are the document; none for an empty one.
        """
        return next(self.chunk_many([text]))

    def chunk_many(
        self, texts: Iterable[str | Document], *, show_progress: bool = False
    ) -> Iterator[tuple[Chunk, ...]]:
        """Cut documents, in batches that run across them.

        :param texts: Any strings or documents.
        :param show_progress: Whether to show a bar on the standard error.
        :yield: The chunks of each.
        """
        for result in self.segment_many(texts, show_progress=show_progress):
            with self.segmenter.profile.stage("decoding"):
                chunks = result.chunks
            yield chunks

    def segment_many(
        self, texts: Iterable[str | Document], *, show_progress: bool = False
    ) -> Iterator[Segmentation]:
        """Cut documents, and keep how likely each gap was.

        :param texts: Any strings or documents.
        :param show_progress: Whether to show a bar on the standard error.
        :return: The result of each.
        """
        return self.segmenter.segment_many(
            texts, chunks=self.config, tokenizer=self.counter, show_progress=show_progress
        )
