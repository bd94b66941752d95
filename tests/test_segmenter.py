"""The façade."""

import gc
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from segmenter import CheckpointError, ChunkConfig, ConfigError, InputError, Segmenter, UnreadableTextWarning
from segmenter.checkpoint import Checkpoint
from segmenter.config import Candidates, CheckpointConfig
from segmenter.profiling import STAGES
from segmenter.scoring import Logits
from segmenter.tokenizing import SentenceTokenizer

BULGARIAN = (
    "Пристанището се намира в края на дълъг залив. Корабите стигат до него през тесен канал. "
    "Мъглата е честа през есенните месеци. Градът живее от риболов и туризъм."
)
CHINESE = "港口位于一条狭长峡湾的尽头。船只通过一条狭窄的航道抵达。秋季常有大雾。这座城市以渔业为生。"


def test_blank_and_short_documents_in_the_middle_of_a_batch(
    tiny: Segmenter, examples: dict[str, str]
) -> None:
    texts = ["", examples["harbour.txt"], " \n ", "One sentence.", "", examples["career.txt"], "\n"]
    results = list(tiny.segment_many(texts))
    assert [result.text for result in results] == texts
    assert [len(result.chunks) for result in results if not result.text.strip()] == [0, 1, 0, 1]
    for result in results:
        np.testing.assert_allclose(result.probabilities, tiny.segment(result.text).probabilities, atol=1e-5)
    assert len(results[1].chunks) > 1


def test_predict_agrees_with_segment(tiny: Segmenter, examples: dict[str, str]) -> None:
    for text in examples.values():
        result = tiny.segment(text)
        sentences = [sentence.text for sentence in result.sentences]
        paragraphs = [n for n, sentence in enumerate(result.sentences) if sentence.starts_paragraph]
        np.testing.assert_allclose(tiny.predict(sentences, paragraphs), result.probabilities, atol=1e-5)


def test_each_sentence_is_tokenized_once(
    tiny_folder: Path, examples: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    encode = SentenceTokenizer.encode

    def counting(self: SentenceTokenizer, sentences: Sequence[str]) -> list[NDArray[np.int32]]:
        seen.extend(sentences)
        return encode(self, sentences)

    monkeypatch.setattr(SentenceTokenizer, "encode", counting)
    segmenter = Segmenter.from_pretrained(tiny_folder, context=30, candidates="all", device="cpu")
    results = list(segmenter.segment_many(examples.values()))
    assert seen == [sentence.text for result in results for sentence in result.sentences]


def test_predict_keeps_every_sentence(tiny: Segmenter) -> None:
    assert tiny.predict([]).shape == (0,)
    assert tiny.predict(["one"]).shape == (0,)
    assert tiny.predict(["", "", "x", ""]).shape == (3,)
    assert np.all(tiny.predict(["", "", "x", ""]) > 0)
    # A split on "\n" that an article makes, its last line empty.
    assert tiny.predict(["A line.", "A line.", ""]).shape == (2,)


@pytest.mark.parametrize(("paragraphs", "bad"), [([-1], -1), ([0, 3], 3)])
def test_predict_refuses_paragraphs_that_are_not_there(
    tiny: Segmenter, paragraphs: list[int], bad: int
) -> None:
    with pytest.raises(InputError, match=f"got paragraph start {bad}, expected 0 to 2"):
        tiny.predict(["a", "b", "c"], paragraphs)


@pytest.mark.parametrize("wrong", [None, b"bytes", 3])
def test_what_is_not_a_string_is_refused_after_the_good_ones(tiny: Segmenter, wrong: object) -> None:
    results = tiny.segment_many(["One. Two.", wrong, "Three."])  # type: ignore[list-item]
    assert next(results).text == "One. Two."
    with pytest.raises(InputError, match="expected a str"):
        next(results)
    with pytest.raises(InputError, match="expected a str"):
        tiny.predict(["a", wrong])  # type: ignore[list-item]


def test_a_string_is_not_several(tiny: Segmenter) -> None:
    with pytest.raises(InputError, match="got a str as sentences, expected several"):
        tiny.predict("One. Two.")
    with pytest.raises(InputError, match="got a str as texts, expected several"):
        next(tiny.segment_many("One. Two."))


def test_paragraphs_may_be_an_array(tiny: Segmenter) -> None:
    sentences = ["The harbour is old.", "Fog is common.", "Ships come."]
    assert np.array_equal(tiny.predict(sentences, np.array([1, 2])), tiny.predict(sentences, [1, 2]))  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"got paragraph start 1\.0"):
        tiny.predict(sentences, [1.0])  # type: ignore[list-item]


