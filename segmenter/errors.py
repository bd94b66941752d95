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

__all__ = [
    "CheckpointError",
    "ConfigError",
    "CorpusError",
    "InputError",
    "MissingPackageError",
    "SegmenterError",
    "TrainingError",
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
