"""Which of the processes that train together this one is."""

import torch
from accelerate import PartialState

__all__ = ["is_cpu_only", "this_process"]


def is_cpu_only() -> bool:
    """Whether this machine has nothing faster than its CPU to train on.

    :return: Whether it is so.
    """
    return not torch.accelerator.is_available()


def this_process() -> PartialState:
    """Join the group of processes, if a launcher started several.

    :return: Number and device of this process, and how many there are.
    """
    # accelerate takes several processes on a CPU for single ones unless it is told.
    return PartialState(cpu=is_cpu_only())
