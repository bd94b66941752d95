"""Settings: how to cut, and what a checkpoint was trained for."""

import json
from dataclasses import asdict, dataclass, fields
from numbers import Real
from typing import Any, Literal, Self

from segmenter.errors import ConfigError

__all__ = ["Candidates", "CheckpointConfig", "ChunkConfig", "Context"]

Context = Literal["sentence"] | int
"""``"sentence"``: one sentence a side. A number: as many sentences as fill that many tokens a side."""

Candidates = Literal["auto", "all", "paragraphs"]
"""Which gaps are scored."""


def check_threshold(threshold: float) -> float:
    """Check a threshold.

    :param threshold: Expected to be 0 to 1.
    :return: The same as a plain float, whatever number it was.
    :raises ConfigError: If it is not.
    """
    if isinstance(threshold, bool) or not isinstance(threshold, Real) or not 0 <= threshold <= 1:
        raise ConfigError(f"got threshold={threshold!r}, expected a number from 0 to 1")
    return float(threshold)


def check_candidates(candidates: str) -> None:
    """Check the name of a choice of gaps.

    :param candidates: Expected to be ``auto``, ``all`` or ``paragraphs``.
    :raises ConfigError: If it is not.
    """
    if candidates not in ("auto", "all", "paragraphs"):
        raise ConfigError(f"got candidates={candidates!r}, expected 'auto', 'all' or 'paragraphs'")


