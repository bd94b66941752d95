#!/usr/bin/env bash
# What a machine with a GPU has to show: the tests marked `gpu`, and the speed, in under six minutes.
#
#     PYTHON=/path/to/python bash scripts/gpu_check.sh [OUTPUT]
#
# Needs an environment with this package, pytest and a torch that sees the GPU; nothing is fetched.
set -euo pipefail
cd "$(dirname "$0")/.."
python="${PYTHON:-python}"
output="${1:-.}"
"$python" -c 'import torch; assert torch.cuda.is_available(), "torch sees no GPU"; print(torch.cuda.get_device_name())'
timeout 150 "$python" -m pytest -q -m gpu
timeout 180 "$python" scripts/benchmark.py --device cuda --json "$output/gpu.json"
