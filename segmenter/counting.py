"""How many tokens a text has, by whatever tokenizer the user names.

A run of text that a tokenizer swallows as one unknown token counts as its characters: an embedder that
knows none of it should not be given all of it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from functools import cached_property
from itertools import accumulate, islice
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

from segmenter.document import digest
from segmenter.errors import ConfigError
from segmenter.tokenizing import replace_surrogates

__all__ = ["Counter", "TextTokenizer", "counter_of"]

_TEXTS_AT_ONCE = 1000
_PROBES = (
    "Fog is common in autumn.",
    "unreadability, 1,234.5 km/h",
    "naïve Übergrößenträger",
    "東京の霧",
    "x = [0] * 9",
)
"""Tokenizers that count these alike are taken for one."""

_WORD = re.compile(r"\S+")
_T = TypeVar("_T")

TextTokenizer = Any
"""A ``tokenizers.Tokenizer``, a tokenizer of transformers, a tiktoken encoding, or a callable that takes a
text and returns its tokens or their number."""


class Counter(Protocol):
    """Counts tokens as an embedder will see them."""

    @property
    def name(self) -> str:
        """Tells it from others, in fingerprints."""
        ...

    def count(self, texts: Sequence[str]) -> NDArray[np.int64]:
        """Count the tokens of texts, each whole, special tokens included.

        :param texts: Any strings.
        :return: *Shape:* ``(n_texts,)``.
        """
        ...

    def starts(self, text: str) -> NDArray[np.int64]:
        """Find where the tokens of a text start, special tokens left out.

        :param text: Any string.
        :return: Offsets in characters, rising; tokens inside one character are counted once. *Shape:*
            ``(n_tokens,)``.
        :raises ConfigError: If this tokenizer does not say.
        """
        ...


def counter_of(tokenizer: TextTokenizer) -> Counter:
    """Make a counter of a tokenizer.

    :param tokenizer: As the user has it; it is not changed.
    :return: The counter; one that is a counter already, as it is.
    :raises ConfigError: If it is not a tokenizer.
    """
    if isinstance(tokenizer, _FastCounter | _TiktokenCounter | _PlainCounter):
        return tokenizer
    if isinstance(tokenizer, Tokenizer):
        return _FastCounter(tokenizer)
    if isinstance(backend := getattr(tokenizer, "backend_tokenizer", None), Tokenizer):
        return _FastCounter(backend)
    if hasattr(tokenizer, "encode_ordinary") and hasattr(tokenizer, "decode_tokens_bytes"):
        return _TiktokenCounter(tokenizer)
    if hasattr(tokenizer, "all_special_ids"):  # of transformers, in Python
        return _PlainCounter(lambda text: tokenizer(text, verbose=False)["input_ids"], repr(tokenizer))
    if callable(tokenizer):
        kind = tokenizer if hasattr(tokenizer, "__qualname__") else type(tokenizer)
        # A method of a built-in type, such as str.split, has no module.
        return _PlainCounter(tokenizer, f"{getattr(kind, '__module__', '')}.{kind.__qualname__}")
    raise ConfigError(
        f"got a {type(tokenizer).__name__} as tokenizer, expected one of tokenizers or transformers, "
        "a tiktoken encoding, or a callable that takes a text and returns its tokens or their number"
    )


class _FastCounter:
    """By a tokenizer of ``tokenizers``: a copy, so that threads may share the user's."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = Tokenizer.from_str(tokenizer.to_str())
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        unknown = getattr(self._tokenizer.model, "unk_token", None)
        self._unknown = None if unknown is None else self._tokenizer.token_to_id(unknown)
        if unknown is None and type(self._tokenizer.model).__name__ == "Unigram":
            self._unknown = _unigram_unknown(self._tokenizer)

    def __reduce__(self) -> tuple[Any, ...]:
        # Without what it has worked out since, so that what is sent is always the same.
        return _FastCounter, (self._tokenizer,)

    @cached_property
    def name(self) -> str:
        return digest(self._tokenizer.to_str())

    def count(self, texts: Sequence[str]) -> NDArray[np.int64]:
        return np.fromiter(self._counts(texts), dtype=np.int64, count=len(texts))

    def _counts(self, texts: Sequence[str]) -> Iterator[int]:
        for batch in _batches(map(replace_surrogates, texts)):
            # Without offsets, which take longer than all else, but where a token is unknown.
            for text, encoding in zip(batch, self._tokenizer.encode_batch_fast(batch), strict=True):
                ids = encoding.ids
                yield len(ids) if self._unknown not in ids else self._with_unknown(text)

    def _with_unknown(self, text: str) -> int:
        encoding = self._tokenizer.encode(text)
        return sum(
            end - start if number == self._unknown else 1
            for number, (start, end) in zip(encoding.ids, encoding.offsets, strict=True)
        )

    def starts(self, text: str) -> NDArray[np.int64]:
        found: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
        for start, part in _parts(replace_surrogates(text)):
            encoding = self._tokenizer.encode(part, add_special_tokens=False)
            found.append(np.array([offset for offset, _ in encoding.offsets], dtype=np.int64) + start)
        return np.unique(np.concatenate(found))


