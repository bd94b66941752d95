"""Documents whose sections are known."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral

import numpy as np
from numpy.typing import NDArray

from segmenter.errors import InputError

__all__ = [
    "LabelledDocument",
    "content_hash",
    "drop_lead",
    "gap_flags",
    "id_order",
    "keep_top_level",
    "sample_documents",
]


@dataclass(frozen=True, slots=True)
class LabelledDocument:
    """A document whose sections are known. Headings are not among its sentences.

    :ivar id: Names it.
    :ivar sentences: Its sentences, any strings.
    :ivar boundaries: Numbers of the sentences that start a section, rising, each from 1 to
        ``len(sentences) - 1``; 0 is never among them.
    :ivar paragraphs: Numbers of the sentences that start a paragraph, in the same way; None if that
        is not known.
    :ivar titles: Title of each section, ``""`` for an untitled one; None if they are not known.
    :ivar levels: Heading level of each section, 1 the highest; None if they are not known.
    :raises InputError: If it is none of that.
    """

    id: str
    sentences: Sequence[str]
    boundaries: Sequence[int]
    paragraphs: Sequence[int] | None = None
    titles: Sequence[str] | None = None
    levels: Sequence[int] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.id, str):
            raise InputError(f"got id {self.id!r}, expected a string")
        if isinstance(self.sentences, str) or not isinstance(self.sentences, Sequence):
            raise InputError(
                f"got sentences of type {type(self.sentences).__name__}, expected a list of strings"
            )
        for number, sentence in enumerate(self.sentences):
            if not isinstance(sentence, str):
                raise InputError(
                    f"got sentence {number} of type {type(sentence).__name__}, expected a string"
                )
        object.__setattr__(self, "boundaries", self._numbers("boundaries", self.boundaries))
        if self.paragraphs is not None:
            object.__setattr__(self, "paragraphs", self._numbers("paragraphs", self.paragraphs))
        for name, kind in (("titles", str), ("levels", Integral)):
            values = getattr(self, name)
            if values is None:
                continue
            if isinstance(values, str) or not isinstance(values, Sequence):
                raise InputError(f"got {name} of type {type(values).__name__}, expected a list or null")
            n_sections = len(self.boundaries) + 1
            if len(values) != n_sections or not all(isinstance(value, kind) for value in values):
                what = "string" if kind is str else "whole number"
                raise InputError(
                    f"got {len(values)} {name} {list(values)[:3]}, expected {n_sections}: a {what} a section"
                )

    def _numbers(self, name: str, values: Iterable[int]) -> tuple[int, ...]:
        """Check sentence numbers."""
        last = len(self.sentences) - 1
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise InputError(
                f"got {name} of type {type(values).__name__}, expected a list of sentence numbers"
            )
        numbers: list[int] = []
        what = "section" if name == "boundaries" else "paragraph"
        for value in values:
            if isinstance(value, bool) or not isinstance(value, Integral) or not 1 <= value <= last:
                raise InputError(
                    f"got {value!r} among {name}, expected whole numbers from 1 to {last}: "
                    f"the sentences that start a {what}"
                )
            if numbers and value <= numbers[-1]:
                raise InputError(f"got {value} after {numbers[-1]} in {name}, expected rising numbers")
            numbers.append(int(value))
        return tuple(numbers)

    @property
    def reference(self) -> NDArray[np.bool_]:
        """Which gaps are boundaries. *Shape:* ``(max(0, n_sentences - 1),)``."""
        return gap_flags(self.boundaries, len(self.sentences))


def gap_flags(numbers: Sequence[int], n_sentences: int) -> NDArray[np.bool_]:
    """Turn sentence numbers into flags over the gaps before them.

    :param numbers: Each from 1 to ``n_sentences - 1``.
    :param n_sentences: 0 or more.
    :return: A flag a gap. *Shape:* ``(max(0, n_sentences - 1),)``.
    """
    flags = np.zeros(max(0, n_sentences - 1), dtype=np.bool_)
    flags[np.array(numbers, dtype=np.int64) - 1] = True
    return flags


def drop_lead(document: LabelledDocument) -> LabelledDocument | None:
    """Leave out an untitled first section, as work on Wikipedia does (Koshorek et al. 2018).

    :param document: One whose titles are known.
    :return: The document from its first titled section on; None if there is none.
    :raises InputError: If the titles are not known.
    """
    if document.titles is None:
        raise InputError(f"cannot tell whether {document.id} has a lead, since it has no titles")
    if document.titles[0]:
        return document
    if not document.boundaries:
        return None
    first = document.boundaries[0]

    def rest(numbers: Sequence[int]) -> list[int]:
        return [number - first for number in numbers if number > first]

    return replace(
        document,
        sentences=document.sentences[first:],
        boundaries=rest(document.boundaries),
        paragraphs=None if document.paragraphs is None else rest(document.paragraphs),
        titles=document.titles[1:],
        levels=None if document.levels is None else document.levels[1:],
    )


def keep_top_level(document: LabelledDocument) -> LabelledDocument:
    """Join subsections: keep the boundaries of the highest level of a section.

    An untitled lead has no level, and neither has a page title, the only section of level 1 at the start.

    :param document: One whose levels are known.
    :return: The document with fewer boundaries.
    :raises InputError: If the levels are not known.
    """
    if document.levels is None:
        raise InputError(f"cannot tell the top sections of {document.id}, since it has no levels")
    rest = document.levels[1:]
    is_lead = document.titles is None or not document.titles[0]
    is_page_title = document.levels[0] == 1 and 1 not in rest
    top = min(rest if is_lead or is_page_title else document.levels, default=1)
    kept = [number for number, level in enumerate(document.levels) if number == 0 or level == top]
    return replace(
        document,
        boundaries=[document.boundaries[number - 1] for number in kept[1:]],
        titles=None if document.titles is None else [document.titles[number] for number in kept],
        levels=[document.levels[number] for number in kept],
    )


def content_hash(document: LabelledDocument) -> str:
    """A hash of the sentences, to tell copies; white space around them does not count.

    :param document: The document.
    :return: Hexadecimal digits.
    """
    digest = hashlib.sha256()
    for sentence in document.sentences:
        digest.update(sentence.strip().encode("utf-8", "surrogatepass") + b"\n")
    return digest.hexdigest()


def id_order(document: LabelledDocument) -> bytes:
    """A hash of the id: an order, and a split, that has nothing to do with the content.

    :param document: The document.
    :return: 32 bytes.
    """
    return hashlib.sha256(document.id.encode("utf-8", "surrogatepass")).digest()


def sample_documents(
    documents: Iterable[LabelledDocument], most_gaps: int | None, *, from_end: bool = False
) -> list[LabelledDocument]:
    """Take whole documents in the order of a hash of their ids.

    :param documents: The documents.
    :param most_gaps: How many gaps they may have together; at least one document is taken. None: all.
    :param from_end: Whether to begin with the last, so that two samples have nothing in common unless
        together they are larger than the set.
    :return: The sample.
    """
    ordered = sorted(documents, key=id_order, reverse=from_end)
    if most_gaps is None or not ordered:
        return ordered
    totals = np.cumsum([len(document.reference) for document in ordered])
    return ordered[: max(1, int(np.searchsorted(totals, most_gaps, side="right")))]