def test_an_error_of_the_users_own_does_not_cost_the_texts_before_it(tiny: Segmenter) -> None:
    def texts() -> Iterator[str]:
        yield "One. Two."
        raise OSError("the disk is gone")

    results = tiny.segment_many(texts())
    assert next(results).text == "One. Two."
    with pytest.raises(OSError, match="the disk is gone"):
        next(results)


def test_numbers_of_numpy_are_numbers(tiny: Segmenter) -> None:
    result = tiny.segment("The harbour is old. Fog is common.")
    assert result.rechunk(ChunkConfig(threshold=result.probabilities[0])).boundaries == ()


def test_candidates(tiny_folder: Path, examples: dict[str, str]) -> None:
    text = examples["harbour.txt"]
    by_name = {
        name: Segmenter.from_pretrained(tiny_folder, candidates=name).segment(text)
        for name in ("auto", "all", "paragraphs")
    }
    breaks = np.array([sentence.starts_paragraph for sentence in by_name["all"].sentences[1:]])
    assert by_name["all"].scored.all()
    for name in ("auto", "paragraphs"):
        assert np.array_equal(by_name[name].scored, breaks)
        np.testing.assert_allclose(
            by_name[name].probabilities, np.where(breaks, by_name["all"].probabilities, 0), atol=1e-5
        )
    flat = " ".join(text.split())
    assert Segmenter.from_pretrained(tiny_folder, candidates="auto").segment(flat).scored.all()
    alone = Segmenter.from_pretrained(tiny_folder, candidates="paragraphs").segment(flat)
    assert not alone.scored.any()
    assert len(alone.chunks) == 1


def test_paragraph_marks_reach_the_model(tiny: Segmenter) -> None:
    sentences = ["The harbour is old.", "Fog is common.", "Ships come and go."]
    flat, marked = tiny.predict(sentences), tiny.predict(sentences, [1])
    assert abs(flat[0] - marked[0]) > 1e-3


@pytest.mark.parametrize("candidates", ["auto", "all", "paragraphs"])
def test_paragraph_breaks_have_their_own_threshold(
    tiny_folder: Path, tmp_path: Path, candidates: Candidates
) -> None:
    folder = shutil.copytree(tiny_folder, tmp_path / "two")
    settings = CheckpointConfig.from_json((folder / "segmenter.json").read_text())
    settings = replace(settings, threshold=0.4, paragraph_threshold=0.6)
    (folder / "segmenter.json").write_text(settings.to_json())

    def thresholds(**options: float) -> list[float]:
        segmenter = Segmenter.from_pretrained(folder, candidates=candidates, **options)  # type: ignore[arg-type]
        return [
            segmenter.segment(text).threshold for text in ("One. Two.", "One.\n\nTwo.", "One.\n\nTwo. Three.")
        ]

    breaks = 0.4 if candidates == "all" else 0.6
    assert thresholds() == [0.4, breaks, breaks]
    assert thresholds(threshold=0.7) == [0.7, 0.7, 0.7]


def test_context_overrides(tiny_folder: Path, examples: dict[str, str]) -> None:
    text = examples["career.txt"]
    results = {
        context: Segmenter.from_pretrained(tiny_folder, context=context, sentences="lines").segment(text)
        for context in ("sentence", 4, 12, 30)
    }
    assert results["sentence"].trimmed_gaps == 0
    assert results[4].trimmed_gaps == 19
    assert results[30].trimmed_gaps < 19
    spread = np.ptp([result.probabilities for result in results.values()], axis=0)
    assert spread.max() > 1e-3


@pytest.mark.parametrize(
    "setting",
    [
        {"context": 0},
        {"context": 31 + 1},
        {"context": "paragraph"},
        {"threshold": 1.5},
        {"threshold": float("nan")},
        {"candidates": "some"},
        {"sentences": "words"},
        {"device": "warp"},
        {"threshold": True},
        {"batch_tokens": 0},
        {"batch_tokens": 1e4},
        {"batch_tokens": True},
    ],
    ids=str,
)
def test_settings_out_of_range(tiny_folder: Path, setting: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match=f"got {next(iter(setting))}=.*expected"):
        Segmenter.from_pretrained(tiny_folder, **setting)  # type: ignore[arg-type]