class _TiktokenCounter:
    """By an encoding of tiktoken, whose special tokens are ordinary text here."""

    def __init__(self, encoding: Any) -> None:
        self._encoding = encoding

    @property
    def name(self) -> str:
        return f"tiktoken {self._encoding.name}"

    def count(self, texts: Sequence[str]) -> NDArray[np.int64]:
        encode = self._encoding.encode_ordinary
        return np.array([len(encode(replace_surrogates(text))) for text in texts], dtype=np.int64)

    def starts(self, text: str) -> NDArray[np.int64]:
        found: list[NDArray[np.int64]] = [np.zeros(0, np.int64)]
        for start, part in _parts(replace_surrogates(text)):
            pieces = self._encoding.decode_tokens_bytes(self._encoding.encode_ordinary(part))
            ends = np.fromiter(accumulate(map(len, pieces)), dtype=np.int64, count=len(pieces))
            # The number of characters that begin before a byte; a token inside one starts with the next.
            begins = (np.frombuffer(part.encode(), np.uint8) & 0xC0) != 0x80
            before = np.concatenate([[0], np.cumsum(begins)])
            found.append(before[np.concatenate([[0], ends[:-1]])] + start)
        return np.unique(np.concatenate(found))


class _PlainCounter:
    """By a callable that returns tokens, or how many there are."""

    def __init__(self, tokenize: Callable[[str], int | Sized], name: str) -> None:
        self._tokenize = tokenize
        self._name = name

    @cached_property
    def name(self) -> str:
        # All lambdas have one name, and what a closure holds has none.
        return f"{self._name} {self.count(_PROBES).tolist()}"

    def count(self, texts: Sequence[str]) -> NDArray[np.int64]:
        return np.array([self._one(replace_surrogates(text)) for text in texts], dtype=np.int64)

    def _one(self, text: str) -> int:
        found: Any = self._tokenize(text)
        if isinstance(found, Mapping) and "input_ids" in found:  # as transformers gives them
            found = found["input_ids"]
        number = len(found) if isinstance(found, Sized) else found
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 0:
            raise ConfigError(
                f"got {found!r} from the tokenizer {self._name}, "
                "expected the tokens of a text or their number"
            )
        return int(number)

    def starts(self, text: str) -> NDArray[np.int64]:
        raise ConfigError(
            f"got the tokenizer {self._name}, which counts tokens but does not say where they start; "
            "expected one of tokenizers, transformers (fast) or tiktoken"
        )


def _unigram_unknown(tokenizer: Tokenizer) -> int | None:
    import json

    found = json.loads(tokenizer.to_str())["model"].get("unk_id")
    return None if found is None else int(found)


def _batches(values: Iterable[_T]) -> Iterator[list[_T]]:
    rest = iter(values)
    while batch := list(islice(rest, _TEXTS_AT_ONCE)):
        yield batch


_PART = re.compile(r"(?s).{1,100000}(?:(?=\s)|\Z)|.{1,100000}")


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Parts of a text that end where a word does, since what a tokenizer says of a text takes much memory."""
    for match in _PART.finditer(text):
        yield match.start(), match[0]
