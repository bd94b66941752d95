"""Which files a source stands for."""

import glob
import logging
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from segmenter.errors import InputError

__all__ = ["KINDS", "File", "HubDataset", "Kinds", "kind_of", "locate"]

KINDS = {
    "parquet": (".parquet",),
    "jsonl": (".jsonl", ".ndjson", ".json"),
    "markdown": (".md", ".markdown"),
    "html": (".html", ".htm", ".xhtml"),
    "rst": (".rst", ".rest"),
    "plain": (".txt", ".text", ".ref", ""),
}
"""Suffixes of the kinds of files that can be read."""

Kinds = Mapping[str, tuple[str, ...]]
"""Suffixes by kind, small letters, each with its dot; ``""`` is a name without one."""

_HUB_NAME = re.compile(r"([\w.-]+(?:/[\w.-]+)?)(?::([\w.-]+))??(?::([\w.-]+))?")
_MAGIC = re.compile(r"[*?\[]")
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class File:
    """A file to read.

    :ivar path: Where it is.
    :ivar shown: Names it in messages: the source, and the way from there.
    :ivar name: Names it in ids: the way from the folder that is the source, else the file's name.
    :ivar kind: A key of ``KINDS``.
    """

    path: Path
    shown: str
    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class HubDataset:
    """A data set to read from the hub.

    :ivar name: Its name there.
    :ivar config: Which of its configurations; None for its default.
    :ivar split: Which part of it.
    """

    name: str
    config: str | None
    split: str


def locate(source: str | os.PathLike[str], split: str, kinds: Kinds = KINDS) -> list[File] | list[HubDataset]:
    """Find what a source stands for.

    :param source: A file, a folder, a glob pattern, or the name of a data set on the hub, perhaps with
        its split, ``owner/name:split``, or its configuration and split, ``owner/name:config:split``. Only a
        plain string is a hub name.
    :param split: The split of a hub name that has none.
    :param kinds: Suffixes of the files to find.
    :return: The files, sorted, or the data set; never nothing.
    :raises InputError: If there is none, or none of a known kind.
    """
    given = os.fspath(source)
    if not given:
        raise InputError("got an empty source, expected a path or the name of a data set")
    try:
        path = Path(given).expanduser()
        if path.is_dir():
            return _choose(given, [(path / name, name) for name in _names_below(path)], kinds)
        if path.exists():
            return [_file(path, given, kinds)]
        if _MAGIC.search(given):
            # Path.glob takes no absolute pattern.
            matches = sorted(glob.glob(str(path), recursive=True))  # noqa: PTH207
            files = [Path(name) for name in matches]
            return _choose(given, [(file, file.name) for file in files if file.is_file()], kinds)
    except InputError:
        raise
    except (OSError, RuntimeError, ValueError) as error:  # no permission, no such user, a NUL
        raise InputError(f"got {given!r}, which cannot be looked at: {error}") from error
    # A file that was mistyped should not be asked for on the hub.
    hub = _HUB_NAME.fullmatch(given) if isinstance(source, str) and not given.startswith(".") else None
    if hub and not (Path(hub[1]).suffix and kind_of(hub[1], kinds)):
        return [HubDataset(hub[1], hub[2], hub[3] or split)]
    raise InputError(f"got {given!r}, but there is no such file or folder")


def kind_of(name: str, kinds: Kinds) -> str | None:
    """The kind of a file.

    :param name: Its name.
    :param kinds: Suffixes by kind; ``.jsonl.gz`` goes before ``.gz``.
    :return: A key of ``kinds``, or None if it is of no kind.
    """
    suffixes = [suffix.lower() for suffix in Path(name).suffixes[-2:]]
    for ending in ("".join(suffixes), "".join(suffixes[-1:])):
        for kind, known in kinds.items():
            if ending in known:
                return kind
    return None


def _file(path: Path, shown: str, kinds: Kinds) -> File:
    kind = kind_of(path.name, kinds)
    if kind is None:
        known = _shown(kinds)
        raise InputError(f"got {shown}, a file that ends in {path.suffix}; expected one of {known}")
    return File(path, shown, path.name, kind)


def _choose(given: str, found: list[tuple[Path, str]], kinds: Kinds) -> list[File]:
    """Keep the files of a known kind, and say which were left out."""
    left_out: Counter[str] = Counter()
    files = []
    for path, name in found:
        kind = kind_of(path.name, kinds)
        if kind is None:
            left_out[path.suffix.lower()] += 1
        else:
            files.append(File(path, str(path), name, kind))
    counts = ", ".join(f"{count} {suffix}" for suffix, count in left_out.most_common())
    if not files:
        raise InputError(
            f"got {given}, which has {counts or 'no files'}; expected files that end in one of "
            f"{_shown(kinds)}"
        )
    if counts:
        _LOG.info("left out files of %s: %s", given, counts)
    return files


def _shown(kinds: Kinds) -> str:
    return ", ".join(suffix or "no suffix" for suffixes in kinds.values() for suffix in suffixes)


def _names_below(folder: Path) -> list[str]:
    """The files below a folder, sorted, but for hidden ones; links to folders are not followed."""
    return ["/".join(parts) for parts in sorted(_parts_below(folder))]


def _parts_below(folder: Path) -> Iterator[tuple[str, ...]]:
    for here, folders, files in os.walk(folder, onerror=_refuse):
        folders[:] = [name for name in folders if not name.startswith(".")]
        above = Path(here).relative_to(folder).parts
        yield from ((*above, name) for name in files if not name.startswith("."))


def _refuse(error: OSError) -> None:
    raise error
