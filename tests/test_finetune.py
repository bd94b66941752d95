"""Fine-tuning: what comes out of it, what it refuses, and that nothing is lost."""

import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModelForSequenceClassification

from segmenter import CheckpointError, ConfigError, InputError, Segmenter, TrainingError
from segmenter.config import CheckpointConfig
from segmenter.evaluation import evaluate
from segmenter.labelled import LabelledDocument, content_hash
from segmenter.training import CardNotes, FineTuningConfig, Goal, TrainingConfig, train
from segmenter.training.callbacks import AP_KEY, Clock
from segmenter.training.folder import RunFolder
from segmenter.training.loop import TrainingData, fit, gap_loss
from segmenter.training.model import GapLoss
from segmenter.training.packing import PackedDocuments
from segmenter.training.sampling import SamplingConfig, Shard, WindowSampler
from segmenter.training.splits import check_apart, check_learnable, split_by_id

from . import tiny_finetune, tiny_training
from .conftest import ROOT
from .tiny_finetune import documents

STEPS = 30


@pytest.fixture(scope="module")
def tuned(fresh_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that nothing interrupted."""
    output = tmp_path_factory.mktemp("tuned") / "model"
    tiny_finetune.run(fresh_folder, output, STEPS)
    return output


def test_the_result_is_a_whole_checkpoint_and_nothing_else(tuned: Path) -> None:
    names = {path.name for path in tuned.iterdir()}
    assert {"config.json", "model.safetensors", "segmenter.json", "tokenizer.json", "README.md"} <= names
    assert names - {"training.json", "tokenizer_config.json", "special_tokens_map.json"} == {
        "config.json", "model.safetensors", "segmenter.json", "tokenizer.json", "README.md",
    }  # fmt: skip
    AutoModelForSequenceClassification.from_pretrained(tuned)


def test_the_report_is_what_the_checkpoint_does(tuned: Path, fresh_folder: Path) -> None:
    report = json.loads((tuned / "training.json").read_text())
    held_out = documents(8, 100)
    found = evaluate(Segmenter.from_pretrained(tuned), held_out, resamples=0)
    before = evaluate(Segmenter.from_pretrained(fresh_folder), held_out, resamples=0)
    for mode in ("flat", "paragraphs"):
        area = report["after"][mode]["micro"]["average_precision"]["value"]
        # Each half has a calibration of its own in the report, so their gaps mix a little differently.
        assert found[mode].micro["average_precision"].value == pytest.approx(area, abs=0.05)
        assert area > 0.45
        old = report["before"][mode]["micro"]["average_precision"]["value"]
        assert old == pytest.approx(before[mode].micro["average_precision"].value, abs=1e-3)
        gain = report["gain"][mode]["micro"]["average_precision"]
        assert gain["value"] == pytest.approx(area - old)
        assert gain["low"] > 0
    assert report["steps"] == STEPS
    assert report["windows"] > 0 < report["inner_gaps"]
    assert report["data"]["train"]["documents"] == 24
    assert report["environment"]["torch"] == torch.__version__
    assert [entry for entry in report["log"] if AP_KEY in entry]
    settings = CheckpointConfig.from_json((tuned / "segmenter.json").read_text())
    assert settings.context == 12
    assert settings.threshold == report["thresholds"]["flat"]
    assert settings.paragraph_threshold == report["thresholds"]["paragraphs"]


def test_the_card_says_all_that_a_reader_asks(tuned: Path) -> None:
    card = (tuned / "README.md").read_text()
    for words in (
        "24 | 288 | 48 | 18", "from_pretrained", "Licence of the data: not given", "AP, micro",
        "| transformers |", "| seed | 0 |", "before", "12 (0.7), sentence (0.3)",
    ):  # fmt: skip
        assert words in card, words
    assert "None" not in card
    assert "/" not in card.split("from ")[1].splitlines()[0]


def test_the_best_step_is_kept(fresh_folder: Path, tmp_path: Path) -> None:
    # At this rate the model is soon good and then spoilt.
    report = tiny_finetune.run(fresh_folder, tmp_path / "m", 60, learning_rate=0.1, warmup_share=0.9)
    areas = {entry["step"]: entry[AP_KEY] for entry in report.log if AP_KEY in entry}
    assert report.best_step == max(areas, key=lambda step: areas[step])
    assert areas[report.best_step] > areas[60] + 0.05
    found = evaluate(Segmenter.from_pretrained(tmp_path / "m"), documents(8, 100), resamples=0)
    mean = np.mean([figures.micro["average_precision"].value for figures in found.values()])
    assert mean == pytest.approx(areas[report.best_step], abs=0.02)


def test_it_stops_when_ap_no_longer_rises(fresh_folder: Path, tmp_path: Path) -> None:
    report = tiny_finetune.run(fresh_folder, tmp_path / "m", 200, learning_rate=1e-12, patience=2)
    assert report.steps == 15


def test_it_stops_when_the_time_is_up(fresh_folder: Path, tmp_path: Path) -> None:
    report = tiny_finetune.run(fresh_folder, tmp_path / "m", 10**6, max_minutes=2 / 60)
    assert 1 < report.seconds < 20
    assert report.steps < 10**6
    rates = [entry["learning_rate"] for entry in report.log if "learning_rate" in entry]
    assert rates[-1] < max(rates)
    assert (tmp_path / "m" / "config.json").exists()


def test_the_clock_follows_what_is_further() -> None:
    clock = Clock(TrainingConfig(max_steps=10, max_minutes=1), 10)
    clock.start([{"seconds": 30.0}, {"loss": 1}])
    assert clock.progress(2) == pytest.approx(0.5, abs=0.01)
    assert clock.progress(8) == 0.8
    assert not clock.is_over
    clock.start([{"seconds": 60.0}])
    assert clock.is_over


def test_the_rate_rises_stays_and_falls() -> None:
    config = TrainingConfig(max_steps=100, warmup_share=0.1, decay_share=0.5)
    factors = [config.rate_factor(step / 100) for step in (0, 5, 10, 30, 50, 75, 100)]
    assert factors == pytest.approx([0, 0.5, 1, 1, 1, 0.5, 0])
    assert TrainingConfig(max_steps=1, warmup_share=0, decay_share=0).rate_factor(0.0) == 1


def killed(model: Path, output: Path, stop_after: int) -> None:
    """Start a run as a process, and kill it once it has written a checkpoint."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.tiny_finetune", str(model), str(output), str(STEPS)],
        cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    deadline = time.monotonic() + 240
    while not (output / "checkpoints" / f"checkpoint-{stop_after}" / "complete").exists():
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert not (output / "config.json").exists()


