"""``segmenter train`` for several processes.

accelerate launch scripts/finetune.py --train DATA --output DIR
"""

import sys

from segmenter.cli import main

if __name__ == "__main__":
    sys.argv.insert(1, "train")
    main()