@pytest.mark.parametrize("budget", [1, 40, 333, 4096, 1_000_000])
def test_probabilities_do_not_depend_on_the_batch(
    tiny: Segmenter, tiny_folder: Path, examples: dict[str, str], budget: int
) -> None:
    texts = [*examples.values(), "Short. Text.", *reversed(examples.values())]
    other = Segmenter.from_pretrained(tiny_folder, batch_tokens=budget)
    for one, two in zip(tiny.segment_many(texts), other.segment_many(texts), strict=True):
        np.testing.assert_allclose(one.probabilities, two.probabilities, atol=1e-4)
        assert one.boundaries == two.boundaries


def test_sixteen_threads_share_one_instance(tiny: Segmenter, examples: dict[str, str]) -> None:
    texts = list(examples.values()) * 8
    expected = [tiny.segment(text).probabilities for text in texts]
    start = threading.Barrier(16)

    def work(number: int) -> None:
        start.wait()
        for index in range(number, len(texts) + number):
            text = index % len(texts)
            np.testing.assert_allclose(tiny.segment(texts[text]).probabilities, expected[text], atol=1e-4)

    before = torch.get_num_threads()
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(work, range(16)))
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("threads", [1, 2])
def test_probabilities_do_not_depend_on_torch_threads(
    tiny: Segmenter, examples: dict[str, str], threads: int
) -> None:
    text = examples["career.txt"]
    expected = tiny.segment(text).probabilities
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        np.testing.assert_allclose(tiny.segment(text).probabilities, expected, atol=1e-4)
    finally:
        torch.set_num_threads(before)


def test_segment_many_is_lazy(tiny_folder: Path) -> None:
    taken = 0

    def endless() -> Iterator[str]:
        nonlocal taken
        while True:
            taken += 1
            yield "" if taken % 2 else "The harbour is old. Fog is common."

    segmenter = Segmenter.from_pretrained(tiny_folder, batch_tokens=64)
    results = segmenter.segment_many(endless())
    assert taken == 0
    next(results)
    assert 0 < taken < 2000
    # Even texts without a gap, which cost no tokens, are not gathered for ever.
    assert next(segmenter.segment_many("" for _ in endless())).chunks == ()


def test_rechunk_needs_no_model(tiny_folder: Path, examples: dict[str, str]) -> None:
    segmenter = Segmenter.from_pretrained(tiny_folder, threshold=0.5)
    result = segmenter.segment(examples["career.txt"])
    del segmenter
    gc.collect()
    assert result.rechunk(ChunkConfig(threshold=1.0)).boundaries == ()
    assert len(result.rechunk(ChunkConfig(threshold=0.0)).chunks) == len(result.sentences)
    assert result.rechunk(ChunkConfig()).chunks == result.chunks
    for threshold in (0.2, 0.7):
        again = result.rechunk(ChunkConfig(threshold=threshold))
        assert again.boundaries == tuple(
            number for number, p in enumerate(result.probabilities, start=1) if p > threshold
        )
    with pytest.raises(ConfigError, match="got threshold=2"):
        ChunkConfig(threshold=2)


def test_results_are_frozen(tiny: Segmenter) -> None:
    result = tiny.segment("The harbour is old. Fog is common.")
    for array in (result.probabilities, result.scored, result.token_counts):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError):
        result.threshold = 0.3  # type: ignore[misc]
    assert repr(result).startswith("Segmentation(34 characters, 2 sentences, ")


def test_token_counts(tiny: Segmenter, tokenizer, examples: dict[str, str]) -> None:  # type: ignore[no-untyped-def]
    for chunk in tiny.segment(examples["harbour.txt"]).chunks:
        assert chunk.token_count == len(tokenizer(chunk.text, add_special_tokens=False).input_ids)


@pytest.mark.parametrize("text", [BULGARIAN, CHINESE], ids=["Bulgarian", "Chinese"])
def test_a_text_the_vocabulary_cannot_read_is_segmented_with_a_warning(tiny: Segmenter, text: str) -> None:
    with pytest.warns(UnreadableTextWarning, match=r"cannot read \d+% of the words.*multilingual") as caught:
        result = tiny.segment(text)
    assert "".join(chunk.text for chunk in result.chunks) == text
    assert caught[0].filename == __file__
    with pytest.warns(UnreadableTextWarning) as caught:
        tiny.predict([text, text])
    assert caught[0].filename == __file__


