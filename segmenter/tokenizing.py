"""From sentences to token ids: every sentence once, without special tokens, safe across threads."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer

__all__ = ["SentenceTokenizer", "replace_surrogates"]

_SURROGATES = re.compile("[\ud800-\udfff]")
_SENTENCES_AT_ONCE = 1000


def replace_surrogates(text: str) -> str:
    """Replace every lone surrogate, one for one, so that offsets stay.

    Rust libraries refuse strings that hold one.

    :param text: Any string.
    :return: The text with U+FFFD in place of each surrogate.
    """
    return _SURROGATES.sub("\ufffd", text)


class SentenceTokenizer:
    """Token ids of sentences, whatever they hold.

    Text that looks like a special token is ordinary text here. The underlying tokenizer is a copy
    whose padding and truncation never change, so threads may share it.

    :param tokenizer: The tokenizer of the model.
    """

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = Tokenizer.from_str(tokenizer.to_str())
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._tokenizer.encode_special_tokens = True

    def encode(self, sentences: Sequence[str]) -> list[NDArray[np.int32]]:
        """Tokenize sentences.

        :param sentences: Any strings, empty ones too.
        :return: The ids of each sentence. *Shape:* ``(n_tokens,)`` each.
        """
        return list(self._stream(sentences))

    def spans(self, sentence: str) -> NDArray[np.int64]:
        """Find where the tokens of a sentence lie in it.

        :param sentence: Any string.
        :return: Start and end of each of the tokens that :meth:`encode` gives, in characters. *Shape:*
            ``(n_tokens, 2)``.
        """
        offsets = self._tokenizer.encode(replace_surrogates(sentence), add_special_tokens=False).offsets
        return np.array(offsets, dtype=np.int64).reshape(-1, 2)

    def _stream(self, sentences: Iterable[str]) -> Iterator[NDArray[np.int32]]:
        # In slices, since an Encoding holds far more than its ids.
        rest = iter(sentences)
        while batch := [replace_surrogates(sentence) for sentence in islice(rest, _SENTENCES_AT_ONCE)]:
            for encoding in self._tokenizer.encode_batch_fast(batch, add_special_tokens=False):
                yield np.array(encoding.ids, dtype=np.int32)
