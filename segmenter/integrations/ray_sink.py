"""Where chunks go at the end of a run by Ray: files, errors, and what was done."""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.compute
from ray.data import Datasink
from ray.data.block import BlockAccessor

from segmenter.corpus.config import CorpusConfig
from segmenter.corpus.shards import error_line, open_shard, publish
from segmenter.errors import CorpusError, first_line

__all__ = ["CAUSE", "ChunkSink", "RayReport"]

CAUSE = "cause"
"""Column that says why a document is bad; null for a good one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RayReport:
    """What a run has done.

    :ivar files: Files written.
    :ivar chunks: Rows written.
    :ivar bad_documents: Those in ``errors.jsonl``.
    """

    files: int
    chunks: int
    bad_documents: int


class ChunkSink(Datasink):  # type: ignore[misc]
    """Writes a file a task; one that is done again writes the same file again.

    :param output: A new or empty folder or address that every machine can write to.
    :param config: Of which kind the files are.
    :param about: What ``run.json`` says beside what was done.
    :raises CorpusError: If ``output`` is not empty.
    """

    def __init__(self, output: str, config: CorpusConfig, about: Mapping[str, Any]) -> None:
        self._output = output
        self._config = config
        self._about = about
        self._is_local = "://" not in output
        self.report = RayReport(files=0, chunks=0, bad_documents=0)
        if self._names():
            raise CorpusError(f"{output} is not empty, expected a new or empty folder")

    def write(self, blocks: Iterable[Any], ctx: Any) -> dict[str, Any]:
        """Write the chunks of a task.

        :param blocks: Its rows.
        :param ctx: Its number.
        :return: How many there were, the bad documents, and the fingerprints of the others.
        """
        errors: list[tuple[str, str]] = []
        tables = []
        for block in blocks:
            table = BlockAccessor.for_block(block).to_arrow()
            if table.num_rows:
                is_good = pyarrow.compute.is_null(table.column(CAUSE))
                tables.append(table.filter(is_good).drop_columns([CAUSE]))
                bad = table.filter(pyarrow.compute.invert(is_good))
                errors += zip(bad.column("doc_id").to_pylist(), bad.column(CAUSE).to_pylist(), strict=True)
        chunks = sum(table.num_rows for table in tables)
        fingerprints = {name for table in tables for name in table.column("fingerprint").unique().to_pylist()}
        if chunks:
            name = f"part-{ctx.task_idx:06d}.{self._config.output_format}"
            self._publish(f"data/{name}", tables)
        return {"chunks": chunks, "errors": errors, "fingerprints": sorted(fingerprints)}

    def on_write_complete(self, write_result: Any) -> None:
        """Write what the run has become.

        :param write_result: What the tasks returned.
        """
        found = [result for result in write_result.write_returns if result]
        errors = [error for result in found for error in result["errors"]]
        self.report = RayReport(
            files=sum(result["chunks"] > 0 for result in found),
            chunks=sum(result["chunks"] for result in found),
            bad_documents=len(errors),
        )
        self._publish("errors.jsonl", "".join(error_line(*error) for error in sorted(errors)))
        about = {
            **self._about,
            "counts": asdict(self.report),
            "fingerprints": sorted({name for result in found for name in result["fingerprints"]}),
            "complete": True,
        }
        text = json.dumps(about, indent=1, ensure_ascii=False, default=_shown)
        self._publish("run.json", text + "\n")

    def _publish(self, name: str, content: "str | list[pyarrow.Table]") -> None:
        """Write a file that is there as a whole or not at all."""
        if self._is_local:
            final = Path(self._output).expanduser() / name
            final.parent.mkdir(parents=True, exist_ok=True)
            # Hidden from readers; a task that is done again may run beside the first one.
            partial = final.with_name(f".partial-{os.getpid()}-{final.name}")
            with partial.open("wb") as file:
                self._fill(file, content)
            publish(partial, final)
        else:
            import fsspec

            # Where there are no folders, a file is there once it is closed.
            with fsspec.open(f"{self._output.rstrip('/')}/{name}", "wb") as file:
                self._fill(file, content)

    def _fill(self, file: Any, content: "str | list[pyarrow.Table]") -> None:
        if isinstance(content, str):
            file.write(content.encode("utf-8"))
            return
        writer = open_shard(file, self._config, content[0].schema)
        for table in content:
            writer.write(table.to_pylist())
        writer.close()

    def _names(self) -> list[str]:
        """What is there."""
        try:
            if self._is_local:
                return [path.name for path in Path(self._output).expanduser().iterdir()]
            from fsspec.core import url_to_fs

            system, path = url_to_fs(self._output)
            return list(system.ls(path, detail=False))
        except FileNotFoundError:
            return []
        except Exception as error:  # each file system raises what its transport does
            raise CorpusError(f"cannot use {self._output} as the output: {first_line(error)}") from error


def _shown(value: Any) -> str:
    """What ``run.json`` says of a splitter or a path."""
    return os.fspath(value) if isinstance(value, os.PathLike) else type(value).__qualname__
