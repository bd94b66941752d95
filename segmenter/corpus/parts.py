"""What the input consists of, in which order, and how to tell when it has changed."""

import os
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from segmenter.errors import InputError, first_line
from segmenter.markup import HTML_SUFFIXES, MARKDOWN_SUFFIXES
from segmenter.reading.files import HubDataset, kind_of, locate

__all__ = ["KINDS", "Part", "find_parts", "fingerprint"]

_LINES = (".jsonl", ".ndjson", ".json")
_TEXTS = (".txt", ".text", ".rst", *MARKDOWN_SUFFIXES, *HTML_SUFFIXES)
_PACKED = (".gz", ".zst")

KINDS = {
    "text": (*_TEXTS, *(name + packed for name in _TEXTS for packed in _PACKED)),
    "jsonl": (*_LINES, *(name + packed for name in _LINES for packed in _PACKED)),
    "csv": (".csv", ".csv.gz", ".csv.zst"),
    "tsv": (".tsv", ".tsv.gz", ".tsv.zst"),
    "parquet": (".parquet",),
    "arrow": (".arrow",),
}
"""Suffixes of the kinds of files that can be read."""

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """A file, or a data set of the hub.

    :ivar kind: A key of ``KINDS``, or ``"hub"``.
    :ivar where: Its path, its address, or its name on the hub.
    :ivar name: Names it in ids.
    :ivar size: Its bytes; 0 if that is not known.
    :ivar version: Changes when it does.
    :ivar is_local: Whether it is a file of this machine.
    :ivar config: Configuration of a data set.
    :ivar split: Split of a data set.
    """

    kind: str
    where: str
    name: str
    size: int = 0
    version: str = ""
    is_local: bool = False
    config: str | None = None
    split: str | None = None

    @property
    def has_types(self) -> bool:
        """Whether its columns have types."""
        return self.kind in ("parquet", "arrow", "hub")


def find_parts(
    inputs: Iterable[str | os.PathLike[str]], split: str, without: Path | None = None
) -> list[Part]:
    """Find what some inputs stand for.

    :param inputs: Files, folders, patterns, addresses as fsspec knows them (``s3://...``), or names of data
        sets on the hub, perhaps with configuration and split, ``owner/name:config:split``.
    :param split: The split of a hub name that has none.
    :param without: A folder whose files do not count.
    :return: The parts in order: of the inputs, and of the names in each. Each has another name.
    :raises InputError: If there is nothing, or something twice.
    """
    if isinstance(inputs, str | os.PathLike):
        raise InputError(f"got {os.fspath(inputs)!r} as inputs, expected several: put it into a list")
    found: list[Part] = []
    for source in inputs:
        given = os.fspath(source)
        found += _at_address(given) if _ADDRESS.match(given) else _here(source, split)
    if without is not None:
        own = os.path.realpath(without)
        found = [part for part in found if not (part.is_local and Path(_key(part)[0]).is_relative_to(own))]
    if not found:
        raise InputError("got no input, expected files, folders or names of data sets")
    twice = [where for where, count in Counter(_key(part) for part in found).items() if count > 1]
    if twice:
        raise InputError(f"got {twice[0][0]} twice, expected every file once")
    counts = Counter(part.name for part in found)
    # What has the same name in two folders is told apart by its whole path.
    return [part if counts[part.name] == 1 else replace(part, name=part.where) for part in found]


def fingerprint(parts: Sequence[Part]) -> dict[str, Any]:
    """Say what the input is, so that a change can be told.

    :param parts: The parts.
    :return: How many there are, their bytes, and a hash of their names, sizes and times.
    """
    found = sha256()
    for part in parts:
        found.update(
            "\0".join([part.name, part.kind, str(part.size), part.version]).encode("utf-8", "replace")
        )
        found.update(b"\n")
    return {"files": len(parts), "bytes": sum(part.size for part in parts), "hash": found.hexdigest()[:16]}


def _key(part: Part) -> tuple[str, str | None, str | None]:
    return os.path.realpath(part.where) if part.is_local else part.where, part.config, part.split


def _here(source: str | os.PathLike[str], split: str) -> list[Part]:
    found = []
    for file in locate(source, split, KINDS):
        if isinstance(file, HubDataset):
            found.append(_on_the_hub(file))
            continue
        try:
            stat = file.path.stat()
        except OSError as error:
            raise InputError(f"cannot look at {file.shown}: {error.strerror}") from error
        found.append(
            Part(
                kind=file.kind,
                where=str(file.path),
                name=file.name,
                size=stat.st_size,
                version=str(stat.st_mtime_ns),
                is_local=True,
            )
        )
    return found


def _on_the_hub(found: HubDataset) -> Part:
    from huggingface_hub import HfApi

    try:
        version = HfApi().dataset_info(found.name).sha or ""
    except Exception as error:  # the hub's client lets through whatever its transport raises
        raise InputError(
            f"got {found.name!r}, which is no file or folder here and could not be had from the hub "
            f"({first_line(error)}); expected a path, or the name of a data set that is reachable"
        ) from error
    name = ":".join(filter(None, (found.name, found.config, found.split)))
    return Part(
        kind="hub", where=found.name, name=name, version=version, config=found.config, split=found.split
    )


def _at_address(given: str) -> list[Part]:
    from fsspec.core import url_to_fs

    try:
        system, path = url_to_fs(given)
        is_folder = system.isdir(path)
        if is_folder:
            paths = sorted(system.find(path))
        else:
            paths = sorted(system.glob(path)) if set("*?[") & set(path) else [path]
        parts = []
        for found in paths:
            name = found.removeprefix(path).strip("/") if is_folder else found.rsplit("/", 1)[-1]
            kind = kind_of(name, KINDS)
            if kind is None and not is_folder and len(paths) == 1:
                raise InputError(f"got {given}, a file of no known kind; expected {_known()}")
            if kind is not None and not any(piece.startswith(".") for piece in name.split("/")):
                size = system.info(found).get("size") or 0
                address = system.unstrip_protocol(found)
                parts.append(Part(kind=kind, where=address, name=name, size=size, version=system.ukey(found)))
    except InputError:
        raise
    except Exception as error:  # each file system raises what its transport does
        raise InputError(f"cannot look at {given}: {first_line(error)}") from error
    if not parts:
        raise InputError(f"got {given}, where no file of a known kind is; expected {_known()}")
    return parts


def _known() -> str:
    return "one that ends in " + ", ".join(suffix for suffixes in KINDS.values() for suffix in suffixes)
