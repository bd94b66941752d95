"""The façade: a model that segments texts."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from segmenter.backends import Backend, Choice, Dtype, choose, load_scorer
from segmenter.checkpoint import (
    Checkpoint,
    LightCheckpoint,
    weights_digest,
    weights_hash,
    write_checkpoint,
)
from segmenter.config import Candidates, CheckpointConfig, ChunkConfig, Context
from segmenter.counting import TextTokenizer, counter_of
from segmenter.document import Document, digest
from segmenter.errors import CheckpointError, ConfigError, InputError
from segmenter.forking import prepare_process
from segmenter.grouping import GroupScorer
from segmenter.mapping import ChunkMap
from segmenter.markup import Markup
from segmenter.preparing import Prepared, Preparer
from segmenter.profiling import Profile
from segmenter.readability import warn_if_unreadable
from segmenter.scoring import Scorer
from segmenter.segmentation import Segmentation
from segmenter.sentences import Sentences
from segmenter.sources import locate

__all__ = ["Segmenter"]


class Segmenter:
    """Segments texts with a cross-segment classifier. One instance may serve many threads.

    Build it with :meth:`from_pretrained`.

    :param checkpoint: A loaded checkpoint.
    :param scorer: Runs its model.
    :param sentences: How texts are split; None: as the checkpoint says.
    :param batch_tokens: Tokens of a batch, padding included; None: what suits the device.
    :param runs_with: What the scorer is, so that another process can have it too; None if it is of your own.
    :raises ConfigError: If a setting is out of its range.
    """

    def __init__(
        self,
        checkpoint: LightCheckpoint,
        scorer: Scorer,
        *,
        sentences: Sentences | None = None,
        batch_tokens: int | None = None,
        runs_with: Choice | None = None,
    ) -> None:
        is_count = isinstance(batch_tokens, int) and not isinstance(batch_tokens, bool) and batch_tokens > 0
        if batch_tokens is not None and not is_count:
            raise ConfigError(f"got batch_tokens={batch_tokens!r}, expected a whole number, 1 or more")
        self._checkpoint = checkpoint
        self._scorer = scorer
        self._profile = Profile()
        self._preparer = Preparer(checkpoint, sentences)
        self._groups = GroupScorer(checkpoint, scorer, self._preparer, batch_tokens, self._profile)
        self._runs_with = runs_with
        self._options = sentences, batch_tokens
        self.counter = counter_of(checkpoint.vocabulary)
        """Counts tokens as the model has them."""

    @classmethod
    def from_pretrained(
        cls,
        model: str | os.PathLike[str] | None = None,
        *,
        revision: str | None = None,
        device: str = "auto",
        backend: Backend = "auto",
        dtype: Dtype = "auto",
        context: Context | None = None,
        threshold: float | None = None,
        candidates: Candidates | None = None,
        sentences: Sentences | None = None,
        batch_tokens: int | None = None,
    ) -> Self:
        """Load a model.

        Every setting that is None is the checkpoint's own.

        :param model: None for the shipped model, a checkpoint folder, or a name on the hub. Only a
            name may touch the network.
        :param revision: Branch, tag or commit on the hub.
        :param device: ``"auto"`` (a GPU where there is one), ``"cpu"``, ``"cuda"``, ``"cuda:1"``.
        :param backend: What runs the model: ``"torch"``, ``"onnx"`` or ``"openvino"``; ``"auto"`` for the
            fastest that gives the same labels.
        :param dtype: What it computes with: ``"float32"``, ``"bfloat16"``, ``"float16"`` or ``"int8"``;
            ``"auto"`` as for ``backend``.
        :param context: ``"sentence"`` for one sentence a side of a gap, or a number of tokens a side,
            1 to half of what the model can take.
        :param threshold: Gaps above it are cut, 0 to 1, in documents with and without paragraphs.
        :param candidates: ``"auto"`` scores paragraph breaks where a text has any, else every gap;
            ``"all"`` every gap; ``"paragraphs"`` paragraph breaks only.
        :param sentences: ``"auto"``, ``"lines"``, or an object with a method ``starts(text)``.
        :param batch_tokens: Tokens of a batch, padding included, 1 or more.
        :return: The segmenter.
        :raises CheckpointError: If the model cannot be found or loaded.
        :raises ConfigError: If a setting is out of its range.
        """
        folder = locate(model, revision)
        choice = choose(backend, dtype, device, folder)
        checkpoint = _load(folder)
        overrides: dict[str, Any] = {"context": context, "threshold": threshold, "candidates": candidates}
        overrides = {name: value for name, value in overrides.items() if value is not None}
        if threshold is not None:
            overrides["paragraph_threshold"] = None
        config = replace(checkpoint.config, **overrides)
        return cls(
            replace(checkpoint, config=config),
            load_scorer(checkpoint, choice),
            sentences=sentences,
            batch_tokens=batch_tokens,
            runs_with=choice,
        )

    def __reduce__(self) -> tuple[Any, ...]:
        """Be sent to another process, which reads the model anew from its folder.

        What is sent also tells two segmenters apart, and stays the same from one day to the next.

        :return: As the pickle protocol has it.
        :raises ConfigError: If it was not built by :meth:`from_pretrained`.
        """
        if self._runs_with is None:
            raise ConfigError(
                "got a Segmenter with a scorer of its own, which cannot be sent to another process; build it "
                "with Segmenter.from_pretrained"
            )
        # A path as text: a Path keeps its hash, and so would not be the same every time.
        folder = str(self._checkpoint.folder.absolute())
        return _restore, (type(self), folder, self.weights, self.config, self._runs_with, *self._options)

    @cached_property
    def weights(self) -> str:
        """A hash of the model's weights."""
        return weights_hash(self._checkpoint.folder)

    @property
    def runs_with(self) -> Choice | None:
        """Backend, precision and device; None for a scorer of your own."""
        return self._runs_with

    @property
    def preparer(self) -> Preparer:
        """What comes before the model; it can be sent to another process."""
        return self._preparer

    def identity(self) -> dict[str, Any]:
        """What its answers depend on.

        :return: Hashes of the weights and the vocabulary, the settings in force, and what runs the model;
            values that JSON can hold.
        """
        settings = json.loads(self.config.to_json())
        del settings["metrics"]
        runs_with = self._runs_with
        vocabulary = self._checkpoint.vocabulary.to_str()
        return {
            "model": self.weights,
            "vocabulary": sha256(vocabulary.encode("utf-8", "replace")).hexdigest()[:16],
            "settings": settings,
            "splitter": type(self._preparer.splitter).__qualname__,
            "backend": runs_with.backend if runs_with else type(self._scorer).__qualname__,
            "dtype": runs_with.dtype if runs_with else None,
            "device": runs_with.device.split(":")[0] if runs_with else None,
            "batch_tokens": self._groups.batch_tokens,
        }

    @property
    def config(self) -> CheckpointConfig:
        """The settings in force."""
        return self._checkpoint.config

    @property
    def profile(self) -> Profile:
        """Where the time went, since the model was loaded."""
        return self._profile

    def segment(
        self,
        text: str | Document,
        *,
        chunks: ChunkConfig | None = None,
        tokenizer: TextTokenizer | None = None,
        show_progress: bool = False,
    ) -> Segmentation:
        """Segment a text.

        :param text: Any string, or a document; ``""`` gives no chunk, a blank text one.
        :param chunks: How to cut; None: at the threshold, without limits.
        :param tokenizer: What its sizes are in, as :meth:`Segmentation.rechunk` takes it.
        :param show_progress: Whether to show a bar on the standard error.
        :return: Its gaps, boundaries and chunks.
        :raises InputError: If it is not a string.
        :raises ConfigError: If it is not a tokenizer.
        """
        return next(
            self.segment_many([text], chunks=chunks, tokenizer=tokenizer, show_progress=show_progress)
        )

    def segment_many(
        self,
        texts: Iterable[str | Document],
        *,
        chunks: ChunkConfig | None = None,
        tokenizer: TextTokenizer | None = None,
        show_progress: bool = False,
    ) -> Iterator[Segmentation]:
        """Segment texts, in batches that run across them.

        Lazy on both sides: texts are taken as they are needed, and results come in their order. Where only
        paragraph breaks are scored, ``chunks.max_tokens`` has the model look inside paragraphs that are
        longer, so that they are cut at their best places too.

        :param texts: Any strings or documents.
        :param chunks: How to cut; None: at the threshold, without limits.
        :param tokenizer: What its sizes are in, as :meth:`Segmentation.rechunk` takes it.
        :param show_progress: Whether to show a bar on the standard error.
        :yield: A result each.
        :raises InputError: If one is not a string; the results before it have been given by then.
        :raises ConfigError: If it is not a tokenizer.
        """
        _refuse_string(texts, "texts")
        config = chunks or ChunkConfig()
        counter = None if tokenizer is None else counter_of(tokenizer)
        documents = (self._prepare(text, config.max_tokens) for text in texts)
        for document, probabilities in self._groups.score(documents, show_progress=show_progress):
            yield self._result(document, _no_error(probabilities)).rechunk(config, counter)

    def segment_prepared(self, documents: Iterable[Prepared]) -> Iterator[Segmentation | Exception]:
        """Segment texts that are prepared already, and let none cost another.

        :param documents: Texts that the :attr:`preparer` prepared, perhaps in other processes.
        :yield: A result each, or the error that the model raised for it alone.
        :raises Exception: What the model raises for any text, however small; then it is not the text.
        """
        for document, probabilities in self._groups.score(documents, one_by_one=True):
            if isinstance(probabilities, Exception):
                yield probabilities
            else:
                yield self._result(document, probabilities)

    def as_map(
        self,
        *,
        chunks: ChunkConfig | None = None,
        tokenizer: TextTokenizer | None = None,
        text_column: str = "text",
        id_column: str = "id",
        title_column: str = "title",
        markup: Markup = "auto",
        flatten: bool = False,
    ) -> ChunkMap:
        """A function for ``datasets``: ``dataset.map(segmenter.as_map(), batched=True)``.

        :param chunks: How to cut; None: at the threshold, without limits.
        :param tokenizer: What its sizes are in, as :meth:`Segmentation.rechunk` takes it.
        :param text_column: Column with the texts; a null gives no chunks.
        :param id_column: Column with an id a row, which ``flatten`` needs.
        :param title_column: Column with the titles, which ``{document}`` in a header becomes.
        :param markup: What the texts are written in; ``"auto"``: Markdown where the id ends in ``.md``.
        :param flatten: Whether to give a row a chunk, in place of one list column ``chunks`` a row. Give
            ``remove_columns=dataset.column_names`` too.
        :return: The function, which ``datasets`` knows again for its cache.
        :raises ConfigError: If it is not a tokenizer.
        """
        return ChunkMap(
            self,
            chunks,
            None if tokenizer is None else counter_of(tokenizer),
            text_column=text_column,
            id_column=id_column,
            title_column=title_column,
            markup=markup,
            flatten=flatten,
        )

    def predict(
        self, sentences: Sequence[str], paragraphs: Sequence[int] | None = None
    ) -> NDArray[np.float32]:
        """Score the gaps of a text that is split already.

        :param sentences: Any strings, empty ones too; all of them stay.
        :param paragraphs: Numbers of the sentences that start a paragraph, each from 0 to
            ``len(sentences) - 1``; None if that is not known.
        :return: P(boundary) per gap, 0 to 1, where a gap that was not scored has 0. *Shape:*
            ``(max(0, len(sentences) - 1),)``.
        :raises InputError: If a number is out of its range or a sentence is not a string.
        """
        return next(self.predict_many([(sentences, paragraphs)]))

    def predict_many(
        self,
        documents: Iterable[tuple[Sequence[str], Sequence[int] | None]],
        *,
        show_progress: bool = False,
    ) -> Iterator[NDArray[np.float32]]:
        """Score the gaps of texts that are split already, in batches that run across them.

        :param documents: Sentences and paragraph starts of each, as :meth:`predict` takes them.
        :param show_progress: Whether to show a bar on the standard error.
        :yield: What :meth:`predict` returns, for each.
        :raises InputError: As :meth:`predict`; the results before it have been given by then.
        """
        prepared = (self._prepare_split(*document) for document in documents)
        for _, probabilities in self._groups.score(prepared, show_progress=show_progress):
            yield _no_error(probabilities)

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Write a checkpoint with the settings in force.

        :param folder: Where to; made if it is missing.
        """
        whole = self._checkpoint
        if not isinstance(whole, Checkpoint):
            whole = Checkpoint.load(whole.folder)
        write_checkpoint(whole.model, whole.tokenizer, self.config, Path(folder))

    def _prepare(self, text: str | Document, max_tokens: int | None) -> Prepared:
        return _warned(self._preparer.prepare(text, self._profile, max_tokens))

    def _prepare_split(self, sentences: Sequence[str], paragraphs: Sequence[int] | None) -> Prepared:
        _refuse_string(sentences, "sentences")
        return _warned(self._preparer.prepare_split(sentences, paragraphs, self._profile))

    def _result(self, document: Prepared, probabilities: NDArray[np.float32]) -> Segmentation:
        windows = document.windows
        scored = np.zeros(len(probabilities), dtype=np.bool_)
        scored[windows.gaps] = True
        token_counts = document.stream.ends - document.stream.starts
        for array in (scored, token_counts, probabilities):
            array.flags.writeable = False
        return Segmentation(
            document=document.document,
            sentences=document.sentences,
            token_counts=token_counts,
            probabilities=probabilities,
            scored=scored,
            trimmed_gaps=int(np.count_nonzero(windows.trimmed)),
            threshold=self.config.threshold_for(document.at_breaks),
            model=self._fingerprint,
            counter=self.counter,
        )

    @cached_property
    def _fingerprint(self) -> str:
        """Of what says how likely a boundary is."""
        settings = replace(self.config, metrics=None).to_json()
        return digest(
            weights_digest(self._checkpoint.model), settings, type(self._preparer.splitter).__name__
        )


def _restore(
    cls: type[Segmenter],
    folder: str,
    weights: str,
    config: CheckpointConfig,
    runs_with: Choice,
    sentences: Sentences | None,
    batch_tokens: int | None,
) -> Segmenter:
    """Build again what another process had."""
    prepare_process(runs_with.device)
    path = Path(folder)
    checkpoint = _load(path)
    if weights_hash(path) != weights:
        raise CheckpointError(f"the weights in {folder} have changed since they were loaded; load them anew")
    return cls(
        replace(checkpoint, config=config),
        load_scorer(checkpoint, runs_with),
        sentences=sentences,
        batch_tokens=batch_tokens,
        runs_with=runs_with,
    )


def _load(folder: Path) -> LightCheckpoint:
    from segmenter.light import load_light

    return load_light(folder) or Checkpoint.load(folder)


def _no_error(probabilities: NDArray[np.float32] | Exception) -> NDArray[np.float32]:
    if isinstance(probabilities, Exception):
        raise probabilities
    return probabilities


def _refuse_string(values: object, what: str) -> None:
    """A string is an iterable of strings too, its characters: never what was meant."""
    if isinstance(values, str):
        raise InputError(f"got a str as {what}, expected several: put it into a list")


def _warned(document: Prepared) -> Prepared:
    warn_if_unreadable(document.unreadable_share)
    return document
