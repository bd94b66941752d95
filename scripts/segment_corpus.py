"""``segmenter corpus`` for several GPUs or machines, each process taking its shards.

accelerate launch scripts/segment_corpus.py INPUT... --output DIR

Every process has to see the same input and the same DIR. Without a GPU, as on a machine of many cores:
``accelerate launch --multi_gpu --num_processes 2``, which starts processes of any kind.
"""

import sys

from segmenter.cli import main

if __name__ == "__main__":
    sys.argv.insert(1, "corpus")
    main()
