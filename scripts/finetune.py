"""``segmenter train`` for several processes.

accelerate launch scripts/finetune.py --train DATA --output DIR
"""

import os
import sys

from torch import distributed

from segmenter.cli import main


def leave(code: int) -> None:
    """End a process of several, all whose work is done.

    Without the destructors of libraries: that of a thread that still waits for the others aborts the process
    now and then, and a launcher takes that for a failure of the run.
    """
    distributed.destroy_process_group()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    sys.argv.insert(1, "train")
    try:
        main()
    except SystemExit as done:
        if distributed.is_available() and distributed.is_initialized():
            leave(done.code if isinstance(done.code, int) else int(done.code is not None))
        raise
