"""The façade: a model that segments texts."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from segmenter.backends import Backend, Dtype, choose, load_scorer
from segmenter.checkpoint import Checkpoint, LightCheckpoint, weights_digest, write_checkpoint
from segmenter.config import Candidates, CheckpointConfig, ChunkConfig, Context
from segmenter.counting import TextTokenizer, counter_of
from segmenter.document import Document, Sentence, digest
from segmenter.errors import ConfigError, InputError
from segmenter.profiling import Profile
from segmenter.readability import Vocabulary
from segmenter.scoring import BatchBudget, Scorer, sigmoid, start_scoring
from segmenter.segmentation import Segmentation
from segmenter.sentences import Sentences, paragraph_flags, resolve_splitter, split_document
from segmenter.sources import locate
from segmenter.tokenizing import SentenceTokenizer
from segmenter.windows import TokenStream, WindowBuilder, Windows, candidate_gaps, with_gaps_inside

__all__ = ["Segmenter"]

_T = TypeVar("_T")

_BATCHES_A_GROUP = 16
"""How many batches' worth of windows are gathered from documents before the model runs."""

_BAR_DELAY = 1.0
"""Seconds of work before a bar is worth its place."""

_DOCUMENTS_A_GROUP = 1024
"""Most documents that are gathered: blank ones have no windows."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A document on its way to the model."""

    document: Document
    sentences: tuple[Sentence, ...]
    stream: TokenStream
    windows: Windows
    at_breaks: bool
    """Whether only its paragraph breaks are scored."""


