"""How a text is cut: the options of every command that cuts, and the cutter they ask for."""

import re
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from segmenter.errors import ConfigError

if TYPE_CHECKING:
    from segmenter.config import ChunkConfig
    from segmenter.corpus import CorpusChunker
    from segmenter.segmenter import Segmenter

__all__ = [
    "ChunkerChoice",
    "ChunkerOption",
    "Cutting",
    "Header",
    "MaxTokens",
    "MinTokens",
    "Neighbours",
    "Overlap",
    "Size",
    "StyleChoice",
    "StyleOption",
    "TargetTokens",
    "Tokenizer",
    "parse_cutting",
]


class ChunkerChoice(StrEnum):
    """What cuts."""

    TOPIC = "topic"
    WORDS = "words"
    CHARACTERS = "characters"
    TOKENS = "tokens"
    SENTENCES = "sentences"
    PARAGRAPHS = "paragraphs"
    GREEDY = "greedy"
    TEXTTILING = "texttiling"
    DRIFT = "drift"
    WHOLE = "whole"


class StyleChoice(StrEnum):
    """Where pieces of a fixed size start."""

    WINDOW = "window"
    PREPEND = "prepend"
    APPEND = "append"


_FIXED = (ChunkerChoice.WORDS, ChunkerChoice.CHARACTERS, ChunkerChoice.TOKENS)
_SIZES = ("max_tokens", "min_tokens", "target_tokens", "overlap", "neighbours", "header")
_SETTINGS: dict[ChunkerChoice, tuple[str, ...]] = {
    ChunkerChoice.TOPIC: ("threshold", *_SIZES),
    **dict.fromkeys(_FIXED, ("size", "overlap", "style", "header")),
    ChunkerChoice.SENTENCES: ("size", *_SIZES),
    ChunkerChoice.PARAGRAPHS: _SIZES,
    ChunkerChoice.GREEDY: ("max_tokens",),
    ChunkerChoice.TEXTTILING: _SIZES,
    ChunkerChoice.DRIFT: _SIZES,
    ChunkerChoice.WHOLE: (),
}
"""What each has beside a tokenizer."""

ChunkerOption = Annotated[
    ChunkerChoice,
    typer.Option(
        "--chunker",
        help="topic: the model. words, characters, tokens: pieces of --size of them. sentences: whole ones "
        "up to --size words. paragraphs: at blank lines. greedy: filled up to --max-tokens. texttiling: "
        "where the "
        "words change. drift: where the vectors of sentences do. whole: no cut.",
    ),
]
MaxTokens = Annotated[
    int | None, typer.Option("--max-tokens", help="No chunk has more, with all that is added to it.")
]
MinTokens = Annotated[
    int | None, typer.Option("--min-tokens", help="As few chunks as can be have fewer tokens.")
]
TargetTokens = Annotated[
    int | None, typer.Option("--target-tokens", help="The size that chunks should rather have.")
]
Overlap = Annotated[
    str | None,
    typer.Option(
        metavar="N|Nt|SHARE",
        help="What a chunk repeats of the one before: sentences (2) or tokens (32t); for pieces of a fixed "
        "size a number of their units (30) or a share of the size (0.2).",
        show_default="none; 0.2 for a fixed size",
    ),
]
Neighbours = Annotated[int, typer.Option(min=0, help="Sentences added to a chunk on each side.")]
Header = Annotated[
    str | None,
    typer.Option(help='Put in front of every chunk, such as "{document} > {section}"; {title} too.'),
]
Size = Annotated[
    int | None, typer.Option(min=1, help="Of a piece.", show_default="150; of sentences 16 words")
]
StyleOption = Annotated[
    StyleChoice,
    typer.Option(
        "--style",
        help="Pieces of a fixed size start each size - overlap (window), or each size, with an overlap from "
        "the piece before (prepend) or after (append).",
    ),
]
Tokenizer = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|FOLDER|NAME",
        help="What tokens are: a tokenizer.json, a folder that has one, or a name on the hub.",
        show_default="the model's",
    ),
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Cutting:
    """What the options of a command ask for.

    :ivar chunker: What cuts.
    :ivar threshold: For the model: cut where P(boundary) is above it.
    :ivar max_tokens: No chunk has more.
    :ivar min_tokens: As few as can be have fewer.
    :ivar target_tokens: What they should rather have.
    :ivar overlap: As the option has it.
    :ivar neighbours: Sentences added on each side.
    :ivar header: Stands in front.
    :ivar size: Of a piece.
    :ivar style: Where pieces of a fixed size start.
    :ivar tokenizer: Where the tokenizer is.
    """

    chunker: ChunkerChoice = ChunkerChoice.TOPIC
    threshold: float | None = None
    max_tokens: int | None = None
    min_tokens: int | None = None
    target_tokens: int | None = None
    overlap: str | None = None
    neighbours: int = 0
    header: str | None = None
    size: int | None = None
    style: StyleChoice = StyleChoice.WINDOW
    tokenizer: str | None = None

    @property
    def needs_model(self) -> bool:
        """Whether a model cuts."""
        return self.chunker is ChunkerChoice.TOPIC

    def check(self) -> None:
        """See whether the cutter has all settings that were given.

        :raises ConfigError: If it has not.
        """
        for field in fields(self):
            name, value = field.name, getattr(self, field.name)
            if value == field.default or name in (*_SETTINGS[self.chunker], "chunker", "tokenizer"):
                continue
            given = f" {value}" if name == "style" else ""
            raise ConfigError(
                f"got --{name.replace('_', '-')}{given} with --chunker {self.chunker}, which has no such "
                "setting; leave it out, or take another --chunker"
            )

    def build(self, segmenter: "Segmenter | None") -> "CorpusChunker":
        """Make the cutter.

        :param segmenter: The model, where one is needed.
        :return: The cutter.
        :raises ConfigError: If options do not go together.
        """
        from segmenter import chunkers

        self.check()
        tokenizer = self.loaded_tokenizer
        if self.chunker in _FIXED:
            return chunkers.FixedSizeChunker(
                150 if self.size is None else self.size,
                0.2 if self.overlap is None else _units(self.overlap),
                cast("chunkers.Unit", self.chunker.value),
                style=self.style.value,
                tokenizer=tokenizer,
                header=self.header,
            )
        if self.chunker is ChunkerChoice.WHOLE:
            return chunkers.WholeDocument()
        if self.chunker is ChunkerChoice.SENTENCES:
            size = 16 if self.size is None else self.size
            return chunkers.SentenceChunker(size, self.config, tokenizer)
        if segmenter is not None:
            return chunkers.TopicChunker(segmenter, self.config, tokenizer)
        if self.chunker is ChunkerChoice.PARAGRAPHS:
            return chunkers.ParagraphChunker(self.config, tokenizer)
        return self._rival(tokenizer)

    def _rival(self, tokenizer: Any) -> "CorpusChunker":
        from segmenter import rivals
        from segmenter.embedding import MiniLM

        if self.chunker is ChunkerChoice.GREEDY:
            return rivals.GreedyChunker(256 if self.max_tokens is None else self.max_tokens, tokenizer)
        if self.chunker is ChunkerChoice.DRIFT:
            return rivals.DriftChunker(MiniLM(), config=self.config, tokenizer=tokenizer)
        return rivals.TextTilingChunker(config=self.config, tokenizer=tokenizer)

    @property
    def loaded_tokenizer(self) -> Any:
        """The tokenizer; None for the model's.

        :raises ConfigError: If there is none where the option says.
        """
        return None if self.tokenizer is None else load_tokenizer(self.tokenizer)

    @property
    def config(self) -> "ChunkConfig":
        """Limits and context.

        :raises ConfigError: If one is out of its range.
        """
        from segmenter.config import ChunkConfig

        overlap = re.fullmatch(r"(\d+)(t?)", self.overlap or "0")
        if overlap is None:
            raise ConfigError(
                f"got --overlap {self.overlap} with --chunker {self.chunker}, "
                "expected a number of sentences, such as 2, or of tokens, such as 32t"
            )
        count = int(overlap[1])
        return ChunkConfig(
            threshold=None,  # The segmenter has it.
            max_tokens=self.max_tokens,
            min_tokens=self.min_tokens,
            target_tokens=self.target_tokens,
            overlap_sentences=0 if overlap[2] else count,
            overlap_tokens=count if overlap[2] else 0,
            neighbours=self.neighbours,
            header=self.header,
        )


