"""Settings of a run over a corpus."""

from dataclasses import dataclass
from typing import Literal, get_args

from segmenter.errors import ConfigError
from segmenter.mapping import CHUNK_COLUMNS
from segmenter.markup import Markup

__all__ = ["CorpusConfig", "OutputFormat"]

OutputFormat = Literal["parquet", "jsonl", "jsonl.zst"]
"""What the shards are."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CorpusConfig:
    """How a corpus is read and written.

    :ivar text_column: Column with the texts, where the input has columns.
    :ivar id_column: Column with the ids; a document without one is named by its file and place.
    :ivar title_column: Column with the titles, which ``{document}`` in a header becomes; without one, the id.
    :ivar markup: What the texts are written in: in Markdown and HTML headings cut and give the section;
        tables, lists and code stay whole. ``"auto"``: what a file's name says; of the rows of a table, or the
        lines of a file, Markdown where the id ends as such files do.
    :ivar carry: Other columns to write beside each chunk.
    :ivar split: The split of a hub name that has none.
    :ivar shard_size: Documents of a shard, 1 or more; what a kill costs at most.
    :ivar output_format: What the shards are.
    :ivar max_document_bytes: A longer document is an error, so that the memory is bounded; 1 or more.
    :ivar replace_surrogates: Whether lone surrogates become U+FFFD; else a text that holds one is an error,
        since no file can.
    :ivar workers: Processes that read and tokenize for the model; 0: its own. None: what suits the machine.
    :ivar max_errors: More bad documents than this stop the run; None: none do.
    :raises ConfigError: If a setting is out of its range.
    """

    text_column: str = "text"
    id_column: str = "id"
    title_column: str = "title"
    markup: Markup = "auto"
    carry: tuple[str, ...] = ()
    split: str = "train"
    shard_size: int = 1000
    output_format: OutputFormat = "parquet"
    max_document_bytes: int = 50_000_000
    replace_surrogates: bool = False
    workers: int | None = None
    max_errors: int | None = None

    def __post_init__(self) -> None:
        for name, least in (
            ("shard_size", 1), ("max_document_bytes", 1), ("workers", 0), ("max_errors", 0),
        ):  # fmt: skip
            value = getattr(self, name)
            if value is None and name in ("workers", "max_errors"):
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ConfigError(f"got {name}={value!r}, expected a whole number, {least} or more")
        for name, choices in (("output_format", OutputFormat), ("markup", Markup)):
            if getattr(self, name) not in get_args(choices):
                known = ", ".join(get_args(choices))
                raise ConfigError(f"got {name}={getattr(self, name)!r}, expected one of {known}")
        if isinstance(self.carry, str):
            raise ConfigError(f"got carry={self.carry!r}, expected several names: put it into a tuple")
        taken = sorted({name for name in self.carry if name in CHUNK_COLUMNS})
        if taken or len(set(self.carry)) < len(self.carry):
            own = ", ".join(CHUNK_COLUMNS)
            raise ConfigError(
                f"got carry={self.carry!r}, expected other names than {own}, each once; rename the column in "
                "the input"
            )
