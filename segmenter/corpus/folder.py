"""The output folder of a run: whose it is, what is done, and how a shard counts as done.

.. code-block:: text

    DIR/
    ├── data/part-000000.parquet    a row a chunk; shard n holds the documents n * size to (n + 1) * size
    ├── errors.jsonl                id and cause of each bad document
    ├── run.json                    what the run is, and how it went
    └── .run/                       locks, what is being written, and a record a shard

A shard is written under ``.run``, gets its name in one go, and counts once its record is there too.
"""

import json
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from segmenter.corpus.ranks import Rank
from segmenter.corpus.shards import error_line, publish, write_text
from segmenter.errors import ConfigError, CorpusError, changes, first_line

__all__ = ["CorpusFolder", "Record"]

_RUN = "run.json"
_ERRORS = "errors.jsonl"
_PATIENCE = 60.0
"""Seconds to wait while another process of the launch looks at the folder."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """What a shard holds, and how it went.

    :ivar documents: Bad ones included.
    :ivar empty: Those without a chunk.
    :ivar unreadable: Those most of whose words the model's vocabulary cannot read.
    :ivar errors: Place in the shard, id and cause of each bad document.
    :ivar chunks: Rows of the file.
    :ivar characters: Of the texts.
    :ivar gaps: How many the model has scored.
    :ivar fingerprints: Those of the chunks.
    :ivar size: Bytes of the file.
    :ivar seconds: Wall-clock time.
    :ivar seconds_model: Time in the model.
    :ivar seconds_waited: Time that the model had to wait for documents.
    """

    documents: int
    empty: int
    unreadable: int
    errors: list[tuple[int, str, str]] = field(default_factory=list)
    chunks: int
    characters: int
    gaps: int
    fingerprints: list[str]
    size: int
    seconds: float
    seconds_model: float
    seconds_waited: float


class CorpusFolder:
    """The output folder of a run.

    :param path: The folder; made if it is missing.
    :param rank: Which process of the launch this is.
    :param suffix: Of the shards.
    """

    def __init__(self, path: Path, rank: Rank, suffix: str) -> None:
        self.path = path
        self.rank = rank
        self._suffix = suffix
        self._data = path / "data"
        self._private = path / ".run"
        self._done = self._private / "done"
        self._lock = FileLock(self._private / f"rank-{rank.number}.lock")

    def claim(self, identity: Mapping[str, Any], about: Mapping[str, Any], restart: bool) -> None:
        """Begin a run here, or go on with the one that was begun; no other launch may until the end.

        :param identity: What makes it the same run; values that JSON can hold.
        :param about: What else is worth writing down, ``versions`` among it.
        :param restart: Whether to begin anew, with whatever there is of a run.
        :raises CorpusError: If the folder holds something else or another run, or another launch works in it.
        :raises ConfigError: If several processes are to begin anew.
        """
        if restart and self.rank.count > 1:
            raise ConfigError(
                f"got restart=True (--restart) with {self.rank.count} processes, which cannot say who begins "
                f"first; remove {self.path}, or choose another folder"
            )
        identity = json.loads(json.dumps(identity))
        try:
            self._check_ours()
            self._private.mkdir(parents=True, exist_ok=True)
            with self._alone():
                self._take_lock()
                if restart:
                    self._wipe()
                self._data.mkdir(exist_ok=True)
                self._done.mkdir(exist_ok=True)
                self._begin(identity, about)
        except OSError as error:
            self.release()
            raise CorpusError(f"cannot use {self.path} as the output folder: {first_line(error)}") from error
        except CorpusError:
            self.release()
            raise

    def release(self) -> None:
        """Let other launches work here."""
        self._lock.release()

    def partial(self, number: int) -> Path:
        """Where a shard is written before it has its name.

        :param number: Of the shard.
        :return: A path on the same disk.
        """
        return self._private / f"partial-{_name(number)}{self._suffix}"

    def finish_shard(self, number: int, record: Record) -> None:
        """Give a shard that is written its name, and then its record.

        :param number: Of the shard.
        :param record: What it holds.
        """
        publish(self.partial(number), self._shard(number))
        self._write(self._done / f"{_name(number)}.json", json.dumps(asdict(record), ensure_ascii=False))

    def is_done(self, number: int) -> bool:
        """Whether a shard is there as a whole.

        :param number: Of the shard.
        :return: Whether it has a record, and a file as long as that says.
        """
        record = self._record(number)
        try:
            return record is not None and self._shard(number).stat().st_size == record.size
        except OSError:
            return False

    def records(self) -> Iterator[tuple[int, Record]]:
        """What is done.

        :yield: Numbers and records of the shards, in order.
        """
        for path in sorted(self._done.glob("*.json")):
            number = int(path.stem.rpartition("-")[2])
            record = self._record(number)
            if record is not None:
                yield number, record

    def note_error(self, name: str, cause: str) -> None:
        """Tell of a bad document at once, for people who watch; :meth:`write_errors` puts them in order.

        :param name: Of the document.
        :param cause: Why it is bad.
        """
        with (self.path / _ERRORS).open("a", encoding="utf-8") as file:
            file.write(error_line(name, cause))

    def write_errors(self) -> None:
        """Write the bad documents of all shards that are done, in their order."""
        partial = self._private / f"partial-{self.rank.number}-{_ERRORS}"
        with partial.open("w", encoding="utf-8") as file:
            for _, record in self.records():
                file.writelines(error_line(name, cause) for _, name, cause in record.errors)
        publish(partial, self.path / _ERRORS)

    def finish(self, shards: int, outcome: Callable[[], Mapping[str, Any]]) -> bool:
        """Write what the run has become, if all shards are done; the last process of a launch does.

        :param shards: How many the input has.
        :param outcome: Says how it went, once all are done.
        :return: Whether all are done.
        """
        with self._alone():
            if not all(self.is_done(number) for number in range(shards)):
                return False
            self.write_errors()
            run = json.loads((self.path / _RUN).read_text(encoding="utf-8"))
            self._write_run({**run, **outcome(), "complete": True})
            for leftover in self._private.glob("partial-*"):
                leftover.unlink(missing_ok=True)
        return True

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """While no other process looks at the folder or changes whose it is."""
        try:
            with FileLock(self._private / "claim.lock", timeout=_PATIENCE):
                yield
        except Timeout as error:
            raise CorpusError(f"another process has held {self.path} for a minute; try again") from error

    def _check_ours(self) -> None:
        if not self.path.exists() or (self.path / _RUN).is_file() or self._private.is_dir():
            return
        if found := sorted(file.name for file in self.path.iterdir()):
            raise CorpusError(
                f"{self.path} is not empty ({', '.join(found[:3])}), expected a new or empty folder, or that "
                "of a run to go on with"
            )

    def _take_lock(self) -> None:
        """Refuse if a process of another launch works here, or one with our number."""
        note = self._private / "launch.json"
        others = {path.name for path in self._private.glob("rank-*.lock") if _is_held(path)}
        launch = json.loads(note.read_text(encoding="utf-8"))["launch"] if others and note.exists() else None
        try:
            if others and launch != self.rank.launch:
                raise Timeout(next(iter(others)))
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise CorpusError(
                f"another run works in {self.path}; wait for its end, end it, or choose another folder"
            ) from error
        if not others:
            self._write(note, json.dumps({"launch": self.rank.launch}))

    def _wipe(self) -> None:
        # Records first: what has none is never taken for done.
        shutil.rmtree(self._done, ignore_errors=True)
        for path in (self.path / _RUN, self.path / _ERRORS):
            path.unlink(missing_ok=True)
        shutil.rmtree(self._data, ignore_errors=True)

    def _begin(self, identity: Mapping[str, Any], about: Mapping[str, Any]) -> None:
        path = self.path / _RUN
        if not path.is_file():
            self._write_run({"identity": identity, **about, "complete": False})
        else:
            try:
                run = json.loads(path.read_text(encoding="utf-8"))
                begun, versions = run["identity"], run["versions"]
            except (ValueError, KeyError, TypeError) as error:
                raise CorpusError(f"{path} is damaged; begin anew with restart=True (--restart)") from error
            self._check_same(begun, identity)
            if versions != about["versions"]:
                warnings.warn(
                    f"{path} was begun with {versions}, now there is {about['versions']}: answers may differ "
                    "in their last digits, or more",
                    stacklevel=4,
                )
        if not (self.path / _ERRORS).exists() or self.rank.count == 1:
            self.write_errors()

    def _check_same(self, begun: Mapping[str, Any], identity: Mapping[str, Any]) -> None:
        if what := changes(begun, identity):
            raise CorpusError(
                f"{self.path} holds another run ({what}); give what it was begun with to go on, begin anew "
                "with restart=True (--restart), or choose another folder"
            )

    def _record(self, number: int) -> Record | None:
        path = self._done / f"{_name(number)}.json"
        try:
            return Record(**json.loads(path.read_text(encoding="utf-8")))
        except (FileNotFoundError, ValueError, TypeError):
            return None

    def _shard(self, number: int) -> Path:
        return self._data / f"{_name(number)}{self._suffix}"

    def _write(self, path: Path, text: str) -> None:
        write_text(self._private / f"partial-{self.rank.number}-{path.name}", path, text)

    def _write_run(self, values: Mapping[str, Any]) -> None:
        self._write(self.path / _RUN, json.dumps(values, indent=1, ensure_ascii=False) + "\n")


def _name(number: int) -> str:
    return f"part-{number:06d}"


def _is_held(path: Path) -> bool:
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return True
    lock.release()
    return False
