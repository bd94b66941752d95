"""Where a checkpoint comes from: the package itself, a folder, or the hub."""

import os
import re
from pathlib import Path

from tokenizers import Tokenizer

from segmenter.errors import CheckpointError

__all__ = ["SHIPPED", "locate", "shipped_model", "shipped_tokenizer"]

SHIPPED = "minilm-l6"
"""Folder of the shipped model under ``models/``."""

_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
_HUB_FILES = ["*.json", "*.safetensors", "*.txt", "*.model"]


def shipped_model() -> Path:
    """Find the model that comes with the package.

    :return: Its folder.
    :raises CheckpointError: If this installation has none.
    """
    package = Path(__file__).parent
    candidates = (package / "shipped" / SHIPPED, package.parent / "models" / SHIPPED)
    for folder in candidates:
        if folder.is_dir():
            return folder
    raise CheckpointError(f"found no shipped model at {candidates[0]}: install the package anew")


def shipped_tokenizer() -> Tokenizer:
    """Load the tokenizer of the model that comes with the package, without the model.

    :return: The tokenizer.
    """
    return Tokenizer.from_file(str(shipped_model() / "tokenizer.json"))


def locate(source: str | os.PathLike[str] | None, revision: str | None = None) -> Path:
    """Find a checkpoint: the shipped one, a local folder, or one on the hub.

    :param source: None, a folder, or a hub name.
    :param revision: Branch, tag or commit on the hub.
    :return: A local folder.
    :raises CheckpointError: If there is no such folder and no such name.
    """
    if source is None:
        return shipped_model()
    name = os.fspath(source)
    try:
        folder = Path(source).expanduser()
        if folder.is_dir():
            return folder
        is_file = folder.exists()
    except (OSError, RuntimeError, ValueError) as error:  # too long, no such user, a NUL
        raise CheckpointError(f"got model {name!r}, which cannot be a folder: {error}") from error
    if is_file:
        raise CheckpointError(f"got the file {folder} as a model, expected a checkpoint folder")
    # Only a plain string may touch the network: a Path is meant to be here.
    if not isinstance(source, str) or not _HUB_NAME.fullmatch(name) or name.startswith("."):
        raise CheckpointError(f"got model {name!r}, but there is no such folder")
    # Imported here: only a hub name needs it.
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=_HUB_FILES))
    except Exception as error:  # the hub's client lets through whatever its transport raises
        reason = (str(error).strip() or type(error).__name__).splitlines()[0]
        raise CheckpointError(
            f"got model {name!r}, which is no folder here and could not be had from the hub ({reason}); "
            "expected a checkpoint folder or the name of a model that is reachable or cached"
        ) from error
