"""The exceptions of this package.

.. code-block:: text

    SegmenterError
    ├── ConfigError (also ValueError)       a setting is out of its range
    ├── InputError (also ValueError)        a text or document cannot be used as it is
    ├── CheckpointError (also OSError)      a checkpoint folder cannot be loaded or written
    ├── TrainingError (also RuntimeError)   a training run cannot begin or go on
    ├── CorpusError (also RuntimeError)     a run over a corpus cannot begin or go on
    └── MissingPackageError (also ImportError)  a package of an extra is not installed
"""

from collections.abc import Mapping

__all__ = [
    "CheckpointError",
    "ConfigError",
    "CorpusError",
    "InputError",
    "MissingPackageError",
    "SegmenterError",
    "TrainingError",
    "changes",
    "first_line",
]


class SegmenterError(Exception):
    """Base of every error this package raises on purpose."""


class ConfigError(SegmenterError, ValueError):
    """A setting is out of its range or contradicts another one."""


class InputError(SegmenterError, ValueError):
    """A text or document cannot be used as it is."""


class CheckpointError(SegmenterError, OSError):
    """A checkpoint folder cannot be loaded or written."""


class TrainingError(SegmenterError, RuntimeError):
    """A training run cannot begin or go on."""


class CorpusError(SegmenterError, RuntimeError):
    """A run over a corpus cannot begin or go on."""


class MissingPackageError(SegmenterError, ImportError):
    """A package that an extra brings is not installed."""


def first_line(error: BaseException) -> str:
    """What an error of another library says, in one line.

    :param error: Any error.
    :return: Its first line, or its class if it says nothing.
    """
    return (str(error).strip() or type(error).__name__).splitlines()[0]


def changes(before: Mapping[str, object], now: Mapping[str, object]) -> str:
    """What has changed since a run was begun.

    :param before: Its settings, by name.
    :param now: Those of this call.
    :return: The first four of them, in order of their names; empty if there is none.
    """
    names = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
    return "; ".join(f"{name} was {before.get(name)!r}, now {now.get(name)!r}" for name in names[:4])
