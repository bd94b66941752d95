"""What a process may still do that was forked from one that used torch."""

import os

from segmenter.errors import ConfigError

__all__ = ["prepare_process"]

_forked = False


def _note_fork() -> None:
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


def prepare_process(device: str) -> None:
    """Make a forked process fit for a model; any other is left as it is.

    :param device: Where the model is to run, as torch names it.
    :raises ConfigError: If that is a GPU, which a forked process cannot use.
    """
    if not _forked:
        return
    if device.split(":")[0] != "cpu":
        raise ConfigError(
            f"a forked process cannot use {device}, expected one that was spawned: leave num_proc out, or "
            "call multiprocess.set_start_method('spawn') first"
        )
    import torch

    # The threads of OpenMP are not copied by a fork, and a pool that is one of them waits for ever. Several
    # processes share the cores anyway.
    torch.set_num_threads(1)
