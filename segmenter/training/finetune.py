"""From a checkpoint and labelled documents to a better checkpoint, with the proof of it."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from segmenter.checkpoint import Checkpoint, round_to_stored, weights_hash, write_checkpoint
from segmenter.config import CheckpointConfig, Context
from segmenter.errors import ConfigError
from segmenter.evaluation import Evaluation, compare, measure
from segmenter.labelled import LabelledDocument, id_order, sample_documents
from segmenter.sources import SHIPPED, locate
from segmenter.tokenizing import SentenceTokenizer
from segmenter.training.calibration import Goal, Scores, calibrate, cross_fitted, fold, self_fitted
from segmenter.training.card import CardNotes, model_card
from segmenter.training.config import TrainingConfig
from segmenter.training.folder import RunFolder
from segmenter.training.looks import Looks, score_together
from segmenter.training.loop import TokenIds, TrainingData, TrainingSummary, fit
from segmenter.training.packing import PackedDocuments
from segmenter.training.processes import is_cpu_only, this_process
from segmenter.training.report import RunReport, environment
from segmenter.training.sampling import SamplingConfig
from segmenter.training.splits import check_apart, check_learnable, data_hash, split_by_id
from segmenter.windows import WindowBuilder

__all__ = ["FineTuningConfig", "train"]


@dataclass(frozen=True, kw_only=True, slots=True)
class FineTuningConfig:
    """What a run does beside its loop.

    :ivar contexts: Contexts of the training windows and the share of each; None for the checkpoint's alone.
        The first one is what the new checkpoint reads with.
    :ivar batch_tokens: Most tokens of a batch, padding included.
    :ivar replay_share: Share of the windows from the replay documents, if there are any, 0 to below 1.
    :ivar eval_share: Share of the documents to set aside where none are given to measure on.
    :ivar most_documents: Most documents to learn from, in the order of a hash of their ids, as for a learning
        curve; None: all. Those to replay are not counted.
    :ivar most_eval_gaps: Most gaps to measure on before and after; whole documents are taken, in the order of
        a hash of their ids. None: all.
    :ivar look_gaps: Most of these to measure on at each look during the training.
    :ivar goal: What the thresholds are to reach.
    :ivar notes: What only the user knows, for the model card.
    :raises ConfigError: If a setting is out of its range.
    """

    contexts: Mapping[Context, float] | None = None
    batch_tokens: int = 4096
    replay_share: float = 0.3
    eval_share: float = 0.1
    most_documents: int | None = None
    most_eval_gaps: int | None = None
    look_gaps: int = 2000
    goal: Goal = field(default_factory=Goal)
    notes: CardNotes = field(default_factory=CardNotes)

    def __post_init__(self) -> None:
        if not 0 < self.eval_share < 1:
            raise ConfigError(f"got eval_share={self.eval_share!r}, expected a number between 0 and 1")
        for name in ("look_gaps", "most_eval_gaps", "most_documents"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"got {name}={value!r}, expected 1 or more")


def train(
    train_documents: Sequence[LabelledDocument],
    output: str | os.PathLike[str],
    config: TrainingConfig,
    *,
    eval_documents: Sequence[LabelledDocument] | None = None,
    replay_documents: Sequence[LabelledDocument] = (),
    model: str | os.PathLike[str] | None = None,
    settings: FineTuningConfig | None = None,
    show_progress: bool = False,
) -> RunReport:
    """Fine-tune a checkpoint, calibrate it, measure it against what it was, and write its folder.

    The same call again goes on with a run that was killed. Under ``accelerate launch`` every process makes
    this call; the first of them writes.

    :param train_documents: To learn from; copies and other kinds of text are the caller's choice.
    :param output: A new or empty folder, or that of the run to go on with.
    :param config: How to train.
    :param eval_documents: To measure on and to calibrate with; None: some are set aside, by a hash of their
        ids.
    :param replay_documents: Of what the checkpoint knew before, to learn from again so that it stays.
    :param model: None for the shipped model, a checkpoint folder, or a name on the hub; a bare encoder
        will do.
    :param settings: What the run does beside its loop.
    :param show_progress: Whether to show a bar on the standard error.
    :return: What the run did, as in ``training.json``.
    :raises InputError: If there is nothing to learn, or a document is both learned from and measured on.
    :raises ConfigError: If a setting does not suit the model or the machine.
    :raises CheckpointError: If the model cannot be loaded, or the result not written.
    :raises TrainingError: If the folder holds something else, or the training cannot go on.
    """
    settings = settings or FineTuningConfig()
    data = _checked(train_documents, eval_documents, replay_documents, settings)
    process = this_process()
    # Before anything is drawn, as the head of a bare encoder is.
    torch.manual_seed(config.seed)
    base = load_base(model)
    checkpoint = replace(base, config=retargeted(base.config, settings.contexts))
    sampling = sampling_config(checkpoint, config, settings, bool(data["replay"]))
    for context in sampling.contexts:
        # Refuses a context that is too wide, before the folder is claimed.
        WindowBuilder(context, checkpoint.max_positions, checkpoint.cls_id, checkpoint.sep_id)
    if config.precision == "fp16" and is_cpu_only():
        raise ConfigError("got precision='fp16' without a GPU, expected 'fp32' or 'bf16'")
    folder = RunFolder(Path(output))
    if process.is_main_process:
        folder.claim(identity(checkpoint, config, sampling, settings, data))
    try:
        before = score_together(base, data["eval"], show_progress)
        tokenizer = SentenceTokenizer(checkpoint.vocabulary)
        packed = PackedDocuments.from_documents([*data["train"], *data["replay"]], tokenizer)
        summary = fit(
            checkpoint.model,
            TrainingData(
                documents=packed,
                tokens=token_ids(checkpoint),
                n_replay=len(data["replay"]),
                boundary_label=checkpoint.config.boundary_label,
            ),
            sampling,
            config,
            folder.checkpoints,
            Looks(checkpoint, data["eval"], settings.look_gaps),
            show_progress,
        )
        report = RunReport(
            base=SHIPPED if model is None else Path(model).name,
            data={use: described(documents) for use, documents in data.items()},
            training=asdict(config),
            sampling=asdict(sampling),
            settings=asdict(settings),
            environment=environment(process.num_processes),
            steps=summary.steps,
            best_step=summary.best_step,
            windows=summary.windows,
            inner_gaps=summary.inner_gaps,
            seconds=_last(summary, "seconds"),
            core_seconds=_last(summary, "core_seconds"),
            log=list(summary.log),
        )
        round_to_stored(checkpoint.model)
        scores = score_together(checkpoint, data["eval"], show_progress)
        if process.is_main_process:
            report = finish(checkpoint, before, scores, report, settings, folder)
    finally:
        if process.is_main_process:
            folder.release()
    return report


def _checked(
    train_documents: Sequence[LabelledDocument],
    eval_documents: Sequence[LabelledDocument] | None,
    replay_documents: Sequence[LabelledDocument],
    settings: FineTuningConfig,
) -> dict[str, Sequence[LabelledDocument]]:
    """The documents by their use, if there is something to learn and to measure."""
    train_documents, replay_documents = (
        [document for document in documents if len(document.reference)]
        for documents in (train_documents, replay_documents)
    )
    check_learnable(train_documents, "train on")
    if eval_documents is None:
        train_documents, eval_documents = split_by_id(train_documents, settings.eval_share)
        check_learnable(eval_documents, "measure on, set aside of those to train on")
        check_learnable(train_documents, "train on, some being set aside")
    check_apart([*train_documents, *replay_documents], eval_documents)
    if settings.most_documents is not None:
        train_documents = sorted(train_documents, key=id_order)[: settings.most_documents]
        check_learnable(train_documents, "train on, the most_documents of them")
    eval_documents = sample_documents(eval_documents, settings.most_eval_gaps)
    check_learnable(eval_documents, "measure on")
    return {"train": train_documents, "eval": eval_documents, "replay": replay_documents}


def finish(
    checkpoint: Checkpoint,
    before: Scores,
    scores: Scores,
    report: RunReport,
    settings: FineTuningConfig,
    folder: RunFolder,
) -> RunReport:
    """Calibrate the trained model, measure it, and write its folder.

    :param checkpoint: With the trained model.
    :param before: What the model said before the training, by way of reading.
    :param scores: What it says after it.
    :param report: What the run did so far.
    :param settings: Hold the goal and the notes.
    :param folder: Where the result goes.
    :return: The whole report.
    """
    calibration = calibrate(scores, settings.goal)
    # What is reported was calibrated on other documents than it is measured on, if there are enough.
    crossed = cross_fitted(scores, settings.goal)
    after = crossed or self_fitted(scores, calibration)
    report = replace(
        report,
        is_cross_fitted=crossed is not None,
        temperature=calibration.temperature,
        shift=calibration.shift,
        thresholds=dict(calibration.thresholds),
        before={mode: measure(documents) for mode, documents in before.items()},
        after={mode: measure(documents) for mode, documents in after.items()},
        gain={mode: compare(documents, before[mode]) for mode, documents in after.items()},
    )
    fold(checkpoint.model, calibration, checkpoint.config.boundary_label)
    config = replace(
        calibration.settings(checkpoint.config),
        metrics={mode: _values(found) for mode, found in report.after.items()},
    )
    write_checkpoint(
        checkpoint.model,
        checkpoint.tokenizer,
        config,
        folder.path,
        {"README.md": model_card(report, config, settings.notes), "training.json": report.to_json()},
    )
    folder.finish()
    return report


def load_base(model: str | os.PathLike[str] | None) -> Checkpoint:
    """Load the checkpoint to start from.

    :param model: None for the shipped model, a checkpoint folder, or a name on the hub.
    :return: The checkpoint, set to score what each way of measuring asks for.
    """
    checkpoint = Checkpoint.load(locate(model), new_head=True)
    return replace(checkpoint, config=replace(checkpoint.config, candidates="auto"))


def retargeted(config: CheckpointConfig, contexts: Mapping[Context, float] | None) -> CheckpointConfig:
    """Settings of the checkpoint to come: those of the old one, without what was measured on it.

    :param config: The old settings.
    :param contexts: As in :class:`FineTuningConfig`.
    :return: The new settings.
    """
    context = next(iter(contexts)) if contexts else config.context
    return replace(config, context=context, metrics=None, paragraph_threshold=None)


def sampling_config(
    checkpoint: Checkpoint, config: TrainingConfig, settings: FineTuningConfig, has_replay: bool
) -> SamplingConfig:
    """What the windows of a run contain.

    :param checkpoint: Says which context, and whether marks are known.
    :param config: Says what is done about imbalance.
    :param settings: What the run does.
    :param has_replay: Whether there are documents to replay.
    :return: The draw.
    """
    sampling = SamplingConfig(
        contexts=dict(settings.contexts or {checkpoint.config.context: 1.0}),
        batch_tokens=settings.batch_tokens,
        replay_share=settings.replay_share if has_replay else 0.0,
        marked_share=0.5 if checkpoint.mark_id is not None else 0.0,
    )
    if config.imbalance == "undersample":
        return sampling
    return replace(sampling, weight_breaks=1.0, weight_inner=1.0, most_others=None)


def token_ids(checkpoint: Checkpoint) -> TokenIds:
    """The tokens that a checkpoint's windows are made of.

    :param checkpoint: The checkpoint.
    :return: Their ids.
    """
    return TokenIds(
        cls_id=checkpoint.cls_id,
        sep_id=checkpoint.sep_id,
        pad_id=checkpoint.pad_id,
        mark_id=checkpoint.mark_id,
        max_positions=checkpoint.max_positions,
    )


def identity(
    checkpoint: Checkpoint,
    config: TrainingConfig,
    sampling: SamplingConfig,
    settings: FineTuningConfig,
    data: Mapping[str, Sequence[LabelledDocument]],
) -> dict[str, Any]:
    """What makes a run the same run: all but its length.

    :param checkpoint: Where it starts.
    :param config: How it trains.
    :param sampling: What its windows contain.
    :param settings: What it does beside.
    :param data: Its documents, by use.
    :return: Values that JSON can hold.
    """
    not_identity = ("max_steps", "epochs", "max_minutes", "patience", "logging_steps")
    return {
        "model": weights_hash(checkpoint.folder),
        **{f"{use} documents": data_hash(documents) for use, documents in data.items()},
        "look_gaps": settings.look_gaps,
        **{name: value for name, value in asdict(config).items() if name not in not_identity},
        **asdict(sampling),
        "contexts": {str(context): share for context, share in sampling.contexts.items()},
    }


def described(documents: Sequence[LabelledDocument]) -> dict[str, int]:
    """Counts of a set of documents.

    :param documents: The set.
    :return: Documents, sentences, boundaries, and documents with known paragraphs.
    """
    return {
        "documents": len(documents),
        "sentences": sum(len(document.sentences) for document in documents),
        "boundaries": sum(len(document.boundaries) for document in documents),
        "with_paragraphs": sum(document.paragraphs is not None for document in documents),
    }


def _last(summary: TrainingSummary, name: str) -> float:
    return max((float(entry[name]) for entry in summary.log if name in entry), default=0.0)


def _values(found: Evaluation) -> dict[str, float]:
    return {name: round(figure.value, 4) for name, figure in found.micro.items()}