def check_count(name: str, value: object, least: int = 0) -> None:
    """Check a number of things.

    :param name: What it is called.
    :param value: Expected to be a whole number.
    :param least: The least it may be.
    :raises ConfigError: If it is not.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ConfigError(f"got {name}={value!r}, expected a whole number, {least} or more")


@dataclass(frozen=True, kw_only=True, slots=True)
class ChunkConfig:
    """How to cut, and what to add to each chunk.

    Sizes are in tokens of the tokenizer that is named beside it, special tokens included, as an embedder
    counts them.

    :ivar threshold: Gaps above it are cut, 0 to 1. None: the threshold there was.
    :ivar max_tokens: No chunk has more, with all that is added to it; 1 or more. None: no limit.
    :ivar min_tokens: As few chunks as can be have fewer, without what is added; 0 or more.
    :ivar target_tokens: The size that chunks should rather have; 1 or more. None: any is as good.
    :ivar overlap_sentences: How many sentences of what stands before a chunk are added to it.
    :ivar overlap_tokens: The same in tokens; it begins with a whole word.
    :ivar neighbours: How many sentences are added on each side.
    :ivar header: Stands in front of each chunk; ``{document}``, ``{section}`` and ``{title}`` become the
        document's title, the headings the chunk stands under, and the last of them. None: nothing.
    """

    threshold: float | None = None
    max_tokens: int | None = None
    min_tokens: int | None = None
    target_tokens: int | None = None
    overlap_sentences: int = 0
    overlap_tokens: int = 0
    neighbours: int = 0
    header: str | None = None

    def __post_init__(self) -> None:
        if self.threshold is not None:
            object.__setattr__(self, "threshold", check_threshold(self.threshold))
        for name, least in (("max_tokens", 1), ("min_tokens", 0), ("target_tokens", 1)):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name), least)
        for name in ("overlap_sentences", "overlap_tokens", "neighbours"):
            check_count(name, getattr(self, name))
        if self.max_tokens is not None:
            for name in ("min_tokens", "target_tokens", "overlap_tokens"):
                if (getattr(self, name) or 0) > self.max_tokens - (name == "overlap_tokens"):
                    raise ConfigError(
                        f"got {name}={getattr(self, name)} and max_tokens={self.max_tokens}: "
                        "there is no room for that; make one of them smaller or larger"
                    )
        if self.overlap_tokens and (self.overlap_sentences or self.neighbours):
            raise ConfigError(
                f"got overlap_tokens={self.overlap_tokens} and overlap_sentences={self.overlap_sentences}, "
                f"neighbours={self.neighbours}; expected an overlap in tokens or in sentences, not both"
            )
        if self.header is not None:
            check_header(self.header)

    @property
    def counts_tokens(self) -> bool:
        """Whether a tokenizer is needed to cut."""
        return bool(
            self.max_tokens is not None or self.min_tokens or self.target_tokens or self.overlap_tokens
        )


def check_header(header: object) -> None:
    """Check what is to stand in front of chunks.

    :param header: Expected to be a format of ``{document}``, ``{section}`` and ``{title}``.
    :raises ConfigError: If it is not.
    """
    try:
        if not isinstance(header, str):
            raise ValueError("it is not a string")
        header.format(document="", section="", title="")
    except (ValueError, LookupError, AttributeError) as error:
        raise ConfigError(
            f"got header={header!r}, expected text with {{document}}, {{section}} or {{title}}: {error}"
        ) from error


@dataclass(frozen=True, kw_only=True, slots=True)
class CheckpointConfig:
    """What ``segmenter.json`` says about a checkpoint.

    The defaults are those of the published recipe, for folders without that file.

    :ivar format_version: Of the file.
    :ivar context: What stood on each side of a gap in training.
    :ivar threshold: Gaps above it are cut, 0 to 1.
    :ivar paragraph_threshold: The same in a document that is scored at its paragraph breaks only, where
        boundaries are several times as frequent; None: ``threshold`` there too.
    :ivar boundary_label: Index of the label that means a boundary, 0 or 1.
    :ivar sentences: How texts are split: ``"auto"`` or ``"lines"``.
    :ivar candidates: Which gaps are scored.
    :ivar paragraph_mark: The token that tells the model of a paragraph break; None if the
        checkpoint knows no marks.
    :ivar metrics: Measured figures, for people to read.
    """

    format_version: int = 1
    context: Context = "sentence"
    threshold: float = 0.5
    paragraph_threshold: float | None = None
    boundary_label: int = 1
    sentences: Literal["auto", "lines"] = "auto"
    candidates: Candidates = "auto"
    paragraph_mark: str | None = None
    metrics: dict[str, Any] | None = None

    def __post_init__(self) -> None:
        if self.format_version != 1:
            raise ConfigError(
                f"got format_version={self.format_version!r}, expected 1: "
                "the checkpoint was made by another version of segmenter; upgrade it"
            )
        is_width = isinstance(self.context, int) and not isinstance(self.context, bool) and self.context > 0
        if self.context != "sentence" and not is_width:
            raise ConfigError(f"got context={self.context!r}, expected 'sentence' or tokens a side")
        object.__setattr__(self, "threshold", check_threshold(self.threshold))
        if self.paragraph_threshold is not None:
            object.__setattr__(self, "paragraph_threshold", check_threshold(self.paragraph_threshold))
        check_candidates(self.candidates)
        if self.boundary_label not in (0, 1):
            raise ConfigError(f"got boundary_label={self.boundary_label!r}, expected 0 or 1")
        if not isinstance(self.paragraph_mark, str | None):
            raise ConfigError(f"got paragraph_mark={self.paragraph_mark!r}, expected a token or null")
        if not isinstance(self.metrics, dict | None):
            raise ConfigError(f"got metrics={self.metrics!r}, expected an object or null")
        if self.sentences not in ("auto", "lines"):
            raise ConfigError(f"got sentences={self.sentences!r}, expected 'auto' or 'lines'")

    def threshold_for(self, at_breaks: bool) -> float:
        """The threshold of a document.

        :param at_breaks: Whether only its paragraph breaks are scored.
        :return: 0 to 1.
        """
        if at_breaks and self.paragraph_threshold is not None:
            return self.paragraph_threshold
        return self.threshold

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the settings of a checkpoint.

        :param text: The content of ``segmenter.json``.
        :return: The settings.
        :raises ConfigError: If it is not a JSON object of these settings.
        """
        try:
            values = json.loads(text)
        except json.JSONDecodeError as error:
            raise ConfigError(f"expected JSON: {error}") from error
        if not isinstance(values, dict):
            raise ConfigError(f"got a JSON {type(values).__name__}, expected an object")
        known = {field.name for field in fields(cls)}
        if unknown := sorted(values.keys() - known):
            raise ConfigError(f"got unknown settings {unknown}, expected some of {sorted(known)}")
        return cls(**values)

    def to_json(self) -> str:
        """Write the settings as they stand in ``segmenter.json``.

        :return: JSON text.
        """
        return json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n"
