"""What happens beside the steps of a run: its clock, its end, its bar, its checkpoints."""

import json
import sys
import time
from pathlib import Path
from typing import Any

from accelerate.utils import broadcast_object_list
from tqdm import tqdm
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments

from segmenter.training.config import TrainingConfig
from segmenter.training.processes import this_process

__all__ = ["AP_KEY", "COMPLETE", "Clock", "EarlyStopping", "MarkComplete", "ProgressBar", "TimeLimit"]

AP_KEY = "eval_average_precision"
COMPLETE = "complete"


class Clock:
    """How far a run is, by steps or by time, whichever is further.

    :param config: Says when the run ends.
    :param total_steps: Steps after which it ends at the latest.
    """

    def __init__(self, config: TrainingConfig, total_steps: int) -> None:
        self._limit = None if config.max_minutes is None else 60 * config.max_minutes
        self._total_steps = total_steps
        self._before = 0.0
        self._start = time.monotonic()
        self._ticked = 0.0

    def start(self, log: list[dict[str, Any]]) -> None:
        """Go on from the time that an earlier process logged.

        :param log: The log of the run so far.
        """
        self._before = max((entry["seconds"] for entry in log if "seconds" in entry), default=0.0)
        self._start = time.monotonic()
        self.tick()

    def tick(self) -> None:
        """Read the time, for progress and end: all processes have to see the same."""
        self._ticked = self.seconds
        if self._limit is not None:
            (self._ticked,) = broadcast_object_list([self._ticked])

    @property
    def seconds(self) -> float:
        """Time of the run, that before a restart included."""
        return self._before + time.monotonic() - self._start

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return self._limit is not None and self._ticked >= self._limit

    def progress(self, step: int) -> float:
        """Share of the run that is done.

        :param step: Steps that are done.
        :return: 0 to 1.
        """
        by_steps = step / self._total_steps
        by_time = 0.0 if self._limit is None else self._ticked / self._limit
        return min(1.0, max(by_steps, by_time))


class MarkComplete(TrainerCallback):
    """Says, after all files of a checkpoint are written, that they are, and whether it is the last.

    :param length: What says how long the run is; values that JSON can hold.
    """

    def __init__(self, length: list[float | None]) -> None:
        self._length = length

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        if control.should_save:
            # What a checkpoint does not hold, such as the time, is read from the log.
            control.should_log = True

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        assert args.output_dir is not None
        this_process().wait_for_everyone()
        if state.is_world_process_zero:
            mark = Path(args.output_dir) / f"checkpoint-{state.global_step}" / COMPLETE
            partial = mark.with_name(f".partial-{COMPLETE}")
            is_last = control.should_training_stop
            partial.write_text(json.dumps({"is_last": is_last, "length": self._length}), encoding="utf-8")
            partial.replace(mark)


class EarlyStopping(TrainerCallback):
    """Ends a run whose AP has stopped rising. It remembers nothing: the log does.

    :param patience: Looks in a row without a better AP.
    """

    def __init__(self, patience: int) -> None:
        self._patience = patience

    def on_evaluate(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        areas = [entry[AP_KEY] for entry in state.log_history if AP_KEY in entry]
        if len(areas) - 1 - areas.index(max(areas)) >= self._patience:
            control.should_training_stop = True


class TimeLimit(TrainerCallback):
    """Ends a run whose time is up, with a last look and a last checkpoint.

    :param clock: Of the run.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        self._clock.start(state.log_history)

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        self._clock.tick()
        if self._clock.is_over:
            control.should_training_stop = True
            control.should_save = True
            control.should_evaluate = args.eval_strategy != "no"


class ProgressBar(TrainerCallback):
    """Shows how far the run is, what is left, the loss, and the AP.

    :param clock: Of the run.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._bar: tqdm[Any] | None = None
        self._shown: dict[str, str] = {}

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        if state.is_world_process_zero:
            self._bar = tqdm(
                total=100,
                desc="training",
                dynamic_ncols=True,
                # A line a minute where lines stay.
                mininterval=0.5 if sys.stderr.isatty() else 60,
                bar_format="{desc} {percentage:3.0f}%|{bar}| {elapsed}<{remaining}{postfix}",
            )
            # What was done before a restart took none of this process's time.
            self._bar.initial = self._bar.n = 100 * self._clock.progress(state.global_step)
            self._bar.refresh()

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        if self._bar is not None:
            self._bar.update(100 * self._clock.progress(state.global_step) - self._bar.n)

    def on_log(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        logs = kwargs.get("logs") or {}
        names = (("loss", "loss"), (AP_KEY, "AP"))
        self._shown |= {label: f"{logs[key]:.3f}" for key, label in names if key in logs}
        if self._bar is not None:
            self._bar.set_postfix(step=state.global_step, **self._shown, refresh=False)

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **_: Any
    ) -> None:
        if self._bar is not None:
            self._bar.close()