def test_a_killed_run_ends_with_the_same_model(tuned: Path, fresh_folder: Path, tmp_path: Path) -> None:
    output = tmp_path / "model"
    killed(fresh_folder, output, 15)
    epochs = json.loads((output / "checkpoints" / "checkpoint-15" / "trainer_state.json").read_text())[
        "epoch"
    ]
    assert epochs > 1, "the kill has to be in the second epoch or later"
    # And the newest checkpoint torn, as by a kill in the middle of a save.
    newest = max((output / "checkpoints").glob("checkpoint-*"), key=lambda p: int(p.name.split("-")[1]))
    torn = newest.with_name(f"checkpoint-{int(newest.name.split('-')[1]) + 5}")
    shutil.copytree(newest, torn)
    (torn / "complete").unlink(missing_ok=True)
    (torn / "optimizer.pt").write_bytes((torn / "optimizer.pt").read_bytes()[:1000])
    tiny_finetune.run(fresh_folder, output, STEPS)
    first, second = (load_file(folder / "model.safetensors") for folder in (tuned, output))
    for name in first:
        assert torch.equal(first[name], second[name]), name
    assert (tuned / "segmenter.json").read_text() == (output / "segmenter.json").read_text()
    one, two = (json.loads((folder / "training.json").read_text()) for folder in (tuned, output))
    for key in ("windows", "inner_gaps", "steps", "best_step", "after", "temperature"):
        assert one[key] == two[key], key


