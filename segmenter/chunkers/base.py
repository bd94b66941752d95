"""What cutters have in common."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any, Protocol

from segmenter.config import ChunkConfig
from segmenter.counting import Counter
from segmenter.document import Chunk, Document
from segmenter.errors import InputError

__all__ = ["Chunker", "OneByOne", "settings_of"]


class Chunker(Protocol):
    """Cuts documents."""

    def chunk(self, text: str | Document) -> tuple[Chunk, ...]:
        """Cut a document.

        :param text: Any string, or a document.
        :return: Its chunks, whose texts joined are the document.
        """
        ...

    def chunk_many(
        self, texts: Iterable[str | Document], *, show_progress: bool = False
    ) -> Iterator[tuple[Chunk, ...]]:
        """Cut documents, one after another.

        :param texts: Any strings or documents.
        :param show_progress: Whether to show a bar on the standard error, where a model takes time.
        :return: The chunks of each.
        """
        ...


class OneByOne:
    """A cutter to which documents do not matter to each other."""

    def chunk(self, text: str | Document) -> tuple[Chunk, ...]:
        """Cut a document.

        :param text: Any string, or a document.
        :return: Its chunks, whose texts joined are the document; none for an empty one.
        :raises InputError: If it is not a string.
        """
        document = text if isinstance(text, Document) else Document(text=text)
        if not isinstance(document.text, str):
            raise InputError(f"got a {type(text).__name__}, expected a str; decode bytes first")
        return self._cut(document)

    def chunk_many(
        self, texts: Iterable[str | Document], *, show_progress: bool = False
    ) -> Iterator[tuple[Chunk, ...]]:
        """Cut documents, one after another.

        :param texts: Any strings or documents.
        :param show_progress: Not needed here.
        :yield: The chunks of each.
        :raises InputError: If one is not a string.
        """
        if isinstance(texts, str):
            raise InputError("got a str as texts, expected several: put it into a list")
        for text in texts:
            yield self.chunk(text)

    def _cut(self, document: Document) -> tuple[Chunk, ...]:
        raise NotImplementedError


def settings_of(config: ChunkConfig, counter: Counter | None) -> dict[str, Any]:
    """Limits and context, and the tokenizer where it matters.

    :param config: Limits and context.
    :param counter: Of the tokenizer; None: the model's.
    :return: Values that JSON can hold.
    """
    name = counter.name if counter and config.counts_tokens else None
    return {**asdict(config), "tokenizer": name}
