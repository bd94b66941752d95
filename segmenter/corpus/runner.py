"""A run over a corpus: read, prepare, score, write, a shard at a time; what is done stays done."""

import os
import time
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from itertools import groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from segmenter.corpus.config import CorpusConfig
from segmenter.corpus.cutting import CorpusChunker, Cutter, chunker_of
from segmenter.corpus.documents import BadDocument, Document, RawDocument
from segmenter.corpus.folder import CorpusFolder, Record
from segmenter.corpus.items import Cut, Item
from segmenter.corpus.parts import find_parts, fingerprint
from segmenter.corpus.progress import Progress
from segmenter.corpus.ranks import device_of, this_rank
from segmenter.corpus.reading import Stream, carried_types
from segmenter.corpus.report import CorpusReport, outcome, report_of
from segmenter.corpus.shards import ShardWriter, chunk_rows, open_shard, schema
from segmenter.corpus.workers import Workers, default_workers
from segmenter.errors import CorpusError, SegmenterError, first_line
from segmenter.readability import UnreadableTextWarning

if TYPE_CHECKING:
    import pyarrow

    from segmenter.segmenter import Segmenter

__all__ = ["run"]

_PACKAGES = (
    "cross-segmenter",
    "torch",
    "onnxruntime",
    "openvino",
    "tokenizers",
    "sentencex",
    "datasets",
    "numpy",
)
_NOT_IDENTITY = ("split", "workers", "max_errors")