def test_what_fails_after_the_training_does_not_cost_it(
    tuned: Path, fresh_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "model"

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("segmenter.training.finetune.finish", fail)
        with pytest.raises(KeyboardInterrupt):
            tiny_finetune.run(fresh_folder, output, STEPS)
    assert not (output / "config.json").exists()
    last = output / "checkpoints" / f"checkpoint-{STEPS}"
    written = (last / "complete").stat().st_mtime_ns
    assert tiny_finetune.run(fresh_folder, output, STEPS).steps == STEPS
    assert written
    assert not (output / "checkpoints").exists()
    first, second = (load_file(folder / "model.safetensors") for folder in (tuned, output))
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_a_run_can_be_made_longer(tmp_path: Path) -> None:
    data = TrainingData(documents=tiny_training.packed(), tokens=tiny_training.IDS)
    config = TrainingConfig(max_steps=5, save_steps=5, logging_steps=5)

    def run(config: TrainingConfig, patience: int | None = None) -> tuple[int, int]:
        summary = fit(tiny_training.model(), data, tiny_training.SAMPLING, config, tmp_path)
        return summary.steps, (tmp_path / "checkpoint-5" / "model.safetensors").stat().st_mtime_ns

    steps, written = run(config)
    assert steps == 5
    # Nothing is left to do, however often it is asked for; a longer run goes on from there.
    assert run(config) == (5, written)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["checkpoint-5"]
    assert run(replace(config, max_steps=10)) == (10, written)


def test_other_settings_in_a_folder_without_a_checkpoint(fresh_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(TrainingError, match="loss is nan"):
        tiny_finetune.run(fresh_folder, tmp_path / "m", STEPS, learning_rate=1e30)
    assert tiny_finetune.run(fresh_folder, tmp_path / "m", 5).steps == 5


def test_two_runs_in_one_folder(fresh_folder: Path, tmp_path: Path) -> None:
    other = RunFolder(tmp_path / "m")
    other.claim({})
    with pytest.raises(TrainingError, match="another process trains in"):
        tiny_finetune.run(fresh_folder, tmp_path / "m", 5)
    other.release()
    assert tiny_finetune.run(fresh_folder, tmp_path / "m", 5).steps == 5
    assert not (tmp_path / "m" / ".lock").exists()


def test_more_processes_than_batches_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = TrainingData(documents=tiny_training.packed(), tokens=tiny_training.IDS)
    many = SimpleNamespace(process_index=0, num_processes=1000)
    monkeypatch.setattr("segmenter.training.loop.this_process", lambda: many)
    with pytest.raises(TrainingError, match="for each of 1000 processes; add documents"):
        fit(tiny_training.model(), data, tiny_training.SAMPLING, TrainingConfig(max_steps=1), tmp_path)


def test_more_layers_than_there_are_cannot_be_frozen(fresh_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="got frozen_layers=3, expected 0 to 2"):
        tiny_finetune.run(fresh_folder, tmp_path / "m", 5, frozen_layers=3)


def test_time_is_told_of_short_runs_too(fresh_folder: Path, tmp_path: Path) -> None:
    report = tiny_finetune.run(fresh_folder, tmp_path / "m", 3, logging_steps=50)
    assert 0 < report.seconds < 60
    assert report.core_seconds > 0


def test_a_bare_encoder_gets_a_head(fresh_folder: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    AutoModelForSequenceClassification.from_pretrained(fresh_folder).distilbert.save_pretrained(bare)
    for path in fresh_folder.glob("tokenizer*"):
        shutil.copy(path, bare)
    with pytest.raises(CheckpointError, match="not a bare encoder"):
        Segmenter.from_pretrained(bare)
    settings = replace(tiny_finetune.SETTINGS, contexts={12: 1.0})
    for name in ("m", "again"):
        train(
            documents(20), tmp_path / name, tiny_finetune.config(5), eval_documents=documents(6, 50),
            model=bare, settings=settings,
        )  # fmt: skip
    first, second = (load_file(tmp_path / name / "model.safetensors") for name in ("m", "again"))
    assert all(torch.equal(first[name], second[name]) for name in first)
    found = Segmenter.from_pretrained(tmp_path / "m")
    assert found.config.paragraph_mark == "[unused1]"
    assert found.config.context == 12


def test_a_folder_in_use_is_left_alone(tuned: Path, fresh_folder: Path, tmp_path: Path) -> None:
    weights = (tuned / "model.safetensors").read_bytes()
    with pytest.raises(TrainingError, match="holds a model already"):
        tiny_finetune.run(fresh_folder, tuned, STEPS)
    assert (tuned / "model.safetensors").read_bytes() == weights
    other = tmp_path / "other"
    other.mkdir()
    (other / "thesis.txt").write_text("mine")
    with pytest.raises(TrainingError, match=r"not empty \(thesis.txt\)"):
        tiny_finetune.run(fresh_folder, other, STEPS)
    (tmp_path / "file").touch()
    with pytest.raises(TrainingError, match="cannot use"):
        tiny_finetune.run(fresh_folder, tmp_path / "file", STEPS)
    begun = RunFolder(tmp_path / "begun")
    begun.claim({"seed": 1, "contexts": {"12": 1.0}})
    checkpoint = begun.checkpoints / "checkpoint-5"
    checkpoint.mkdir(parents=True)
    (checkpoint / "complete").touch()
    begun.release()
    begun.claim({"seed": 1, "contexts": {"12": 1.0}})
    begun.release()
    with pytest.raises(TrainingError, match="seed was 1, now 2"):
        begun.claim({"seed": 2, "contexts": {"12": 1.0}})


def test_a_loss_that_is_no_number_ends_the_run(fresh_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(
        TrainingError, match=r"loss is nan at step \d+: try a lower learning rate than 1e\+30"
    ):
        tiny_finetune.run(fresh_folder, tmp_path / "m", STEPS, learning_rate=1e30)
    assert not (tmp_path / "m" / "config.json").exists()


@pytest.mark.parametrize("when", ["at the first checkpoint", "at a later one", "at the end"])
def test_a_full_disk_is_told_and_nothing_is_lost(fresh_folder: Path, tmp_path: Path, when: str) -> None:
    output = tmp_path / "m"
    if when == "at a later one":
        killed(fresh_folder, output, 5)
    # The optimizer's file is the largest of a checkpoint, the weights the largest of the result.
    limit = 20_000
    hook = (
        "import resource, sys, pathlib, tests.tiny_finetune as t, segmenter.training.finetune as f\n"
        f"def full(*_): resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))\n"
        "def finish(*values, before=f.finish):\n    full()\n    return before(*values)\n"
        + ("f.finish = finish\n" if when == "at the end" else "full()\n")
        + f"t.run(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), {STEPS})"
    )
    done = subprocess.run(
        [sys.executable, "-c", hook, fresh_folder, output], cwd=ROOT, capture_output=True, check=False,
        timeout=240,
    )  # fmt: skip
    assert done.returncode == 1
    last = done.stderr.decode().strip().splitlines()[-1]
    if when == "at the end":
        assert "CheckpointError: cannot write a checkpoint" in last
    else:
        assert "TrainingError" in last
        assert "make room there and give the same command again" in last
    assert not (output / "config.json").exists()
    kept = sorted(path.parent.name for path in output.glob("checkpoints/*/complete"))
    assert bool(kept) == (when != "at the first checkpoint")
    report = tiny_finetune.run(fresh_folder, output, STEPS)
    assert report.steps == STEPS
    assert (output / "config.json").exists()


def test_without_documents_to_measure_on_some_are_set_aside(fresh_folder: Path, tmp_path: Path) -> None:
    report = train(documents(30), tmp_path / "m", tiny_finetune.config(5), model=fresh_folder)
    counts = {use: report.data[use]["documents"] for use in ("train", "eval")}
    assert counts["eval"] >= 1
    assert sum(counts.values()) == 30
    assert report.sampling["contexts"] == {12: 1.0}


def test_large_sets_are_sampled(fresh_folder: Path, tmp_path: Path) -> None:
    settings = replace(tiny_finetune.SETTINGS, most_documents=7, most_eval_gaps=40)
    report = train(
        documents(24),
        tmp_path / "m",
        tiny_finetune.config(5),
        eval_documents=documents(8, 100),
        model=fresh_folder,
        settings=settings,
    )
    assert report.data["train"]["documents"] == 7
    assert report.data["eval"]["documents"] == 3
    assert report.after["flat"].gaps == 33
    with pytest.raises(ConfigError, match="most_eval_gaps=0, expected 1 or more"):
        FineTuningConfig(most_eval_gaps=0)


def test_a_split_is_by_id_and_keeps_copies_together() -> None:
    many = documents(300)
    train_part, held_out = split_by_id(many)
    assert {d.id for d in train_part}.isdisjoint(d.id for d in held_out)
    assert len(train_part) + len(held_out) == 300
    assert 15 <= len(held_out) <= 45
    # A document stays where it is, whatever else is there.
    assert {d.id for d in split_by_id(many[:200])[1]} == {d.id for d in held_out} & {d.id for d in many[:200]}
    copies = [replace(document, id=f"copy of {document.id}") for document in many]
    both = split_by_id(many + copies)
    check_apart(*both)
    assert sum(map(len, both)) == 600
    for few in (many[:2], many[:5]):
        assert all(split_by_id(few))
    with pytest.raises(InputError, match="1 different documents"):
        split_by_id([many[0], copies[0]])


def test_a_document_in_both_sets_is_an_error() -> None:
    one, two = documents(3), documents(3, 3)
    check_apart(one, two)
    with pytest.raises(InputError, match="1 documents both to train and to measure on: document 1"):
        check_apart(one, [*two, replace(documents(1, 9)[0], id="document 1")])
    with pytest.raises(InputError, match="got 2 documents both to train and to measure on: document 0, docu"):
        check_apart(one, one[:2])
    with pytest.raises(InputError, match=r"copy \(as document 0\)"):
        check_apart(one, [replace(one[0], id="copy")])
    spaced = replace(one[0], id="b", sentences=[f" {s}\n" for s in one[0].sentences])
    assert content_hash(spaced) == content_hash(one[0])


@pytest.mark.parametrize(
    ("boundaries", "message"),
    [([], "3 gaps none is a boundary"), ([1, 2, 3], "3 gaps all are boundaries")],
)
def test_one_kind_of_gap_is_nothing_to_learn_from(boundaries: list[int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        check_learnable([LabelledDocument("a", ["A.", "B.", "C.", "D."], boundaries)], "train on")
    with pytest.raises(InputError, match="no documents to train on"):
        check_learnable([], "train on")


@pytest.mark.parametrize(
    "setting",
    [
        {},
        {"max_steps": 0},
        {"epochs": -1},
        {"max_steps": 1, "learning_rate": float("nan")},
        {"max_steps": 1, "imbalance": "luck"},
        {"max_steps": 1, "precision": "int8"},
        {"max_steps": 1, "warmup_share": 2},
        {"max_steps": 1, "gradient_accumulation": 0},
    ],
)
def test_settings_out_of_range_are_refused(setting: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=r"expected|give max_steps"):
        TrainingConfig(**setting)  # type: ignore[arg-type]


def test_replay_brings_its_share_of_old_windows() -> None:
    tokenizer = tiny_training.WordTokenizer()
    packed = PackedDocuments.from_documents(tiny_training.documents(20), tokenizer)  # type: ignore[arg-type]
    sampler = WindowSampler(packed, SamplingConfig(contexts={8: 1.0}, replay_share=0.25), 0, n_replay=10)
    keys = [key for batch in sampler for key in batch]
    assert len({(key.document, key.gap) for key in keys}) == len(keys)
    assert np.mean([key.document >= 10 for key in keys]) == pytest.approx(0.25, abs=0.02)
    alone = WindowSampler(packed, SamplingConfig(contexts={8: 1.0}), 0)
    assert len([key for batch in alone for key in batch]) > 20


def test_rare_boundaries_are_not_drowned() -> None:
    tokenizer = tiny_training.WordTokenizer()
    rare = [replace(document, boundaries=(10,)) for document in tiny_training.documents(20)]
    packed = PackedDocuments.from_documents(rare, tokenizer)  # type: ignore[arg-type]

    def others(most: float | None, n_replay: int = 0) -> list[float]:
        sampler = WindowSampler(packed, SamplingConfig(contexts={8: 1.0}, most_others=most), 0, n_replay)
        keys = [key for batch in sampler for key in batch if key.document < 20 - n_replay]
        return [key.gap != 9 for key in keys]

    usual = np.mean(others(None))
    assert usual > 0.7
    assert np.mean(others(2.0)) == pytest.approx(2 / 3, abs=0.03)
    assert np.mean(others(2.0, n_replay=10)) == pytest.approx(2 / 3, abs=0.03)
    assert np.mean(others(1e6)) == usual


def test_processes_share_the_batches_of_an_epoch() -> None:
    def batches(shard: Shard) -> list[object]:
        config = SamplingConfig(contexts={8: 1.0}, batch_tokens=100)
        return list(WindowSampler(tiny_training.packed(), config, 0, shard=shard))

    whole = batches(Shard())
    parts = [batches(Shard(rank, 3)) for rank in range(3)]
    assert [len(part) for part in parts] == [len(whole) // 3] * 3
    assert [batch for group in zip(*parts, strict=True) for batch in group] == whole[: 3 * (len(whole) // 3)]


def test_two_processes_do_what_one_does_with_two_batches_a_step(fresh_folder: Path, tmp_path: Path) -> None:
    """Gradients are means over processes as over batches, and only one process writes."""
    data = tmp_path / "train.jsonl"
    data.write_text("".join(json.dumps(asdict(d)) + "\n" for d in documents(24)))
    held_out = tmp_path / "eval.jsonl"
    held_out.write_text("".join(json.dumps(asdict(d)) + "\n" for d in documents(8, 100)))
    # Without dropout, which is drawn by each process for itself.
    model = shutil.copytree(fresh_folder, tmp_path / "fresh")
    network = json.loads((model / "config.json").read_text())
    network |= {"dropout": 0.0, "attention_dropout": 0.0, "seq_classif_dropout": 0.0}
    (model / "config.json").write_text(json.dumps(network))
    options = [
        "--train", data, "--eval", held_out, "--model", model, "--max-steps", 8, "--save-steps", 4,
        "--batch-tokens", 100, "--learning-rate", "2e-3",
    ]  # fmt: skip
    # What accelerate launch starts on GPUs; it has no such way for CPUs.
    launch = [
        sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2",
        ROOT / "scripts" / "finetune.py", *options, "--output", tmp_path / "two",
    ]  # fmt: skip
    environment = {**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        list(map(str, launch)), capture_output=True, check=False, timeout=120, cwd=ROOT, env=environment
    )
    assert done.returncode == 0, done.stderr.decode()[-12000:]
    assert done.stdout.decode().count("wrote") == 1
    single = [
        sys.executable, "-m", "segmenter", "train", *options, "--gradient-accumulation", 2, "--output",
        tmp_path / "one",
    ]  # fmt: skip
    done = subprocess.run(list(map(str, single)), capture_output=True, check=False, timeout=280)
    assert done.returncode == 0, done.stderr.decode()[-12000:]
    reports = [json.loads((tmp_path / name / "training.json").read_text()) for name in ("one", "two")]
    assert reports[0]["windows"] == reports[1]["windows"]
    assert reports[1]["environment"]["processes"] == 2
    looks = [[entry[AP_KEY] for entry in report["log"] if AP_KEY in entry] for report in reports]
    assert looks[0] == pytest.approx(looks[1], abs=0.01)
    start, one, two = (load_file(tmp_path / n / "model.safetensors") for n in ("fresh", "one", "two"))
    moved = max(float((one[name] - start[name]).abs().max()) for name in one)
    assert moved > 2e-3
    for name in one:
        torch.testing.assert_close(one[name], two[name], atol=moved / 20, rtol=1e-3)


def test_losses_equal_their_formulas() -> None:
    rng = np.random.default_rng(0)
    logits, labels = rng.normal(0, 2, (50, 2)), rng.integers(0, 2, 50)
    right = [
        math.exp(row[y]) / (math.exp(row[0]) + math.exp(row[1]))
        for row, y in zip(logits, labels, strict=True)
    ]
    weights = [3.5 if y == 1 else 1.0 for y in labels]
    weighed = sum(-w * math.log(p) for w, p in zip(weights, right, strict=True)) / sum(weights)
    focal = np.mean([-((1 - p) ** 2) * math.log(p) for p in right])
    tensors = torch.tensor(logits), torch.tensor(labels)
    assert float(GapLoss(boundary_weight=3.5).of_windows(*tensors)) == pytest.approx(weighed, rel=1e-5)
    assert float(GapLoss(focal_gamma=2.0).of_windows(*tensors)) == pytest.approx(focal, rel=1e-5)
    flipped = torch.tensor(logits[:, ::-1].copy()), tensors[1]
    assert float(GapLoss(boundary_label=0).of_windows(*flipped)) == pytest.approx(
        float(GapLoss().of_windows(*tensors))
    )


def test_weights_make_up_for_how_rare_boundaries_are() -> None:
    packed = PackedDocuments.from_documents(
        [d for d in tiny_training.documents() if d.paragraphs is None],
        tiny_training.WordTokenizer(),  # type: ignore[arg-type]
    )
    data = TrainingData(documents=packed, tokens=tiny_training.IDS)
    natural = SamplingConfig(contexts={8: 1.0}, weight_breaks=1.0, weight_inner=1.0)
    loss = gap_loss(data, natural, TrainingConfig(max_steps=1, imbalance="weight"))
    assert loss.boundary_weight == pytest.approx(9 / 2)
    assert loss.focal_gamma == 0
    assert gap_loss(data, natural, TrainingConfig(max_steps=1, imbalance="focal")).focal_gamma == 2
    assert gap_loss(data, natural, TrainingConfig(max_steps=1)) == GapLoss()


@pytest.mark.parametrize("imbalance", ["weight", "focal"])
def test_every_way_with_imbalance_learns(fresh_folder: Path, tmp_path: Path, imbalance: str) -> None:
    report = tiny_finetune.run(fresh_folder, tmp_path / "m", STEPS, imbalance=imbalance)
    assert report.after["flat"].micro["average_precision"].value > 0.4


def test_a_checkpoint_whose_boundary_is_label_0(fresh_folder: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(fresh_folder, tmp_path / "flipped")
    settings = CheckpointConfig.from_json((folder / "segmenter.json").read_text())
    (folder / "segmenter.json").write_text(replace(settings, boundary_label=0).to_json())
    report = tiny_finetune.run(folder, tmp_path / "m", 2 * STEPS)
    assert report.after["flat"].micro["average_precision"].value > 0.4
    again = Segmenter.from_pretrained(tmp_path / "m")
    assert again.config.boundary_label == 0
    found = evaluate(again, documents(8, 100), resamples=0)["flat"].micro
    assert found["average_precision"].value > 0.4
    assert found["calibration_error"].value < 0.15


def test_a_goal_and_notes_reach_the_folder(fresh_folder: Path, tmp_path: Path) -> None:
    settings = FineTuningConfig(
        goal=Goal(mean_section=2.0),
        notes=CardNotes(name="Harbour rules", licence="mit", data_licence="CC0-1.0", language="en"),
    )
    train(
        documents(20), tmp_path / "m", tiny_finetune.config(5), eval_documents=documents(6, 50),
        model=fresh_folder, settings=settings,
    )  # fmt: skip
    card = (tmp_path / "m" / "README.md").read_text()
    assert re.match(r"---\nlanguage: en\nlicense: mit\npipeline_tag: text-classification\n", card)
    assert "# Harbour rules" in card
    assert "Licence of the data: CC0-1.0" in card
    found = evaluate(Segmenter.from_pretrained(tmp_path / "m"), documents(6, 50), resamples=0)["flat"]
    assert 72 / (found.predicted + 6) == pytest.approx(2.0, abs=0.1)
