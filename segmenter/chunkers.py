"""Ways of cutting behind one interface: by topic, and by size, sentence or paragraph to compare with.

.. code-block:: python

    for chunk in FixedSizeChunker(150, 0.2).chunk(text):
        print(chunk.start, chunk.end, chunk.embed_text)
"""

from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from segmenter.chunking import header_of, make_chunks
from segmenter.config import ChunkConfig, check_count, check_header
from segmenter.counting import Counter, TextTokenizer, counter_of
from segmenter.document import Chunk, Context, Document, Sentence, digest
from segmenter.errors import ConfigError, InputError
from segmenter.segmentation import Segmentation
from segmenter.sentences import Sentences, resolve_splitter, split_document
from segmenter.sizing import Piece
from segmenter.sources import shipped_tokenizer

if TYPE_CHECKING:
    from segmenter.segmenter import Segmenter

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
]

Unit = Literal["words", "characters", "tokens"]
"""What sizes are in. A word is what stands between white space."""

Style = Literal["window", "prepend", "append"]
"""``"window"``: a piece starts each size - overlap. ``"prepend"``, ``"append"``: one starts each size, and
has the end of the piece before it, or the beginning of the one after it, added."""

_SPACES = np.array([chr(code).isspace() for code in range(0x3001)])
_BLOCK = 1 << 20


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


class _OneByOne:
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
        return {"chunker": "topic", **self.segmenter.identity(), **_settings(self.config, self.counter)}

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


class FixedSizeChunker(_OneByOne):
    """Cuts into pieces of the same size, wherever that is.

    A piece is ``chunk.embed_text``; ``chunk.text`` is what is new in it, so that the texts, joined, are the
    document. The last piece ends at its end and may be smaller.

    :param size: Of a piece, 1 or more; with ``"prepend"`` and ``"append"`` of its new part.
    :param overlap: What a piece shares with the next: a whole number below ``size``, or a share of it from
        0.0 up to 1.0, rounded down.
    :param unit: What both are in.
    :param style: Where pieces start.
    :param tokenizer: What tokens are; it has to say where they are. None: the shipped model's.
    :param header: Stands in front of each piece, as in ``ChunkConfig``; its size does not count.
    :raises ConfigError: If a setting is out of its range.
    """

    def __init__(
        self,
        size: int = 150,
        overlap: float = 0.2,
        unit: Unit = "words",
        *,
        style: Style = "window",
        tokenizer: TextTokenizer | None = None,
        header: str | None = None,
    ) -> None:
        check_count("size", size, 1)
        self._size, self._overlap = size, _overlap(overlap, size)
        if unit not in ("words", "characters", "tokens"):
            raise ConfigError(f"got unit={unit!r}, expected 'words', 'characters' or 'tokens'")
        if style not in ("window", "prepend", "append"):
            raise ConfigError(f"got style={style!r}, expected 'window', 'prepend' or 'append'")
        if header is not None:
            check_header(header)
        self._unit, self._style, self._header = unit, style, header
        self._counter: Counter | None = None
        if unit == "tokens":
            self._counter = counter_of(shipped_tokenizer() if tokenizer is None else tokenizer)
        name = self._counter.name if self._counter else ""
        self._fingerprint = digest("fixed", size, self._overlap, unit, style, name, header)

    def identity(self) -> dict[str, Any]:
        """What its cuts depend on.

        :return: Values that JSON can hold.
        """
        return {
            "chunker": self._unit,
            "size": self._size,
            "overlap": self._overlap,
            "style": self._style,
            "header": self._header,
            "tokenizer": self._counter.name if self._counter else None,
        }

    def _cut(self, document: Document) -> tuple[Chunk, ...]:
        text = document.text
        if not text:
            return ()
        at = header_of(document, self._header)
        pieces = []
        for shown, begin, stop, behind in self._places(text).tolist():
            header = at(begin)
            has_context = header or shown < begin or stop < behind
            context = Context(header, text[shown:begin], text[stop:behind]) if has_context else Context()
            pieces.append(Piece(begin, stop, context))
        return make_chunks(document, pieces, fingerprint=self._fingerprint)

    def _places(self, text: str) -> NDArray[np.int64]:
        """Offsets of each piece: where it starts to show, where it begins, stops, and shows no more."""
        if self._unit == "characters":
            return self._spans(len(text))
        starts = _word_starts(text) if self._counter is None else self._counter.starts(text)
        # What stands before the first unit belongs to it; a blank text is one unit.
        bounds = np.concatenate([[0], starts[1:], [len(text)]])
        return bounds[self._spans(len(bounds) - 1)]

    def _spans(self, n_units: int) -> NDArray[np.int64]:
        """The units of each piece: the first it shows, its own, and behind the last it shows."""
        size, overlap = self._size, self._overlap
        if self._style == "window":
            shown = np.arange(0, max(1, n_units - overlap), size - overlap)
            ends = np.minimum(shown + size, n_units)
            return np.stack([shown, np.append(0, ends[:-1]), ends, ends], axis=1)
        starts = np.arange(0, n_units, size)
        ends = np.minimum(starts + size, n_units)
        shown = np.maximum(0, starts - overlap) if self._style == "prepend" else starts
        behind = np.minimum(ends + overlap, n_units) if self._style == "append" else ends
        return np.stack([shown, starts, ends, behind], axis=1)


