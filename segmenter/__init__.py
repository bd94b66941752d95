"""Say where one topic of a text ends and the next begins, and cut the text there.

.. code-block:: python

    from segmenter import Segmenter

    segmenter = Segmenter.from_pretrained()
    for chunk in segmenter.segment(text).chunks:
        print(chunk.start, chunk.end, chunk.text)
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from segmenter.config import ChunkConfig as ChunkConfig
    from segmenter.document import Chunk as Chunk
    from segmenter.document import Document as Document
    from segmenter.document import Sentence as Sentence
    from segmenter.errors import CheckpointError as CheckpointError
    from segmenter.errors import ConfigError as ConfigError
    from segmenter.errors import CorpusError as CorpusError
    from segmenter.errors import InputError as InputError
    from segmenter.errors import MissingPackageError as MissingPackageError
    from segmenter.errors import SegmenterError as SegmenterError
    from segmenter.errors import TrainingError as TrainingError
    from segmenter.merging import merge as merge
    from segmenter.readability import UnreadableTextWarning as UnreadableTextWarning
    from segmenter.segmentation import Segmentation as Segmentation
    from segmenter.segmenter import Segmenter as Segmenter

_HOME = {
    "CheckpointError": "errors",
    "Chunk": "document",
    "ChunkConfig": "config",
    "ConfigError": "errors",
    "CorpusError": "errors",
    "Document": "document",
    "InputError": "errors",
    "MissingPackageError": "errors",
    "Segmentation": "segmentation",
    "Segmenter": "segmenter",
    "SegmenterError": "errors",
    "Sentence": "document",
    "TrainingError": "errors",
    "UnreadableTextWarning": "readability",
    "merge": "merging",
}

__all__ = [
    "CheckpointError",
    "Chunk",
    "ChunkConfig",
    "ConfigError",
    "CorpusError",
    "Document",
    "InputError",
    "MissingPackageError",
    "Segmentation",
    "Segmenter",
    "SegmenterError",
    "Sentence",
    "TrainingError",
    "UnreadableTextWarning",
    "merge",
]


def __getattr__(name: str) -> object:
    # Lazily, so that `import segmenter` loads neither torch nor transformers.
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
