"""The text that a model saw on both sides of each gap."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from segmenter.tokenizing import SentenceTokenizer
from segmenter.windows import Windows

__all__ = ["Sides", "text_of_windows"]


@dataclass(frozen=True, slots=True)
class Sides:
    """Which text lies in each window, in whole sentences and the characters they lack at the far ends.

    :ivar first: The sentence in which the left side starts. *Shape:* ``(n_windows,)``.
    :ivar skipped: Characters of it that lie before the window. *Shape:* ``(n_windows,)``.
    :ivar last: The sentence in which the right side ends. *Shape:* ``(n_windows,)``.
    :ivar dropped: Characters of it that lie behind the window. *Shape:* ``(n_windows,)``.
    :ivar has_marks: Whether the model was told where paragraphs start.
    """

    first: NDArray[np.int64]
    skipped: NDArray[np.int64]
    last: NDArray[np.int64]
    dropped: NDArray[np.int64]
    has_marks: bool


def text_of_windows(windows: Windows, sentences: Sequence[str], tokenizer: SentenceTokenizer) -> Sides:
    """Find the text of windows.

    :param windows: As the model read them.
    :param sentences: The sentences of their document.
    :param tokenizer: The tokenizer that made its tokens.
    :return: The text of each, in the order of the windows.
    """
    starts, ends = windows.stream.starts, windows.stream.ends
    left, middle, right = windows.bounds[:, 0], windows.bounds[:, 1], windows.bounds[:, 3]
    first = np.searchsorted(starts, left, side="right") - 1
    # One that begins with the mark of a paragraph has nothing of the sentence before it.
    first = np.minimum(np.where(left >= ends[first], first + 1, first), windows.gaps)
    last = np.searchsorted(starts, np.maximum(right - 1, middle), side="right") - 1
    last = np.maximum(last, windows.gaps + 1)
    skipped, dropped = np.zeros_like(first), np.zeros_like(last)
    spans = _Spans(sentences, tokenizer)
    for index in np.flatnonzero(left > starts[first]):
        number = int(first[index])
        skipped[index] = spans.of(number)[left[index] - starts[number], 0]
    for index in np.flatnonzero(right < ends[last]):
        number = int(last[index])
        kept = int(right[index] - starts[number])
        length = len(sentences[number])
        dropped[index] = length - spans.of(number)[kept - 1, 1] if kept else length
    has_marks = bool((starts[1:] > ends[:-1]).any())
    return Sides(first, skipped, last, dropped, has_marks)


class _Spans:
    """Where the tokens of sentences lie, each sentence tokenized once."""

    def __init__(self, sentences: Sequence[str], tokenizer: SentenceTokenizer) -> None:
        self._sentences, self._tokenizer = sentences, tokenizer
        self._known: dict[int, NDArray[np.int64]] = {}

    def of(self, number: int) -> NDArray[np.int64]:
        if number not in self._known:
            self._known[number] = self._tokenizer.spans(self._sentences[number])
        return self._known[number]
