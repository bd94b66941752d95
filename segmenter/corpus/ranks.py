"""Which of the processes of a launch this one is. They share nothing but the output folder."""

import os
import socket
from dataclasses import dataclass

__all__ = ["Rank", "device_of", "this_rank"]

# What accelerate looks at, in its order.
_NUMBER = ("RANK", "PMI_RANK", "OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK")
_COUNT = ("WORLD_SIZE", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")
_LOCAL = ("LOCAL_RANK", "MPI_LOCALRANKID", "OMPI_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK")
_LOOPBACK = ("", "localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True)
class Rank:
    """A process of a launch; it takes every ``count``-th shard.

    :ivar number: From 0.
    :ivar count: Processes of the launch.
    :ivar local: Its number among those of this machine.
    :ivar launch: The same for all of them, and another for any launch at the same time.
    """

    number: int = 0
    count: int = 1
    local: int = 0
    launch: str = ""


def this_rank() -> Rank:
    """Find out from what a launcher (accelerate, torchrun, mpirun) has set.

    :return: The rank; number 0 of 1 without a launcher.
    """
    count = _first(_COUNT, 1)
    if count < 2:
        return Rank(launch=f"{socket.gethostname()}:{os.getpid()}")
    # Two launches cannot listen at one address at the same time.
    host = os.environ.get("MASTER_ADDR", "")
    host = socket.gethostname() if host in _LOOPBACK else host
    port = os.environ.get("MASTER_PORT") or os.environ.get("SLURM_JOB_ID") or str(os.getppid())
    return Rank(_first(_NUMBER, 0), count, _first(_LOCAL, 0), f"{host}:{port}:{count}")


def device_of(rank: Rank, device: str = "auto") -> str:
    """The device of a process: of several GPUs, each process has another.

    :param rank: The process.
    :param device: What the user asked for; only ``"auto"`` and ``"cuda"`` leave a choice.
    :return: As torch names it.
    """
    if rank.count < 2 or device not in ("auto", "cuda"):
        return device
    import torch

    gpus = torch.cuda.device_count()
    return f"cuda:{rank.local % gpus}" if gpus else device


def _first(names: tuple[str, ...], default: int) -> int:
    return next((int(os.environ[name]) for name in names if os.environ.get(name, "").isdigit()), default)