def run(
    inputs: Iterable[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    chunker: "CorpusChunker | Segmenter | None" = None,
    config: CorpusConfig | None = None,
    *,
    restart: bool = False,
    show_progress: bool = False,
) -> CorpusReport:
    """Cut a corpus into files of chunks, or go on with it.

    A run that was killed goes on when it is called again, and ends with the same output. Each process of a
    launch (``accelerate launch``) makes this call and takes its shards; they share nothing but ``output``.

    :param inputs: Files, folders, patterns, addresses as fsspec knows them, or names of data sets on the hub.
    :param output: A new or empty folder on a local disk, or that of the run to go on with.
    :param chunker: How to cut: any of :mod:`segmenter.chunkers` and :mod:`segmenter.rivals`, of which only a
        ``TopicChunker`` needs a model, or one of your own; a ``Segmenter`` cuts at its threshold. None for
        the shipped model, on a GPU of this process's own if it can be.
    :param config: How to read and to write.
    :param restart: Whether to begin anew, removing what is there of a run.
    :param show_progress: Whether to show on the standard error how far it is.
    :return: What was done.
    :raises InputError: If there is nothing to read, or a part cannot be had; bad documents are no errors.
    :raises ConfigError: If a setting does not suit the input.
    :raises CorpusError: If the folder is another run's, or is used by one, or cannot be written to; if there
        are more bad documents than ``config.max_errors``; if the model fails.
    """
    rank = this_rank()
    chunker = chunker_of(_shipped(device_of(rank)) if chunker is None else chunker)
    cutter, config = Cutter(chunker), config or CorpusConfig()
    if config.workers is None:
        config = replace(config, workers=default_workers(cutter.device))
    # What a run has written is none of its input, though the folder be inside of it.
    parts = find_parts(inputs, config.split, without=Path(output).expanduser())
    settings = {name: value for name, value in asdict(config).items() if name not in _NOT_IDENTITY}
    identity = {"format": 2, "input": fingerprint(parts), **chunker.identity(), **settings}
    types = carried_types(parts, config)
    folder = CorpusFolder(Path(output).expanduser(), rank, f".{config.output_format}")
    folder.claim(identity, _about(cutter.segmenter), restart)
    try:
        progress = Progress(sum(part.size for part in parts), show_progress)
        work = _Run(cutter, config, folder, schema(config, types), progress)
        shards = work.all_shards(Stream(parts, config, types), types is not None)
        is_complete = folder.finish(shards, lambda: outcome(report_of(folder, True)))
        report = report_of(folder, is_complete)
    except OSError as error:
        if isinstance(error, SegmenterError):
            raise
        raise CorpusError(
            f"cannot write to {folder.path}: {first_line(error)}; what is done is kept, and the same call "
            "goes on once that is mended"
        ) from error
    finally:
        folder.release()
    if report.unreadable_documents:
        warnings.warn(
            f"the model's vocabulary cannot read most words of {report.unreadable_documents} of "
            f"{report.documents} documents, so their boundaries mean little; fine-tune a multilingual "
            "encoder on such texts",
            UnreadableTextWarning,
            stacklevel=2,
        )
    return report


class _Run:
    """The shards of one process."""

    def __init__(
        self,
        cutter: Cutter,
        config: CorpusConfig,
        folder: CorpusFolder,
        columns: "pyarrow.Schema",
        progress: Progress,
    ) -> None:
        self._cutter = cutter
        self._config = config
        self._folder = folder
        self._columns = columns
        self._progress = progress
        self._shards = 0
        self._bad = 0

    def all_shards(self, stream: Stream, keep_types: bool) -> int:
        """Do all shards that are not done and that are this process's.

        :param stream: The input.
        :param keep_types: Whether carried values have types.
        :return: How many shards the input has.
        """
        self._bad = sum(len(record.errors) for _, record in self._folder.records())
        with Workers(self._cutter.first, self._cutter.last, self._config, keep_types) as workers:
            items = workers.prepared(self._mine(stream))
            try:
                for number, found in groupby(items, attrgetter("shard")):
                    self._shard(number, found, workers)
            finally:
                self._progress.close()
        return self._shards

    def _mine(self, stream: Stream) -> Iterator[tuple[int, RawDocument]]:
        """The documents of shards that are to be done here, each with its shard."""
        size, rank = self._config.shard_size, self._folder.rank
        while True:
            number = self._shards
            if number % rank.count != rank.number or self._folder.is_done(number):
                count = stream.skip(size)
            else:
                count = 0
                for raw in islice(stream, size):
                    count += 1
                    yield number, raw
            self._shards += count > 0
            if count < size:
                return

    def _shard(self, number: int, items: Iterator[Item], workers: Workers) -> None:
        """Write a shard."""
        partial = self._folder.partial(number)
        started, model = time.perf_counter(), self._cutter.seconds_model
        waited = workers.seconds_waited
        tally = _Tally()
        try:
            with partial.open("wb") as file:
                writer = open_shard(file, self._config, self._columns)
                try:
                    for place, item, result in self._cutter.cut(items, workers):
                        self._take(writer, tally, place, item, result)
                finally:
                    writer.close()
        except BaseException:
            partial.unlink(missing_ok=True)
            raise
        record = Record(
            documents=tally.documents,
            empty=tally.empty,
            unreadable=tally.unreadable,
            errors=sorted(tally.errors),
            chunks=tally.chunks,
            characters=tally.characters,
            gaps=tally.gaps,
            fingerprints=sorted(tally.fingerprints),
            size=partial.stat().st_size,
            seconds=round(time.perf_counter() - started, 4),
            seconds_model=round(self._cutter.seconds_model - model, 4),
            seconds_waited=round(workers.seconds_waited - waited, 4),
        )
        self._folder.finish_shard(number, record)

    def _take(
        self, writer: ShardWriter, tally: "_Tally", place: int, item: Item, result: Cut | BadDocument
    ) -> None:
        tally.documents += 1
        self._progress.documents += 1
        if isinstance(result, BadDocument):
            self._tell(tally, place, result)
        else:
            assert isinstance(item.document, Document)
            writer.write(chunk_rows(item.document, result.chunks, self._config.carry))
            tally.add(result)
            self._progress.chunks += len(result.chunks)
            self._progress.characters += result.characters
        self._progress.update(item.position)

    def _tell(self, tally: "_Tally", place: int, bad: BadDocument) -> None:
        tally.errors.append((place, bad.id, bad.cause))
        self._bad += 1
        self._progress.errors += 1
        self._folder.note_error(bad.id, bad.cause)
        most = self._config.max_errors
        if most is not None and self._bad > most:
            raise CorpusError(
                f"got {self._bad} bad documents, expected {most} or fewer; the last one was {bad.id}: "
                f"{bad.cause}; {self._folder.path / 'errors.jsonl'} has them all"
            )


@dataclass(slots=True)
class _Tally:
    """What is known of a shard so far."""

    documents: int = 0
    empty: int = 0
    unreadable: int = 0
    chunks: int = 0
    characters: int = 0
    gaps: int = 0
    errors: list[tuple[int, str, str]] = field(default_factory=list)
    fingerprints: set[str] = field(default_factory=set)

    def add(self, cut: Cut) -> None:
        self.empty += not cut.chunks
        self.unreadable += cut.is_unreadable
        self.chunks += len(cut.chunks)
        self.characters += cut.characters
        self.gaps += cut.gaps
        self.fingerprints.update(chunk.fingerprint for chunk in cut.chunks)


def _shipped(device: str) -> "Segmenter":
    # Not above, so that cutters that need no model do not wait for torch.
    from segmenter.segmenter import Segmenter

    return Segmenter.from_pretrained(device=device)


def _about(segmenter: "Segmenter | None") -> dict[str, Any]:
    """What is worth knowing of a run, but may change while it goes on."""
    versions = {}
    for name in _PACKAGES:
        try:
            versions[name] = version(name)
        except PackageNotFoundError:
            continue
    runs_with = segmenter.runs_with if segmenter else None
    return {"versions": versions, "runs_with": asdict(runs_with) if runs_with else None}
