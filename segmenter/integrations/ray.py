"""Corpora on many machines, by Ray Data: read, segment in actors that hold the model, write.

.. code-block:: python

    import ray
    from segmenter.integrations import ray as on_ray

    ray.init(address="auto")
    on_ray.run(["s3://bucket/articles/"], "s3://bucket/chunks", actors=(1, 16), gpus_an_actor=1)

The columns, the answers and the treatment of bad documents are those of :func:`segmenter.corpus.run`.
Retries, the loss of machines and memory are Ray's.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow

from segmenter.chunkers import TopicChunker
from segmenter.config import ChunkConfig
from segmenter.corpus.config import CorpusConfig
from segmenter.corpus.cutting import CorpusChunker, Cutter, chunker_of
from segmenter.corpus.documents import BadDocument, Document, parse
from segmenter.corpus.items import begin
from segmenter.corpus.parts import Part, find_parts, fingerprint
from segmenter.corpus.reading import Stream, carried_types
from segmenter.corpus.shards import chunk_rows, schema
from segmenter.counting import TextTokenizer, counter_of
from segmenter.errors import ConfigError
from segmenter.extras import require
from segmenter.markup import language_of
from segmenter.profiling import Profile

require("ray")

from ray.data import ActorPoolStrategy, Dataset, from_items  # noqa: E402

from segmenter.integrations.ray_sink import CAUSE, ChunkSink, RayReport  # noqa: E402

__all__ = ["CAUSE", "RayReport", "read", "run", "segment", "write"]

_TASK_BYTES = 64_000_000
_TASK_PARTS = 1000
_LEAST_TASKS = 64
_BLOCK_BYTES = 32_000_000
_ROWS_BYTES = 1_000_000
_ROWS = 256
_READ_CPUS = 0.5
"""Reading waits more than it computes, and has to find room beside the actors."""


def run(
    inputs: Iterable[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    config: CorpusConfig | None = None,
    *,
    model: Mapping[str, Any] | None = None,
    chunks: ChunkConfig | None = None,
    tokenizer: TextTokenizer | None = None,
    chunker: CorpusChunker | None = None,
    actors: tuple[int, int] = (1, 1),
    gpus_an_actor: float = 0,
    cpus_an_actor: float = 1,
) -> RayReport:
    """Cut a corpus on the cluster that ``ray.init`` has connected to.

    :param inputs: As for :func:`segmenter.corpus.run`; every machine has to reach them.
    :param output: A new or empty folder or address (``s3://...``) that every machine can write to.
    :param config: How to read and to write; shard size, workers and ``max_errors`` do not count here.
    :param model: Arguments of ``Segmenter.from_pretrained``, which each actor calls. In a cluster of unlike
        machines give ``backend`` and ``dtype``, since ``"auto"`` may differ.
    :param chunks: How to cut; None: at the threshold, without limits.
    :param tokenizer: What its sizes are in; None: the checkpoint's.
    :param chunker: Cuts in place of the model, ``chunks`` and ``tokenizer``: any that needs no model.
    :param actors: Fewest and most copies of the model at a time.
    :param gpus_an_actor: GPUs of each, 0.5 for two on one.
    :param cpus_an_actor: Cores of each.
    :return: What was done.
    :raises InputError: If there is nothing to read.
    :raises ConfigError: If settings do not go together.
    :raises CorpusError: If ``output`` is not empty.
    """
    inputs, config = list(inputs), config or CorpusConfig()
    recipe = _Recipe(dict(model or {}), chunks, tokenizer, chunker)
    about = {"input": fingerprint(find_parts(inputs, config.split)), "settings": asdict(config)}
    # Before the work begins.
    sink = ChunkSink(os.fspath(output), config, about | recipe.about())
    found = segment(
        read(inputs, config),
        config,
        model=model,
        chunks=chunks,
        tokenizer=tokenizer,
        chunker=chunker,
        actors=actors,
        gpus_an_actor=gpus_an_actor,
        cpus_an_actor=cpus_an_actor,
    )
    found.write_datasink(sink)
    return sink.report


def read(inputs: Iterable[str | os.PathLike[str]], config: CorpusConfig | None = None) -> Dataset:
    """Read documents, bytes first, some files a task.

    :param inputs: As for :func:`segmenter.corpus.run`.
    :param config: How to read.
    :return: A row a document: ``doc_id``, ``title``, ``language`` (what the text is written in), ``text`` and
        ``cause``, of which one is null, and what is carried.
    :raises InputError: If there is nothing to read.
    """
    config = config or CorpusConfig()
    parts = find_parts(inputs, config.split)
    types = carried_types(parts, config)
    tasks = [{"first": group[0], "behind": group[1]} for group in _groups(parts)]

    def documents(batch: pyarrow.Table) -> Iterator[pyarrow.Table]:
        for task in batch.to_pylist():
            stream = Stream(parts[task["first"] : task["behind"]], config, types)
            yield from _tables(stream, config, types)

    rows = from_items(tasks, override_num_blocks=len(tasks))
    # What is lost with a machine, and the size of an output file before it is packed.
    rows.context.target_max_block_size = _BLOCK_BYTES
    return rows.map_batches(documents, batch_size=1, batch_format="pyarrow", num_cpus=_READ_CPUS)


def segment(
    documents: Dataset,
    config: CorpusConfig | None = None,
    *,
    model: Mapping[str, Any] | None = None,
    chunks: ChunkConfig | None = None,
    tokenizer: TextTokenizer | None = None,
    chunker: CorpusChunker | None = None,
    actors: tuple[int, int] = (1, 1),
    gpus_an_actor: float = 0,
    cpus_an_actor: float = 1,
) -> Dataset:
    """Cut documents, in actors that hold the model.

    :param documents: Rows with ``doc_id`` and ``text``, perhaps ``title`` and ``language``, as :func:`read`
        gives them or of your own.
    :param config: Which columns are carried, and what the texts are written in.
    :param model: Arguments of ``Segmenter.from_pretrained``, which each actor calls.
    :param chunks: How to cut; None: at the threshold, without limits.
    :param tokenizer: What its sizes are in; None: the checkpoint's.
    :param chunker: Cuts in place of the model, ``chunks`` and ``tokenizer``: any that needs no model.
    :param actors: Fewest and most copies of the model at a time.
    :param gpus_an_actor: GPUs of each.
    :param cpus_an_actor: Cores of each.
    :return: A row a chunk with the columns of ``docs/scale.md``, and ``cause``; of a bad document one row,
        null but for ``doc_id`` and ``cause``.
    :raises ConfigError: If settings do not go together.
    """
    recipe = _Recipe(dict(model or {}), chunks, tokenizer, chunker)
    return documents.map_batches(
        _Actor,
        fn_constructor_kwargs={"config": config or CorpusConfig(), "recipe": recipe},
        compute=ActorPoolStrategy(min_size=actors[0], max_size=actors[1]),
        # A block at a time. Ray may let the actors read, too, and would put as many files into one task then
        # as this is rows.
        batch_size=None,
        batch_format="pyarrow",
        num_gpus=gpus_an_actor,
        num_cpus=cpus_an_actor,
    )


def write(chunks: Dataset, output: str | os.PathLike[str], config: CorpusConfig | None = None) -> RayReport:
    """Write what :func:`segment` gives: ``data/``, ``errors.jsonl`` and ``run.json``.

    :param chunks: Rows with ``cause``.
    :param output: A new or empty folder or address that every machine can write to.
    :param config: Of which kind the files are.
    :return: What was written.
    :raises CorpusError: If ``output`` is not empty.
    """
    sink = ChunkSink(os.fspath(output), config or CorpusConfig(), {})
    chunks.write_datasink(sink)
    return sink.report


class _Recipe:
    """How an actor makes its cutter; it can be sent to any machine."""

    def __init__(
        self,
        model: dict[str, Any],
        chunks: ChunkConfig | None,
        tokenizer: TextTokenizer | None,
        chunker: CorpusChunker | None,
    ) -> None:
        if chunker is not None and (model or chunks is not None or tokenizer is not None):
            raise ConfigError(
                f"got a {type(chunker).__name__} and model, chunks or tokenizer; expected that or these"
            )
        if isinstance(chunker, TopicChunker):
            raise ConfigError(
                "got a TopicChunker, whose model is loaded here; expected model, chunks and tokenizer, from "
                "which each actor makes its own"
            )
        self._model = model
        self._chunks = chunks or ChunkConfig()
        self._counter = None if tokenizer is None else counter_of(tokenizer)
        self._chunker = None if chunker is None else chunker_of(chunker)

    def build(self) -> CorpusChunker:
        if self._chunker is not None:
            return self._chunker
        # Not above, so that actors that need no model do not wait for torch.
        from segmenter.segmenter import Segmenter

        return chunker_of(TopicChunker(Segmenter.from_pretrained(**self._model), self._chunks, self._counter))

    def about(self) -> dict[str, Any]:
        """What ``run.json`` says of it."""
        if self._chunker is not None:
            return {"chunks": self._chunker.identity()}
        tokenizer = self._counter.name if self._counter else None
        return {"model": self._model, "chunks": {**asdict(self._chunks), "tokenizer": tokenizer}}


class _Actor:
    """Holds the cutter, and with it the model."""

    def __init__(self, config: CorpusConfig, recipe: _Recipe) -> None:
        self._config = config
        self._cutter = Cutter(recipe.build())

    def __call__(self, batch: pyarrow.Table) -> pyarrow.Table:
        config, profile = self._config, Profile()
        columns = schema(config, {name: batch.schema.field(name).type for name in config.carry})
        items = (
            begin(0, 0, _document(row, config), self._cutter.first, profile) for row in batch.to_pylist()
        )
        rows: list[dict[str, Any]] = []
        for _, item, result in self._cutter.cut(items):
            if isinstance(result, BadDocument):
                rows.append({"doc_id": result.id, CAUSE: result.cause})
            else:
                assert isinstance(item.document, Document)
                rows += chunk_rows(item.document, result.chunks, config.carry)
        return pyarrow.Table.from_pylist(rows, schema=columns.append(pyarrow.field(CAUSE, pyarrow.string())))


def _groups(parts: Sequence[Part]) -> Iterator[tuple[int, int]]:
    """First part of each task, and the one behind its last."""
    first = size = 0
    most = min(_TASK_BYTES, sum(part.size for part in parts) // _LEAST_TASKS)
    for number, part in enumerate(parts):
        size += part.size
        if size >= most or number - first + 1 == _TASK_PARTS:
            yield first, number + 1
            first, size = number + 1, 0
    if first < len(parts):
        yield first, len(parts)


def _tables(
    stream: Stream, config: CorpusConfig, types: "dict[str, pyarrow.DataType] | None"
) -> Iterator[pyarrow.Table]:
    carried = [(name, (types or {}).get(name, pyarrow.string())) for name in config.carry]
    names = ("doc_id", "text", "title", "language", CAUSE)
    columns = pyarrow.schema([*((name, pyarrow.string()) for name in names), *carried])
    rows: list[dict[str, Any]] = []
    weight = 0
    for raw in stream:
        document = parse(raw, config, types is not None)
        if isinstance(document, BadDocument):
            rows.append({"doc_id": document.id, CAUSE: document.cause})
        else:
            known = {"title": document.title, "language": document.language}
            values = dict(zip(config.carry, document.carried, strict=True))
            rows.append({"doc_id": document.id, "text": document.text, **known, **values})
        weight += raw.weight
        if weight >= _ROWS_BYTES or len(rows) == _ROWS:
            yield pyarrow.Table.from_pylist(rows, schema=columns)
            rows, weight = [], 0
    yield pyarrow.Table.from_pylist(rows, schema=columns)


def _document(row: Mapping[str, Any], config: CorpusConfig) -> Document | BadDocument:
    if row.get(CAUSE) is not None:
        return BadDocument(str(row["doc_id"]), row[CAUSE])
    if row["text"] is None:
        return BadDocument(str(row["doc_id"]), "got null, expected a text")
    carried = tuple(row[name] for name in config.carry)
    title = row.get("title")
    name = str(row["doc_id"])
    language = row.get("language") or language_of(name, config.markup, is_file=False)
    return Document(name, row["text"], None if title is None else str(title), language, carried)
