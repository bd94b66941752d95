"""The output folder of a run: whose it is, and how the result gets into it."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from segmenter.errors import TrainingError, changes
from segmenter.training.trainer import newest_complete_checkpoint

__all__ = ["RunFolder", "refuse_used_folder"]

_SETTINGS = "run.json"
_LOCK = ".lock"


class RunFolder:
    """Holds ``run.json`` and ``checkpoints/`` while a run goes on, and the model alone after it.

    :param path: The folder; made if it is missing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = FileLock(path / _LOCK)

    @property
    def checkpoints(self) -> Path:
        """Where the run's checkpoints go."""
        return self.path / "checkpoints"

    def claim(self, settings: Mapping[str, Any]) -> None:
        """Begin a run here, or go on with the one that was begun; no other process may until the end.

        :param settings: What the run is, but for its length; values that JSON can hold.
        :raises TrainingError: If the folder holds something else, or another process trains in it.
        """
        settings = json.loads(json.dumps(settings))
        try:
            refuse_used_folder(self.path, ours=(_SETTINGS, self.checkpoints.name))
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock.acquire(timeout=0)
            begun = self.path / _SETTINGS
            # Nothing is lost where there is no checkpoint yet.
            if begun.is_file() and newest_complete_checkpoint(self.checkpoints) is not None:
                self._check_same(json.loads(begun.read_text(encoding="utf-8")), settings)
                return
            partial = begun.with_name(f".partial-{_SETTINGS}")
            partial.write_text(json.dumps(settings, indent=1), encoding="utf-8")
            partial.replace(begun)
        except Timeout as error:
            raise TrainingError(
                f"another process trains in {self.path}; wait for its end, or end it"
            ) from error
        except (OSError, ValueError) as error:
            if isinstance(error, TrainingError):
                raise
            raise TrainingError(f"cannot use {self.path} as the output folder: {error}") from error

    def finish(self) -> None:
        """Remove what only the run needed, now that the model is here."""
        (self.path / _SETTINGS).unlink(missing_ok=True)
        shutil.rmtree(self.checkpoints, ignore_errors=True)
        for leftover in self.path.glob(".partial-*"):
            shutil.rmtree(leftover, ignore_errors=True)
        self.release()

    def release(self) -> None:
        """Let other processes train here."""
        self._lock.release()
        (self.path / _LOCK).unlink(missing_ok=True)

    def _check_same(self, begun: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
        if what := changes(begun, settings):
            raise TrainingError(
                f"{self.path} holds an unfinished run with other settings ({what}); give those to go on with "
                "it, choose another folder, or remove it"
            )


def refuse_used_folder(path: Path, ours: tuple[str, ...] = ()) -> None:
    """Make sure that a folder can be written to without a loss.

    :param path: The folder; it need not exist.
    :param ours: Names in it that are known.
    :raises TrainingError: If it holds a model, or anything else.
    """
    if not path.exists():
        return
    if (path / "config.json").is_file():
        raise TrainingError(f"{path} holds a model already; choose another folder, or remove it")
    names = sorted(file.name for file in path.iterdir())
    if found := [name for name in names if name not in ours and not name.startswith((".partial-", _LOCK))]:
        raise TrainingError(
            f"{path} is not empty ({', '.join(found[:3])}), expected a new or empty folder, or that of a run "
            "to go on with"
        )