class GapChunker(_OneByOne):
    """Cuts between sentences where :meth:`opens` says so, within limits like those of ``Segmenter``.

    :param config: Limits and context; its threshold is not used. None: neither.
    :param tokenizer: What its sizes are in; None: the shipped model's.
    :param sentences: How texts are split.
    """

    def __init__(
        self,
        config: ChunkConfig | None = None,
        tokenizer: TextTokenizer | None = None,
        sentences: Sentences = "auto",
    ) -> None:
        self._config = config or ChunkConfig()
        if tokenizer is None:
            tokenizer = shipped_tokenizer() if self._config.counts_tokens else len
        self._counter = counter_of(tokenizer)
        self._splitter = resolve_splitter(sentences)

    def opens(self, document: Document, sentences: tuple[Sentence, ...]) -> NDArray[np.bool_]:
        """Say which sentences open a chunk.

        :param document: The document.
        :param sentences: Its sentences, at least one.
        :return: A flag each; that of the first does not count. *Shape:* ``(n_sentences,)``.
        """
        raise NotImplementedError

    @property
    def name(self) -> str:
        """Tells its settings from others, in fingerprints."""
        return f"{type(self).__name__} {type(self._splitter).__name__}"

    def identity(self) -> dict[str, Any]:
        """What its cuts depend on.

        :return: Its name and how it cuts; values that JSON can hold.
        """
        return {"chunker": self.name, **_settings(self._config, self._counter)}

    def _cut(self, document: Document) -> tuple[Chunk, ...]:
        sentences = tuple(split_document(document, self._splitter))
        flags = self.opens(document, sentences)[1:] if sentences else np.zeros(0, np.bool_)
        result = Segmentation(
            document=document,
            sentences=sentences,
            token_counts=np.zeros(len(sentences), np.int64),
            probabilities=flags.astype(np.float32),
            scored=np.zeros(len(flags), np.bool_),
            trimmed_gaps=0,
            threshold=0.5,
            model=self.name,
            counter=self._counter,
        )
        return result.rechunk(self._config).chunks


