"""Documents on their way through a run, and what is done to each by itself, in any process."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from segmenter.chunkers import Chunker
from segmenter.config import ChunkConfig
from segmenter.corpus.documents import BadDocument, Document
from segmenter.counting import Counter
from segmenter.document import Chunk
from segmenter.document import Document as Source
from segmenter.errors import first_line
from segmenter.preparing import Prepared, Preparer
from segmenter.profiling import Profile
from segmenter.readability import is_unreadable
from segmenter.segmentation import Segmentation

__all__ = ["Chunking", "Cut", "First", "Item", "Preparing", "Scored", "Sizing", "begin", "cut_of"]


@dataclass(frozen=True, slots=True)
class Cut:
    """What has become of a document.

    :ivar chunks: Its chunks.
    :ivar characters: Of its text.
    :ivar gaps: How many of its gaps a model has scored.
    :ivar is_unreadable: Whether a model's vocabulary cannot read most of its words.
    """

    chunks: tuple[Chunk, ...]
    characters: int
    gaps: int = 0
    is_unreadable: bool = False


First = Callable[[Source, Profile], Prepared | Cut]
"""What is done to a document before others matter to it: all that comes before the model, or all there is."""


@dataclass(frozen=True, slots=True)
class Item:
    """A document on its way through a run.

    :ivar shard: Where it goes.
    :ivar position: Bytes of the input up to its end.
    :ivar document: What it is, without its text if it is prepared, which has it.
    :ivar prepared: What the model needs, or the chunks where there is none; None if it is bad.
    """

    shard: int
    position: int
    document: Document | BadDocument
    prepared: Prepared | Cut | None


Scored = tuple[int, Item, Segmentation | BadDocument]
"""Place among the items of a shard, item, and what the model has said of it."""


class Preparing:
    """Prepares documents for a model.

    :param preparer: Does the work.
    :param max_tokens: Longest chunk there may be; None for any.
    """

    def __init__(self, preparer: Preparer, max_tokens: int | None) -> None:
        self._preparer = preparer
        self._max_tokens = max_tokens

    def __call__(self, document: Source, profile: Profile) -> Prepared:
        """Prepare a document.

        :param document: The document.
        :param profile: Counts the time.
        :return: What the model needs.
        """
        return self._preparer.prepare(document, profile, self._max_tokens)


class Chunking:
    """Cuts documents without a model.

    :param chunker: Does the work.
    """

    def __init__(self, chunker: Chunker) -> None:
        self._chunker = chunker

    def __call__(self, document: Source, profile: Profile) -> Cut:
        """Cut a document.

        :param document: The document.
        :param profile: Counts the time.
        :return: Its chunks.
        """
        with profile.stage("decoding"):
            return Cut(self._chunker.chunk(document), len(document.text))


class Sizing:
    """Cuts documents whose gaps have been scored.

    :param config: Limits and context.
    :param counter: Counts tokens.
    """

    def __init__(self, config: ChunkConfig, counter: Counter) -> None:
        self._config = config
        self._counter = counter

    def __call__(self, result: Segmentation) -> tuple[Chunk, ...] | str:
        """Cut a document.

        :param result: What is known of its gaps.
        :return: Its chunks; or why there are none, for people to read.
        """
        try:
            return result.rechunk(self._config, self._counter).chunks
        except Exception as error:  # a tokenizer of the user's, memory: it must not cost the others
            return _cause(error)


def cut_of(item: Item, result: Segmentation, found: tuple[Chunk, ...] | str) -> Cut | BadDocument:
    """What has become of a document that the model has seen.

    :param item: The document.
    :param result: What is known of its gaps.
    :param found: What :class:`Sizing` gave.
    :return: Its chunks, or why there are none.
    """
    if isinstance(found, str):
        return BadDocument(item.document.id, found)
    assert isinstance(item.prepared, Prepared)
    n_gaps = int(np.count_nonzero(result.scored))
    return Cut(found, len(result.text), n_gaps, is_unreadable(item.prepared.unreadable_share))


def begin(
    shard: int, position: int, document: Document | BadDocument, first: First, profile: Profile
) -> Item:
    """Do the first work on a document, unless it is bad or turns out to be.

    :param shard: Where it goes.
    :param position: Bytes of the input up to its end.
    :param document: The document.
    :param first: The work.
    :param profile: Counts the time.
    :return: The item.
    """
    prepared = None
    if isinstance(document, Document):
        try:
            prepared = first(document.source(), profile)
            document = Document(document.id, "", carried=document.carried)
        except Exception as error:  # a splitter of the user's, memory: it must not cost the others
            document = BadDocument(document.id, _cause(error))
    return Item(shard, position, document, prepared)


def _cause(error: Exception) -> str:
    return f"{type(error).__name__}: {first_line(error)}"
