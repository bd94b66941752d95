"""A run on a cluster of two nodes, the second of which is lost in the middle; then the script, with no model.

``python -m tests.tiny_ray MODEL INPUT OUTPUT``
"""

import subprocess
import sys
import threading
import time
from pathlib import Path

import ray
from ray.cluster_utils import Cluster

from segmenter import ChunkConfig
from segmenter.errors import CorpusError
from segmenter.integrations.ray import run
from segmenter.sentences import SentencexSplitter

from .conftest import ROOT
from .tiny_corpus import config

STORE = 100_000_000
SIZES = ChunkConfig(max_tokens=90, neighbours=1, header="{document}")


class SlowSplitter(SentencexSplitter):
    """Takes its time, so that there is a middle."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self._seconds = seconds

    def starts(self, text: str) -> list[int]:
        time.sleep(self._seconds)
        return super().starts(text)


def main() -> None:
    """Run, and say how far it was when the node was lost."""
    model, inputs, output = map(Path, sys.argv[1:4])
    try:
        run([inputs], model)
    except CorpusError as error:
        print(error)
    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 2, "object_store_memory": STORE, "include_dashboard": False},
    )
    worker = cluster.add_node(num_cpus=2, object_store_memory=STORE)
    cluster.wait_for_nodes(timeout=300)
    ray.init(address=cluster.address, log_to_driver=False)
    nodes = []

    def lose_a_node() -> None:
        # As soon as there is a first file: an actor on each node is at work then.
        while not list(output.glob("data/part-*")):
            time.sleep(0.05)
        nodes.append(sum(node["Alive"] for node in ray.nodes()))
        cluster.remove_node(worker, allow_graceful=False)
        # The head may take some seconds to see it.
        while sum(node["Alive"] for node in ray.nodes()) > 1:
            time.sleep(0.05)
        nodes.append(len(list(output.glob("data/part-*"))) < len(list(inputs.iterdir())))

    thread = threading.Thread(target=lose_a_node, daemon=True)
    thread.start()
    report = run(
        sorted(inputs.iterdir()),
        output,
        config(carry=("url",)),
        model={"model": str(model), "device": "cpu", "sentences": SlowSplitter(0.03)},
        chunks=SIZES,
        tokenizer=len,
        actors=(2, 2),
        cpus_an_actor=0.5,
    )
    thread.join(60)
    files = len(list(output.glob("data/part-*")))
    alive = sum(node["Alive"] for node in ray.nodes())
    print(f"{nodes} {alive} {report.files == files} {report.chunks} {report.bad_documents}", flush=True)
    script = [sys.executable, ROOT / "scripts" / "segment_corpus_ray.py", inputs, output.with_name("pages")]
    options = ["--output", output.with_name("paragraphs"), "--address", cluster.address]
    subprocess.run([*script, *options, "--chunker", "paragraphs:max_tokens=40"], check=True)
    ray.shutdown()
    cluster.shutdown()


if __name__ == "__main__":
    main()
