"""How much of a text the vocabulary of a model can read."""

import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from tokenizers import Tokenizer

__all__ = ["UnreadableTextWarning", "Vocabulary", "is_unreadable", "warn_if_unreadable"]

_WORD_STARTS = ("▁", "Ġ")
_CONTINUATION = "##"
_FEWEST_WORDS = 5
_LIMIT = 0.5


class UnreadableTextWarning(UserWarning):
    """Most words of a text are unknown to the model, or spelt out letter by letter."""


class Vocabulary:
    """Says which words of a text a model's vocabulary can read.

    A word is unreadable if it is the unknown token, or stands in single letters only. Tokens that
    hold no letter do not count.

    :param tokenizer: The tokenizer of the model.
    :param unknown_id: Id of the unknown token, or None.
    """

    def __init__(self, tokenizer: "Tokenizer", unknown_id: int | None) -> None:
        vocabulary = tokenizer.get_vocab(with_added_tokens=True)
        size = max(vocabulary.values()) + 1
        self._letters = np.zeros(size, dtype=np.bool_)
        self._spelt = np.zeros(size, dtype=np.bool_)
        self._continues = np.zeros(size, dtype=np.bool_)
        marks_starts = any(token.startswith(_WORD_STARTS) for token in vocabulary)
        for token, number in vocabulary.items():
            bare = token.removeprefix(_CONTINUATION).lstrip("".join(_WORD_STARTS))
            self._letters[number] = any(character.isalpha() for character in bare)
            self._spelt[number] = len(bare) == 1
            self._continues[number] = token.startswith(_CONTINUATION) or (
                marks_starts and not token.startswith(_WORD_STARTS)
            )
        if unknown_id is not None:
            self._letters[unknown_id] = self._spelt[unknown_id] = True
            self._continues[unknown_id] = False

    def unreadable_share(self, ids: NDArray[np.int32]) -> float:
        """Share of the words that the model cannot read.

        :param ids: Tokens of a text. *Shape:* ``(n_tokens,)``.
        :return: 0 to 1; 0 for a text of fewer than five words.
        """
        ids = ids[self._letters[ids]]
        if not len(ids):
            return 0.0
        starts = ~self._continues[ids]
        starts[0] = True
        spelt = np.logical_and.reduceat(self._spelt[ids], np.flatnonzero(starts))
        return float(spelt.mean()) if len(spelt) >= _FEWEST_WORDS else 0.0


def is_unreadable(share: float) -> bool:
    """Whether a text has so many such words that its boundaries mean little.

    :param share: As :meth:`Vocabulary.unreadable_share` gives it.
    :return: Whether it has.
    """
    return share > _LIMIT


def warn_if_unreadable(share: float) -> None:
    """Warn of a text that the model cannot read.

    :param share: As :meth:`Vocabulary.unreadable_share` gives it.
    """
    if is_unreadable(share):
        warnings.warn(
            f"the model's vocabulary cannot read {share:.0%} of the words of this text: they are unknown "
            "to it or in single letters, so its boundaries mean little; fine-tune a multilingual "
            "encoder on such texts",
            UnreadableTextWarning,
            stacklevel=_level_of_caller(),
        )


def _level_of_caller() -> int:
    """How many frames up the stack a user's code is, as ``warnings.warn`` counts from our caller."""
    package = str(Path(__file__).parent)
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_code.co_filename.startswith(package):
        frame, level = frame.f_back, level + 1
    return level