class SentenceChunker(GapChunker):
    """Glues whole sentences while they fit; a longer one stays whole.

    :param max_words: Of a chunk, 1 or more.
    :param config: Limits in tokens and context besides; None: neither.
    :param tokenizer: What its sizes are in; None: the shipped model's.
    :param sentences: How texts are split.
    :raises ConfigError: If a setting is out of its range.
    """

    def __init__(
        self,
        max_words: int = 16,
        config: ChunkConfig | None = None,
        tokenizer: TextTokenizer | None = None,
        sentences: Sentences = "auto",
    ) -> None:
        super().__init__(config, tokenizer, sentences)
        check_count("max_words", max_words, 1)
        self._max_words = max_words

    @property
    def name(self) -> str:
        """Tells its settings from others, in fingerprints."""
        return f"{super().name} {self._max_words}"

    def opens(self, document: Document, sentences: tuple[Sentence, ...]) -> NDArray[np.bool_]:
        """Say which sentences open a chunk.

        :param document: The document.
        :param sentences: Its sentences, at least one.
        :return: A flag each. *Shape:* ``(n_sentences,)``.
        """
        counts = [len(sentence.text.split()) for sentence in sentences]
        return pack(counts, self._max_words)


class ParagraphChunker(GapChunker):
    """Cuts at every blank line.

    :param config: Limits in tokens and context; None: neither.
    :param tokenizer: What its sizes are in; None: the shipped model's.
    :param sentences: How texts are split, which matters where a paragraph is over a limit.
    """

    def opens(self, document: Document, sentences: tuple[Sentence, ...]) -> NDArray[np.bool_]:
        """Say which sentences open a chunk.

        :param document: The document.
        :param sentences: Its sentences, at least one.
        :return: A flag each. *Shape:* ``(n_sentences,)``.
        """
        return np.array([sentence.starts_paragraph for sentence in sentences], dtype=np.bool_)


class WholeDocument(_OneByOne):
    """Does not cut, to see what cutting is worth."""

    def identity(self) -> dict[str, Any]:
        """What its cuts depend on.

        :return: Values that JSON can hold.
        """
        return {"chunker": "whole"}

    def _cut(self, document: Document) -> tuple[Chunk, ...]:
        pieces = [Piece(0, len(document.text))] if document.text else []
        return make_chunks(document, pieces, fingerprint=digest("whole"))


def pack(sizes: Iterable[int], most: int) -> NDArray[np.bool_]:
    """Fill chunks one after another.

    :param sizes: Of what is to be packed.
    :param most: Of a chunk; only a single thing may have more.
    :return: What opens a chunk, the first thing included. *Shape:* ``(n_sizes,)``.
    """
    flags: list[bool] = []
    total = 0
    for size in sizes:
        is_new = not flags or total + size > most
        total = size if is_new else total + size
        flags.append(is_new)
    return np.array(flags, dtype=np.bool_)


def _settings(config: ChunkConfig, counter: Counter | None) -> dict[str, Any]:
    """Limits and context, and the tokenizer where it matters; None: the model's."""
    name = counter.name if counter and config.counts_tokens else None
    return {**asdict(config), "tokenizer": name}


def _overlap(overlap: float, size: int) -> int:
    """An overlap in units."""
    if isinstance(overlap, float):
        if not 0 <= overlap < 1:
            raise ConfigError(f"got overlap={overlap!r}, expected a share of the size, from 0.0 up to 1.0")
        return int(size * overlap)
    check_count("overlap", overlap)
    if overlap >= size:
        raise ConfigError(f"got overlap={overlap} and size={size}, expected an overlap below the size")
    return overlap


def _word_starts(text: str) -> NDArray[np.int64]:
    """Where words start, found in blocks, since 50 MB have eight million of them."""
    found = [np.zeros(0, np.int64)]
    after_space = np.ones(1, np.bool_)
    for offset in range(0, len(text), _BLOCK):
        block = text[offset : offset + _BLOCK].encode("utf-32-le", "surrogatepass")
        codes = np.frombuffer(block, np.uint32)
        is_space = _SPACES[np.minimum(codes, len(_SPACES) - 1)] & (codes < len(_SPACES))
        before = np.concatenate([after_space, is_space[:-1]])
        found.append(np.flatnonzero(before & ~is_space) + offset)
        after_space = is_space[-1:]
    return np.concatenate(found)
