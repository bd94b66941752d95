"""Training: what a run sees, what it learns, and that a kill costs nothing but time."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import BertConfig, BertForSequenceClassification, BertModel

from segmenter.training.config import TrainingConfig
from segmenter.training.dataset import WindowCollator, WindowDataset
from segmenter.training.minilm import distilbert_from_bert
from segmenter.training.model import GapLoss, GapModel
from segmenter.training.packing import PackedDocuments
from segmenter.training.sampling import SamplingConfig, WindowSampler
from segmenter.training.trainer import freeze, newest_complete_checkpoint, remove_torn_checkpoints
from segmenter.windows import WindowBuilder

from . import tiny_training
from .conftest import ROOT

STEPS = 40


def test_bert_turns_into_distilbert_exactly(tmp_path: Path) -> None:
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=50, hidden_size=32, num_hidden_layers=3, num_attention_heads=4, intermediate_size=64,
        max_position_embeddings=40,
    )  # fmt: skip
    bert = BertModel(config, add_pooling_layer=False).eval()
    with torch.no_grad():
        for weight in bert.parameters():
            weight.add_(torch.randn_like(weight) * 0.1)
    bert.save_pretrained(tmp_path)
    model = distilbert_from_bert(tmp_path).eval()
    ids = torch.randint(1, 50, (4, 40))
    mask = torch.ones_like(ids)
    mask[1, 20:] = 0
    with torch.no_grad():
        expected = bert(input_ids=ids, attention_mask=mask).last_hidden_state
        found = model.distilbert(input_ids=ids, attention_mask=mask).last_hidden_state
    torch.testing.assert_close(found[mask > 0], expected[mask > 0], atol=1e-5, rtol=1e-5)


def test_packing_keeps_everything_and_reads_back(tmp_path: Path) -> None:
    packed = tiny_training.packed()
    packed.save(tmp_path / "packed.npz")
    again = PackedDocuments.load(tmp_path / "packed.npz")
    tokenizer = tiny_training.WordTokenizer()
    for number, row in enumerate(tiny_training.documents()):
        for source in (packed, again):
            first, last = source.sentence_offsets[number : number + 2]
            assert np.flatnonzero(source.boundary[first:last]).tolist() == list(row.boundaries)
            assert np.flatnonzero(source.paragraph[first:last]).tolist() == list(row.paragraphs or [])
            assert source.has_paragraphs[number] == (row.paragraphs is not None)
            stream = source.stream(number, None)
            assert [stream.ids[a:b].tolist() for a, b in zip(stream.starts, stream.ends, strict=True)] == [
                ids.tolist() for ids in tokenizer.encode(row.sentences)
            ]
            marked = source.stream(number, 5)
            assert np.count_nonzero(marked.ids == 5) == len(row.paragraphs or [])


def sampler(seed: int = 0, **settings: object) -> WindowSampler:
    values = {"contexts": {"sentence": 0.5, 8: 0.5}, "batch_tokens": 100, **settings}
    return WindowSampler(tiny_training.packed(), SamplingConfig(**values), seed)  # type: ignore[arg-type]


def test_an_epoch_is_a_function_of_seed_and_number() -> None:
    one, two, other = sampler(), sampler(), sampler(seed=1)
    assert list(one) == list(two)
    assert list(one) != list(other)
    two.set_epoch(3)
    later = list(two)
    assert later != list(one)
    one.set_epoch(3)
    assert list(one) == later
    assert len(later) == len(one)


def test_batches_keep_to_their_tokens_and_windows_do_not_repeat() -> None:
    packed = tiny_training.packed()
    keys = [key for batch in sampler() for key in batch]
    assert len({(key.document, key.gap) for key in keys}) == len(keys) > 40
    dataset, collator = dataset_and_collator(packed)
    for batch in sampler():
        shape = collator([dataset[key] for key in batch])["input_ids"].shape
        # Paragraph marks may add a little to what was planned.
        assert shape[0] == 1 or shape.numel() <= 100 + 3 * shape[0]


def test_positives_are_kept_and_negatives_undersampled() -> None:
    packed = tiny_training.packed()
    everything = sampler(weight_breaks=1.0, weight_inner=1.0, weight_marked_inner=1.0, most_others=None)
    labels = [
        bool(packed.boundary[packed.sentence_offsets[k.document] + k.gap + 1]) for b in everything for k in b
    ]
    assert len(labels) == 12 * 11
    assert sum(labels) == 24
    few = sampler(weight_inner=0.01, weight_breaks=0.1, weight_marked_inner=0.01)
    kept = [bool(packed.boundary[packed.sentence_offsets[k.document] + k.gap + 1]) for b in few for k in b]
    assert sum(kept) == 24
    assert len(kept) < 24 + 12
    marks = {key.document: key.marked for batch in everything for key in batch}
    assert not any(marks[number] for number in range(0, 12, 4))
    assert 0 < sum(marks.values()) < 9


def dataset_and_collator(packed: PackedDocuments) -> tuple[WindowDataset, WindowCollator]:
    builders = {context: WindowBuilder(context, 64, 2, 3) for context in ("sentence", 8)}
    return WindowDataset(packed, builders, 5), WindowCollator(builders[8], 0)


def test_inner_gaps_stand_where_the_sentences_end() -> None:
    packed = tiny_training.packed()
    dataset, collator = dataset_and_collator(packed)
    n_inner = 0
    for batch in sampler():
        tensors = collator([dataset[key] for key in batch])
        for (row, position), label in zip(
            tensors["inner"].tolist(), tensors["inner_labels"].tolist(), strict=True
        ):
            n_inner += 1
            ids = tensors["input_ids"][row].tolist()
            key = batch[row]
            first = packed.sentence_offsets[key.document]
            starts = packed.stream(key.document, 5 if key.marked else None)
            # The token at the position is the last before some sentence; find it by what follows.
            following = ids[position + 1 + (ids[position + 1] == 3) :][:3]
            matching = [
                s
                for s in range(1, 12)
                if starts.ids[starts.starts[s] :][: len(following)].tolist()[
                    : following.index(3) if 3 in following else 3
                ]
                == following[: following.index(3) if 3 in following else 3]
                and starts.ids[starts.starts[s] - 1] == ids[position]
            ]
            assert any(packed.boundary[first + s] == label for s in matching)
    assert n_inner > 100


@pytest.mark.parametrize("train", [False, True])
def test_the_short_cut_through_the_last_layer_changes_nothing(train: bool) -> None:
    packed = tiny_training.packed()
    dataset, collator = dataset_and_collator(packed)
    classifier = tiny_training.model(dropout=0.0).train(train)
    gap_model = GapModel(classifier, GapLoss(inner_weight=0.5))
    for batch in list(sampler())[:5]:
        tensors = collator([dataset[key] for key in batch])
        found = gap_model(**tensors)
        output = classifier(
            input_ids=tensors["input_ids"],
            attention_mask=tensors["attention_mask"],
            output_hidden_states=True,
        )
        window_loss = torch.nn.functional.cross_entropy(output.logits, tensors["labels"])
        states = output.hidden_states[-1][tensors["inner"][:, 0], tensors["inner"][:, 1]]
        inner_loss = torch.nn.functional.cross_entropy(gap_model.inner_head(states), tensors["inner_labels"])
        torch.testing.assert_close(found["window_loss"], window_loss)
        torch.testing.assert_close(found["inner_loss"], inner_loss)
        torch.testing.assert_close(found["loss"], window_loss + 0.5 * inner_loss)


def test_other_encoders_train_too() -> None:
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=40, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        max_position_embeddings=64,
    )  # fmt: skip
    classifier = BertForSequenceClassification(config)
    freeze(classifier, TrainingConfig(max_steps=1, frozen_layers=1))
    dataset, collator = dataset_and_collator(tiny_training.packed())
    loss = GapModel(classifier, GapLoss(inner_weight=0.5))(
        **collator([dataset[key] for key in next(iter(sampler()))])
    )["loss"]
    loss.backward()
    trained = {
        name.split(".")[3]
        for name, w in classifier.bert.encoder.named_parameters("bert.encoder")
        if w.grad is not None
    }
    assert trained == {"1"}
    assert classifier.bert.embeddings.word_embeddings.weight.grad is None


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing interrupted."""
    output = tmp_path_factory.mktemp("undisturbed")
    _, summary = tiny_training.run(output, STEPS)
    assert summary.steps == STEPS
    assert summary.windows > 200
    assert summary.inner_gaps > summary.windows
    return output