def test_saving_over_the_folder_it_was_loaded_from(plain_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(plain_folder, folder)
    segmenter = Segmenter.from_pretrained(folder, device="cpu")
    expected = segmenter.predict(["One.", "Two."])
    segmenter.save_pretrained(folder)
    assert np.array_equal(segmenter.predict(["One.", "Two."]), expected)
    assert not list(folder.glob(".partial*"))
    (tmp_path / "file").touch()
    with pytest.raises(CheckpointError, match="cannot write"):
        segmenter.save_pretrained(tmp_path / "file")


def test_save_and_load_again(tiny_folder: Path, tmp_path: Path, examples: dict[str, str]) -> None:
    segmenter = Segmenter.from_pretrained(tiny_folder, threshold=0.3, context=8)
    segmenter.save_pretrained(tmp_path / "saved")
    again = Segmenter.from_pretrained(tmp_path / "saved")
    assert again.config == segmenter.config
    text = examples["espresso.md"]
    assert np.array_equal(again.segment(text).probabilities, segmenter.segment(text).probabilities)


def test_progress_is_shown_on_request_only(
    tiny: Segmenter,
    examples: dict[str, str],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr("segmenter.grouping._BAR_DELAY", 0.0)
    tiny.segment(examples["career.txt"])
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""
    tiny.segment(examples["career.txt"] * 300, show_progress=True)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "gap/s" in captured.err


def test_the_profile_says_where_the_time_went(tiny_folder: Path) -> None:
    segmenter = Segmenter.from_pretrained(tiny_folder)
    assert segmenter.profile.outside_model == 0
    started = time.perf_counter()
    list(segmenter.segment_many(["One. Two. Three. " * 50] * 3))
    taken = time.perf_counter() - started
    seconds = segmenter.profile.seconds
    assert all(seconds[stage] > 0 for stage in STAGES)
    assert 0.5 * taken < sum(seconds.values()) < taken
    assert 0 < segmenter.profile.outside_model < 1
    lines = str(segmenter.profile).splitlines()
    assert [line.split()[0] for line in lines] == list(STAGES)
    assert sum(float(line.split()[-1].rstrip("%")) for line in lines) == pytest.approx(100, abs=0.5)


class Ahead:
    """A scorer that works while its caller goes on, and writes down when."""

    batch_tokens = 50
    runs_ahead = True

    def __init__(self, events: list[str]) -> None:
        self.events = events

    def start(self, input_ids: NDArray[np.int64], attention_mask: NDArray[np.int64]) -> Logits:
        self.events.append("start")
        logits = np.stack([np.zeros(len(input_ids)), input_ids[:, 1] % 7], axis=1).astype(np.float32)

        def wait() -> NDArray[np.float32]:
            self.events.append("wait")
            return logits

        return wait


def test_a_device_that_runs_ahead_has_the_next_group_before_it_is_waited_for(tiny_folder: Path) -> None:
    checkpoint = Checkpoint.load(tiny_folder)
    events: list[str] = []
    ahead = Segmenter(checkpoint, Ahead(events))
    texts = ["One. Two. Three. " * 40, "Four. Five. " * 60, "", "Six. Seven."]
    results = list(ahead.segment_many(texts))
    alone = Ahead([])
    Segmenter(checkpoint, alone).segment(texts[0])
    n_batches = alone.events.count("start")
    assert events[: n_batches + 1] == ["start"] * (n_batches + 1)
    # The same as one text at a time, and in order.
    for text, result in zip(texts, results, strict=True):
        assert result.text == text
        np.testing.assert_array_equal(result.probabilities, ahead.segment(text).probabilities)


def test_an_error_ahead_does_not_cost_the_results_before_it(tiny_folder: Path) -> None:
    ahead = Segmenter(Checkpoint.load(tiny_folder), Ahead([]))
    results = ahead.segment_many(["One. Two. " * 200, "Three. Four.", None])  # type: ignore[list-item]
    assert [len(next(results).chunks) > 0 for _ in range(2)] == [True, True]
    with pytest.raises(InputError):
        next(results)