class Segmenter:
    """Segments texts with a cross-segment classifier. One instance may serve many threads.

    Build it with :meth:`from_pretrained`.

    :param checkpoint: A loaded checkpoint.
    :param scorer: Runs its model.
    :param sentences: How texts are split; None: as the checkpoint says.
    :param batch_tokens: Tokens of a batch, padding included; None: what suits the device.
    :raises ConfigError: If a setting is out of its range.
    """

    def __init__(
        self,
        checkpoint: LightCheckpoint,
        scorer: Scorer,
        *,
        sentences: Sentences | None = None,
        batch_tokens: int | None = None,
    ) -> None:
        is_count = isinstance(batch_tokens, int) and not isinstance(batch_tokens, bool) and batch_tokens > 0
        if batch_tokens is not None and not is_count:
            raise ConfigError(f"got batch_tokens={batch_tokens!r}, expected a whole number, 1 or more")
        self._checkpoint = checkpoint
        self._scorer = scorer
        self._profile = Profile()
        self._budget = BatchBudget(batch_tokens or scorer.batch_tokens)
        self._splitter = resolve_splitter(checkpoint.config.sentences if sentences is None else sentences)
        self._builder = WindowBuilder(
            context=checkpoint.config.context,
            max_positions=checkpoint.max_positions,
            cls_id=checkpoint.cls_id,
            sep_id=checkpoint.sep_id,
        )
        self._tokenizer = SentenceTokenizer(checkpoint.vocabulary)
        self._vocabulary = Vocabulary(checkpoint.vocabulary, checkpoint.unk_id)
        self._counter = counter_of(checkpoint.vocabulary)

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
        from segmenter.light import load_light

        checkpoint = load_light(folder) or Checkpoint.load(folder)
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
        )

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
        for document, probabilities in self._scored(documents, show_progress):
            yield self._result(document, probabilities).rechunk(config, counter)

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
        for _, probabilities in self._scored(prepared, show_progress):
            yield probabilities

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Write a checkpoint with the settings in force.

        :param folder: Where to; made if it is missing.
        """
        whole = self._checkpoint
        if not isinstance(whole, Checkpoint):
            whole = Checkpoint.load(whole.folder)
        write_checkpoint(whole.model, whole.tokenizer, self.config, Path(folder))

    def _prepare(self, text: str | Document, max_tokens: int | None) -> _Prepared:
        document = text if isinstance(text, Document) else Document(text=text)
        _check_text(document.text)
        with self._profile.stage("splitting"):
            sentences = tuple(split_document(document, self._splitter))
        strings = [sentence.text for sentence in sentences]
        return self._tokenized(document, sentences, strings, paragraph_flags(sentences), max_tokens)

    def _prepare_split(self, sentences: Sequence[str], paragraphs: Sequence[int] | None) -> _Prepared:
        _refuse_string(sentences, "sentences")
        for sentence in sentences:
            _check_text(sentence)
        flags = np.zeros(len(sentences), dtype=np.bool_)
        for number in () if paragraphs is None else paragraphs:
            if not isinstance(number, Integral) or not 0 <= number < len(sentences):
                raise InputError(
                    f"got paragraph start {number!r}, expected 0 to {len(sentences) - 1}: "
                    "the numbers of sentences that start a paragraph"
                )
            flags[int(number)] = True
        flags[:1] = False
        return self._tokenized(Document(text=""), (), sentences, flags)

    def _tokenized(
        self,
        document: Document,
        sentences: tuple[Sentence, ...],
        strings: Sequence[str],
        paragraph_starts: NDArray[np.bool_],
        max_tokens: int | None = None,
    ) -> _Prepared:
        with self._profile.stage("tokenizing"):
            ids = self._tokenizer.encode(strings)
            stream = TokenStream.join(ids, paragraph_starts, self._checkpoint.mark_id)
            self._vocabulary.warn(stream.ids)
        with self._profile.stage("windows"):
            gaps = candidate_gaps(len(strings), paragraph_starts, self.config.candidates)
            if max_tokens is not None and self.config.candidates == "auto":
                gaps = with_gaps_inside(gaps, stream.ends - stream.starts, max_tokens)
            windows = self._builder.build(stream, gaps)
        at_breaks = self.config.candidates != "all" and bool(paragraph_starts[1:].any())
        return _Prepared(document, sentences, stream, windows, at_breaks)

    def _scored(
        self, documents: Iterable[_Prepared], show_progress: bool
    ) -> Iterator[tuple[_Prepared, NDArray[np.float32]]]:
        """Score documents in groups, so that batches run across them."""
        sign = 1 if self.config.boundary_label == 1 else -1
        with tqdm(
            unit="gap",
            total=0,
            disable=not show_progress,
            leave=False,
            delay=_BAR_DELAY,
            dynamic_ncols=True,
            # A line a minute where lines stay.
            mininterval=0.1 if sys.stderr.isatty() else 60,
        ) as bar:
            begun = ((group, self._start(group, bar)) for group in self._groups(documents))
            for group, finish in _one_ahead(begun) if self._scorer.runs_ahead else begun:
                margins = finish()
                # Off the terminal while results are given, which may be printed.
                bar.clear()
                for document, margin in zip(group, margins, strict=True):
                    with self._profile.stage("decoding"):
                        probabilities = np.zeros(max(0, len(document.stream.starts) - 1), dtype=np.float32)
                        probabilities[document.windows.gaps] = sigmoid(sign * margin)
                    yield document, probabilities

    def _start(self, group: list[_Prepared], bar: "tqdm[Any]") -> Callable[[], list[NDArray[np.float32]]]:
        bar.total += sum(len(document.windows) for document in group)
        return start_scoring(
            self._scorer,
            self._builder,
            self._checkpoint.pad_id,
            [document.windows for document in group],
            self._budget,
            self._profile,
            bar.update,
        )

    def _groups(self, documents: Iterable[_Prepared]) -> Iterator[list[_Prepared]]:
        """Gather documents until their windows fill some batches."""
        limit = _BATCHES_A_GROUP * self._budget.tokens
        group: list[_Prepared] = []
        tokens = 0
        rest = iter(documents)
        while True:
            try:
                document = next(rest, None)
            except Exception:
                # Whatever goes wrong with a document must not cost the good ones before it.
                yield group
                raise
            if document is None:
                break
            group.append(document)
            # The document's own tokens too, since it may have few windows.
            tokens += int(document.windows.lengths.sum()) + len(document.stream.ids)
            if tokens >= limit or len(group) == _DOCUMENTS_A_GROUP:
                yield group
                group, tokens = [], 0
        yield group

    def _result(self, document: _Prepared, probabilities: NDArray[np.float32]) -> Segmentation:
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
            counter=self._counter,
        )

    @cached_property
    def _fingerprint(self) -> str:
        """Of what says how likely a boundary is."""
        settings = replace(self.config, metrics=None).to_json()
        return digest(weights_digest(self._checkpoint.model), settings, type(self._splitter).__name__)


def _one_ahead(values: Iterator[_T]) -> Iterator[_T]:
    """Take one more than is given, so that its work is under way; an error waits for its turn."""
    taken: list[_T] = []
    while True:
        try:
            following = [next(values)]
        except StopIteration:
            break
        except Exception:
            yield from taken
            raise
        yield from taken
        taken = following
    yield from taken


def _refuse_string(values: object, what: str) -> None:
    """A string is an iterable of strings too, its characters: never what was meant."""
    if isinstance(values, str):
        raise InputError(f"got a str as {what}, expected several: put it into a list")


def _check_text(text: object) -> None:
    if not isinstance(text, str):
        raise InputError(f"got a {type(text).__name__}, expected a str; decode bytes first")