def test_it_learns(tmp_path: Path) -> None:
    _, summary = tiny_training.run(tmp_path, 400)
    losses = [entry["window_loss"] for entry in summary.log if "window_loss" in entry]
    assert np.mean(losses[-5:]) < 0.5 * np.mean(losses[:5])


def assert_same_weights(one: Path, two: Path) -> None:
    first, second = (load_file(folder / "trained" / "model.safetensors") for folder in (one, two))
    assert first.keys() == second.keys()
    for name in first:
        assert torch.equal(first[name], second[name]), name


def start(output: Path, *, stop_after: int) -> None:
    """Start a run as a process, and kill it once it has written a checkpoint."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.tiny_training", str(output), str(STEPS)],
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + 240
    while not (output / f"checkpoint-{stop_after}" / "complete").exists():
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_a_killed_run_ends_with_the_same_weights(undisturbed: Path, tmp_path: Path) -> None:
    n_batches = len(WindowSampler(tiny_training.packed(), tiny_training.SAMPLING, 0))
    kill_at = 5 * (n_batches // 5 + 1)
    assert n_batches < kill_at < STEPS, "the kill has to be in the second epoch or later"
    start(tmp_path, stop_after=kill_at)
    assert newest_complete_checkpoint(tmp_path) is not None
    _, summary = tiny_training.run(tmp_path, STEPS)
    assert summary.steps == STEPS
    assert_same_weights(undisturbed, tmp_path)


def test_a_torn_checkpoint_is_passed_over(undisturbed: Path, tmp_path: Path) -> None:
    start(tmp_path, stop_after=10)
    newest = newest_complete_checkpoint(tmp_path)
    assert newest is not None
    # What a kill in the middle of a save leaves: some files, one of them short, no mark.
    torn = tmp_path / "checkpoint-900"
    torn.mkdir()
    weights = (newest / "model.safetensors").read_bytes()
    (torn / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    (tmp_path / "checkpoint-best").mkdir()
    remove_torn_checkpoints(tmp_path)
    assert newest_complete_checkpoint(tmp_path) == newest
    assert not torn.exists()
    assert (tmp_path / "checkpoint-best").exists()
    torn.mkdir()
    (torn / "model.safetensors").write_bytes(weights[:100])
    tiny_training.run(tmp_path, STEPS)
    assert_same_weights(undisturbed, tmp_path)


def test_an_empty_folder_has_no_checkpoint(tmp_path: Path) -> None:
    assert newest_complete_checkpoint(tmp_path) is None
    assert newest_complete_checkpoint(tmp_path / "none") is None


def test_nothing_is_pickled_in_the_weights(undisturbed: Path) -> None:
    names = {path.name for path in (undisturbed / "trained").iterdir()}
    assert names == {"config.json", "model.safetensors"}