def parse_cutting(spec: str) -> Cutting:
    """Read how to cut from one word of the command line.

    :param spec: ``NAME`` or ``NAME:SETTING=VALUE,SETTING=VALUE``, the settings named as the options of
        ``segmenter segment`` are.
    :return: What it asks for.
    :raises ConfigError: If it is no such thing.
    """
    name, _, rest = spec.partition(":")
    values: dict[str, Any] = {}
    kinds = {"threshold": float, "overlap": str, "header": str, "style": StyleChoice, "tokenizer": str}
    known = [field.name for field in fields(Cutting) if field.name != "chunker"]
    try:
        values["chunker"] = ChunkerChoice(name)
        for part in filter(None, rest.split(",")):
            key, found, value = part.partition("=")
            key = key.strip().replace("-", "_")
            if not found or key not in known:
                raise ValueError(f"{part!r} is not one of the settings {', '.join(known)}")
            values[key] = kinds.get(key, int)(value)
    except ValueError as error:
        raise ConfigError(
            f"got --chunker {spec}, expected a name and settings, such as topic:max_tokens=200: {error}"
        ) from error
    return Cutting(**values)


def load_tokenizer(source: str) -> Any:
    """Load a tokenizer.

    :param source: A ``tokenizer.json``, a folder that has one, or a name on the hub.
    :return: The tokenizer.
    :raises ConfigError: If there is none.
    """
    from tokenizers import Tokenizer as Loaded

    from segmenter.sources import locate

    path = Path(source)
    if not path.is_file():
        path = locate(source) / "tokenizer.json"
    try:
        return Loaded.from_file(str(path))
    except Exception as error:  # tokenizers raises nothing narrower
        raise ConfigError(f"got --tokenizer {source}, expected a tokenizer.json: {error}") from error


def _units(overlap: str) -> float:
    """An overlap as the fixed sizes take it: a whole number is a count, any other a share."""
    try:
        return int(overlap) if overlap.isdecimal() else float(overlap)
    except ValueError as error:
        raise ConfigError(
            f"got --overlap {overlap}, expected a number of units, such as 30, or a share, such as 0.2"
        ) from error
