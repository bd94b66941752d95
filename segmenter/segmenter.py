"""The façade: a model that segments texts."""

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from segmenter.checkpoint import Checkpoint, locate, write_checkpoint
from segmenter.config import Candidates, CheckpointConfig, Context, check_candidates, check_threshold
from segmenter.document import Sentence
from segmenter.errors import InputError
from segmenter.readability import Vocabulary
from segmenter.scoring import Scorer, TorchScorer, score_windows, sigmoid
from segmenter.segmentation import Segmentation
from segmenter.sentences import Sentences, paragraph_flags, resolve_splitter, split_sentences
from segmenter.tokenizing import SentenceTokenizer
from segmenter.windows import TokenStream, WindowBuilder, Windows, candidate_gaps

__all__ = ["Segmenter"]

_BATCHES_A_GROUP = 32
"""How many batches' worth of windows are gathered from documents before the model runs."""


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A document on its way to the model."""

    text: str
    sentences: tuple[Sentence, ...]
    stream: TokenStream
    windows: Windows


class Segmenter:
    """Segments texts with a cross-segment classifier. One instance may serve many threads.

    Build it with :meth:`from_pretrained`.

    :param checkpoint: A loaded checkpoint.
    :param scorer: Runs its model.
    :param sentences: How texts are split; None: as the checkpoint says.
    :param batch_tokens: Tokens of a batch, padding included; None: what suits the device.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        scorer: Scorer,
        *,
        sentences: Sentences | None = None,
        batch_tokens: int | None = None,
    ) -> None:
        self._checkpoint = checkpoint
        self._scorer = scorer
        self._batch_tokens = batch_tokens
        self._splitter = resolve_splitter(checkpoint.config.sentences if sentences is None else sentences)
        self._builder = WindowBuilder(
            context=checkpoint.config.context,
            max_positions=checkpoint.max_positions,
            cls_id=checkpoint.cls_id,
            sep_id=checkpoint.sep_id,
        )
        backend = checkpoint.tokenizer.backend_tokenizer
        self._tokenizer = SentenceTokenizer(backend)
        self._vocabulary = Vocabulary(backend, checkpoint.tokenizer.unk_token_id)

    @classmethod
    def from_pretrained(
        cls,
        model: str | os.PathLike[str] | None = None,
        *,
        revision: str | None = None,
        device: str = "auto",
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
        :param context: ``"sentence"`` for one sentence a side of a gap, or a number of tokens a side,
            1 to half of what the model can take.
        :param threshold: Gaps above it are cut, 0 to 1.
        :param candidates: ``"auto"`` scores paragraph breaks where a text has any, else every gap;
            ``"all"`` every gap; ``"paragraphs"`` paragraph breaks only.
        :param sentences: ``"auto"``, ``"lines"``, or an object with a method ``starts(text)``.
        :param batch_tokens: Tokens of a batch, padding included, 1 or more.
        :return: The segmenter.
        :raises CheckpointError: If the model cannot be found or loaded.
        :raises ConfigError: If a setting is out of its range.
        """
        checkpoint = Checkpoint.load(locate(model, revision))
        overrides = {"context": context, "threshold": threshold, "candidates": candidates}
        config = replace(
            checkpoint.config, **{name: value for name, value in overrides.items() if value is not None}
        )
        return cls(
            replace(checkpoint, config=config),
            TorchScorer(checkpoint.model, device),
            sentences=sentences,
            batch_tokens=batch_tokens,
        )

    @property
    def config(self) -> CheckpointConfig:
        """The settings in force."""
        return self._checkpoint.config

    def segment(self, text: str, *, show_progress: bool = False) -> Segmentation:
        """Segment a text.

        :param text: Any string; ``""`` gives no chunk, a blank text one.
        :param show_progress: Whether to show a bar on the standard error.
        :return: Its gaps, boundaries and chunks.
        :raises InputError: If it is not a string.
        """
        return next(self.segment_many([text], show_progress=show_progress))

    def segment_many(
        self, texts: Iterable[str], *, show_progress: bool = False
    ) -> Iterator[Segmentation]:
        """Segment texts, in batches that run across them.

        Lazy on both sides: texts are taken as they are needed, and results come in their order.

        :param texts: Any strings.
        :param show_progress: Whether to show a bar on the standard error.
        :return: A result each.
        :raises InputError: If one is not a string; the results before it have been given by then.
        """
        with tqdm(unit="gap", total=0, disable=not show_progress, dynamic_ncols=True) as bar:
            for group in self._groups(texts):
                bar.total += sum(len(document.windows) for document in group)
                bar.refresh()
                margins = self._score([document.windows for document in group], bar)
                for document, margin in zip(group, margins, strict=True):
                    yield self._result(document, margin)

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
        for sentence in sentences:
            _check_text(sentence)
        flags = np.zeros(len(sentences), dtype=np.bool_)
        for number in paragraphs or ():
            if not 0 <= number < len(sentences):
                raise InputError(
                    f"got paragraph start {number}, expected 0 to {len(sentences) - 1}: "
                    "the numbers of sentences that start a paragraph"
                )
            flags[number] = True
        flags[:1] = False
        _, windows = self._windows(sentences, flags)
        (margins,) = self._score([windows], None)
        return self._probabilities(windows, margins, len(sentences))

    def save_pretrained(self, folder: str | os.PathLike[str]) -> None:
        """Write a checkpoint with the settings in force.

        :param folder: Where to; made if it is missing.
        """
        write_checkpoint(
            self._checkpoint.model, self._checkpoint.tokenizer, self.config, Path(folder)
        )

    def _groups(self, texts: Iterable[str]) -> Iterator[list[_Prepared]]:
        """Gather documents until their windows fill some batches."""
        limit = _BATCHES_A_GROUP * (self._batch_tokens or self._scorer.batch_tokens)
        group: list[_Prepared] = []
        tokens = 0
        for text in texts:
            try:
                _check_text(text)
            except InputError:
                yield group
                raise
            document = self._prepare(text)
            group.append(document)
            tokens += int(document.windows.lengths.sum())
            if tokens >= limit:
                yield group
                group, tokens = [], 0
        if group:
            yield group

    def _prepare(self, text: str) -> _Prepared:
        sentences = tuple(split_sentences(text, self._splitter))
        stream, windows = self._windows(
            [sentence.text for sentence in sentences], paragraph_flags(sentences)
        )
        return _Prepared(text, sentences, stream, windows)

    def _windows(
        self, sentences: Sequence[str], paragraph_starts: NDArray[np.bool_]
    ) -> tuple[TokenStream, Windows]:
        config = self.config
        tokens = self._tokenizer.encode(sentences)
        stream = TokenStream.join(tokens, paragraph_starts, self._checkpoint.mark_id)
        self._vocabulary.warn(stream.ids, stacklevel=4)
        gaps = candidate_gaps(len(sentences), paragraph_starts, config.candidates)
        return stream, self._builder.build(stream, gaps)

    def _score(
        self, documents: Sequence[Windows], bar: "tqdm[object] | None"
    ) -> list[NDArray[np.float32]]:
        margins = score_windows(
            self._scorer,
            self._builder,
            self._checkpoint.pad_id,
            documents,
            batch_tokens=self._batch_tokens,
            on_batch=None if bar is None else bar.update,
        )
        sign = 1 if self.config.boundary_label == 1 else -1
        return [sign * margin for margin in margins]

    def _probabilities(
        self, windows: Windows, margins: NDArray[np.float32], n_sentences: int
    ) -> NDArray[np.float32]:
        probabilities = np.zeros(max(0, n_sentences - 1), dtype=np.float32)
        probabilities[windows.gaps] = sigmoid(margins)
        probabilities.flags.writeable = False
        return probabilities

    def _result(self, document: _Prepared, margins: NDArray[np.float32]) -> Segmentation:
        windows, n_sentences = document.windows, len(document.sentences)
        scored = np.zeros(max(0, n_sentences - 1), dtype=np.bool_)
        scored[windows.gaps] = True
        scored.flags.writeable = False
        return Segmentation(
            text=document.text,
            sentences=document.sentences,
            token_counts=document.stream.ends - document.stream.starts,
            probabilities=self._probabilities(windows, margins, n_sentences),
            scored=scored,
            trimmed_gaps=int(np.count_nonzero(windows.trimmed)),
            threshold=self.config.threshold,
        )


def _check_text(text: object) -> None:
    if not isinstance(text, str):
        raise InputError(f"got a {type(text).__name__}, expected a str; decode bytes first")
