"""The commands ``train`` and ``calibrate``."""

import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from segmenter.cli.common import Model, SkipBad, app, read, reported
from segmenter.errors import ConfigError

if TYPE_CHECKING:
    from segmenter.config import Context
    from segmenter.training.calibration import Goal
    from segmenter.training.report import RunReport

__all__ = ["calibrate", "train"]


class ImbalanceChoice(StrEnum):
    """What is done about boundaries being rare."""

    UNDERSAMPLE = "undersample"
    WEIGHT = "weight"
    FOCAL = "focal"


class PrecisionChoice(StrEnum):
    """What numbers the training computes with."""

    FP32 = "fp32"
    BF16 = "bf16"
    FP16 = "fp16"


Precision = Annotated[
    float | None, typer.Option(help="Choose thresholds for this precision in place of the best F1.")
]
MeanSection = Annotated[
    float | None, typer.Option(help="Choose thresholds for sections of this mean length, in sentences.")
]


class _ManyValues(TyperCommand):
    """Lets an option take several values in a row, as a shell makes them of ``*.parquet``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(
            ctx, _spread(args, ("--train", "--eval", "--replay", "--context", "--data"))
        )


def _spread(words: list[str], options: tuple[str, ...]) -> list[str]:
    """Turn ``--train a b`` into ``--train a --train b``."""
    found: list[str] = []
    option, has_value = "", False
    for word in words:
        name, equals, _ = word.partition("=")
        if word.startswith("--"):
            option, has_value = name if name in options else "", bool(equals)
        elif option and has_value:
            found.append(option)
        elif option:
            has_value = True
        found.append(word)
    return found


@app.command(cls=_ManyValues)
def train(
    train_data: Annotated[
        list[str], typer.Option("--train", metavar="DATA...", help="Documents to learn from.")
    ],
    output: Annotated[
        Path, typer.Option(metavar="DIR", help="A new folder, or that of a run to go on with.")
    ],
    eval_data: Annotated[
        list[str] | None,
        typer.Option(
            "--eval", metavar="DATA...", help="Documents to measure on; if left out, a tenth is set aside."
        ),
    ] = None,
    most_documents: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Learn from a sample of --train, in the order of a hash of their ids.",
            show_default="all",
        ),
    ] = None,
    most_eval_gaps: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Measure on a sample of --eval: whole documents, in the order of a hash of their ids.",
            show_default="all",
        ),
    ] = None,
    replay: Annotated[
        list[str] | None,
        typer.Option(metavar="DATA...", help="Documents of what the model knew before, so that it stays."),
    ] = None,
    replay_share: Annotated[float, typer.Option(help="Share of the windows from --replay.")] = 0.3,
    model: Model = None,
    epochs: Annotated[float | None, typer.Option(help="Passes over the data.", show_default="3")] = None,
    max_steps: Annotated[int | None, typer.Option(help="Optimizer steps.")] = None,
    max_minutes: Annotated[float | None, typer.Option(help="Time of the training loop.")] = None,
    context: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONTEXT[:SHARE]...",
            help="'sentence' or tokens a side; the first is what the model will read with.",
            show_default="the model's",
        ),
    ] = None,
    imbalance: Annotated[
        ImbalanceChoice, typer.Option(help="What is done about boundaries being rare.")
    ] = ImbalanceChoice.UNDERSAMPLE,
    learning_rate: Annotated[float, typer.Option(help="At its highest.")] = 1e-4,
    frozen_layers: Annotated[int, typer.Option(help="Lowest layers that stay as they are.")] = 0,
    freeze_embeddings: Annotated[bool, typer.Option(help="Whether the embeddings stay as they are.")] = True,
    batch_tokens: Annotated[int, typer.Option(help="Tokens of a batch, padding included.")] = 4096,
    gradient_accumulation: Annotated[int, typer.Option(help="Batches a step.")] = 1,
    precision: Annotated[
        PrecisionChoice, typer.Option(help="bf16 or fp16 where the device has units for it.")
    ] = PrecisionChoice.FP32,
    patience: Annotated[
        int | None, typer.Option(help="End after so many looks without a better AP.", show_default="never")
    ] = None,
    save_steps: Annotated[int, typer.Option(help="Steps between checkpoints, and looks at --eval.")] = 200,
    seed: int = 0,
    target_precision: Precision = None,
    target_mean_section: MeanSection = None,
    name: Annotated[str, typer.Option(help="Name in the model card.")] = "fine-tuned segmenter",
    licence: Annotated[str | None, typer.Option(help="Of the model, for its card.")] = None,
    data_licence: Annotated[str | None, typer.Option(help="Of the documents, for the card.")] = None,
    language: Annotated[str | None, typer.Option(help="Of the documents, for the card.")] = None,
    skip_bad: SkipBad = False,
) -> None:
    """Fine-tune a model on your documents, measure what it gained, and write its folder.

    A run that was killed goes on when the same command is given again. Several GPUs: accelerate launch
    scripts/finetune.py with the same options.

    Example: segmenter train --train handbook/ --output my-model --max-minutes 60
    """
    with reported():
        from segmenter.training import CardNotes, FineTuningConfig, TrainingConfig, train

        if epochs is None and max_steps is None and max_minutes is None:
            epochs = 3
        config = TrainingConfig(
            epochs=epochs,
            max_steps=max_steps,
            max_minutes=max_minutes,
            learning_rate=learning_rate,
            frozen_layers=frozen_layers,
            freeze_embeddings=freeze_embeddings,
            gradient_accumulation=gradient_accumulation,
            imbalance=imbalance.value,
            precision=precision.value,
            patience=patience,
            save_steps=save_steps,
            logging_steps=min(50, save_steps),
            seed=seed,
        )
        data = {"train": train_data, "eval": eval_data or (), "replay": replay or ()}
        names = _names([source for sources in data.values() for source in sources])
        settings = FineTuningConfig(
            contexts=_contexts(context) if context else None,
            batch_tokens=batch_tokens,
            replay_share=replay_share,
            most_documents=most_documents,
            most_eval_gaps=most_eval_gaps,
            goal=_goal(target_precision, target_mean_section),
            notes=CardNotes(
                name=name,
                licence=licence,
                data_licence=data_licence,
                language=language,
                data_names={use: ", ".join(names[source] for source in data[use]) for use in data},
                command=_command(),
            ),
        )
        report = train(
            read(train_data, skip_bad),
            output,
            config,
            eval_documents=read(eval_data, skip_bad) if eval_data else None,
            replay_documents=read(replay, skip_bad) if replay else (),
            model=model,
            settings=settings,
            show_progress=True,
        )
        _tell(report, output)


@app.command(cls=_ManyValues)
def calibrate(
    data: Annotated[
        list[str], typer.Option(metavar="DATA...", help="Documents that the model was not trained on.")
    ],
    model: Model = None,
    output: Annotated[
        Path | None, typer.Option(metavar="DIR", help="A new folder.", show_default="the model's own")
    ] = None,
    target_precision: Precision = None,
    target_mean_section: MeanSection = None,
    skip_bad: SkipBad = False,
) -> None:
    """Fit probabilities and thresholds to your documents, without training.

    Example: segmenter calibrate --model my-model --data sections.jsonl --target-precision 0.8
    """
    with reported():
        from segmenter.training.recalibrate import recalibrate

        done = recalibrate(
            read(data, skip_bad),
            model=model,
            output=output,
            goal=_goal(target_precision, target_mean_section),
            show_progress=sys.stderr.isatty(),
        )
        typer.echo(f"temperature {done.calibration.temperature:.3f}, shift {done.calibration.shift:+.3f}")
        for mode, threshold in done.calibration.thresholds.items():
            before, after = done.before[mode].micro, done.after[mode].micro
            typer.echo(
                f"{mode}: threshold {threshold:.3f}, F1 {before['f1'].value:.3f} -> {after['f1'].value:.3f}, "
                f"precision {before['precision'].value:.3f} -> {after['precision'].value:.3f}, "
                f"calibration error {before['calibration_error'].value:.3f} -> "
                f"{after['calibration_error'].value:.3f}"
            )
        typer.echo(f"wrote {output or model}")


def _goal(precision: float | None, mean_section: float | None) -> "Goal":
    from segmenter.training.calibration import Goal

    return Goal(precision=precision, mean_section=mean_section)


def _contexts(texts: list[str]) -> "dict[Context, float]":
    """Read ``["64:0.7", "sentence:0.3"]``."""
    shares: dict[Context, float] = {}
    for text in texts:
        name, _, share = text.partition(":")
        try:
            shares["sentence" if name == "sentence" else int(name)] = float(share) if share else 1.0
        except ValueError as error:
            raise ConfigError(
                f"got --context {text}, expected 'sentence' or tokens a side, with a share where there are "
                "several, such as 64:0.8"
            ) from error
    return shares


def _command() -> str:
    """What was typed, without the folders of this machine."""
    parts = [word.partition("=") if word.startswith("--") else ("", "", word) for word in sys.argv[1:]]
    names = _names([value for _, _, value in parts])
    return shlex.join(["segmenter", *(option + equals + names[value] for option, equals, value in parts)])


def _names(values: list[str]) -> dict[str, str]:
    """What to call each value: of a whole path, as much of its end as tells it from the others."""
    ends = {value: Path(value).parts for value in values if value.startswith(("/", "~"))}
    names = {value: value for value in values}
    for value, own in ends.items():
        others = [end for end in ends.values() if end != own]
        counts = (n for n in range(1, len(own)) if all(end[-n:] != own[-n:] for end in others))
        names[value] = str(Path(*own[-next(counts, len(own)) :]))
    return names


def _tell(report: "RunReport", output: Path) -> None:
    from segmenter.training.processes import this_process

    if not this_process().is_main_process:
        return
    for mode, after in report.after.items():
        before, gain = report.before[mode].micro, report.gain[mode]["micro"]
        for name, label in (("average_precision", "AP"), ("f1", "F1")):
            change = gain[name]
            typer.echo(
                f"{mode}: {label} {before[name].value:.3f} -> {after.micro[name].value:.3f} "
                f"({change.value:+.3f} [{change.low:+.3f}, {change.high:+.3f}])"
            )
    typer.echo(f"wrote {output}")
