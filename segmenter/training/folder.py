"""The output folder of a run: whose it is, and how the result gets into it."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from segmenter.errors import TrainingError

__all__ = ["RunFolder"]

_SETTINGS = "run.json"


class RunFolder:
    """Holds ``run.json`` and ``checkpoints/`` while a run goes on, and the model alone after it.

    :param path: The folder; made if it is missing.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def checkpoints(self) -> Path:
        """Where the run's checkpoints go."""
        return self.path / "checkpoints"

    def claim(self, settings: Mapping[str, Any]) -> None:
        """Begin a run here, or go on with the one that was begun.

        :param settings: What the run is, but for its length; values that JSON can hold.
        :raises TrainingError: If the folder holds something else.
        """
        settings = json.loads(json.dumps(settings))
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            begun = self.path / _SETTINGS
            if begun.is_file():
                self._check_same(json.loads(begun.read_text(encoding="utf-8")), settings)
                return
            if (self.path / "config.json").is_file():
                raise TrainingError(f"{self.path} holds a model already; choose another folder, or remove it")
            if found := sorted(path.name for path in self.path.iterdir()):
                raise TrainingError(
                    f"{self.path} is not empty ({', '.join(found[:3])}), expected a new or empty folder, or "
                    "that of a run to go on with"
                )
            partial = begun.with_name(f".partial-{_SETTINGS}")
            partial.write_text(json.dumps(settings, indent=1), encoding="utf-8")
            partial.replace(begun)
        except OSError as error:
            if isinstance(error, TrainingError):
                raise
            raise TrainingError(f"cannot use {self.path} as the output folder: {error}") from error

    def finish(self) -> None:
        """Remove what only the run needed, now that the model is here."""
        shutil.rmtree(self.checkpoints, ignore_errors=True)
        (self.path / _SETTINGS).unlink(missing_ok=True)

    def _check_same(self, begun: Mapping[str, Any], settings: Mapping[str, Any]) -> None:
        names = sorted(begun.keys() | settings.keys())
        changed = [name for name in names if begun.get(name) != settings.get(name)]
        if changed:
            what = "; ".join(
                f"{name} was {begun.get(name)!r}, now {settings.get(name)!r}" for name in changed[:4]
            )
            raise TrainingError(
                f"{self.path} holds an unfinished run with other settings ({what}); give those to go on with "
                "it, choose another folder, or remove it"
            )
