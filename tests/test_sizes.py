"""Limits of size: the best cut, proved by trying all of them, and limits that hold for what is embedded."""

from collections.abc import Sequence
from functools import partial
from itertools import combinations, pairwise
from math import log

import numpy as np
import pytest
import tiktoken
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer
from transformers import BertTokenizer, PreTrainedTokenizerFast

from segmenter import ChunkConfig, ConfigError, Segmentation, Segmenter
from segmenter.counting import counter_of
from segmenter.decoding import Limits, Units, best_cut, gains

from .cutting import (
    HARD,
    TRAINED,
    assert_partition,
    segmentation,
    sentences_of,
    tokens_of,
    with_limit,
    words,
)
from .test_contract import MANY, TEXTS


@pytest.fixture(scope="session")
def trained(examples: dict[str, str]) -> dict[str, Tokenizer]:
    """A tokenizer of each kind, trained on the examples."""
    return {name: train(list(examples.values())) for name, train in TRAINED.items()}


LENGTHS = st.lists(st.integers(1, 9), min_size=1, max_size=14)


def score(
    lengths: Sequence[int], worth: Sequence[float], cuts: Sequence[int], config: ChunkConfig
) -> tuple[int, float] | None:
    """Small chunks, negated, then the sum; None if a chunk is too long. Written from the definition."""
    small, total = 0, sum(worth[cut - 1] for cut in cuts)
    for first, last in pairwise((0, *cuts, len(lengths))):
        size = sum(lengths[first:last])
        if config.max_tokens is not None and size > config.max_tokens:
            return None
        small += size < (config.min_tokens or 0)
        if config.target_tokens:
            total -= log(size / config.target_tokens) ** 2 / (2 * 0.3**2)
    return -small, total


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_no_cut_of_all_is_better(data: st.DataObject) -> None:
    lengths = data.draw(LENGTHS)
    chances = data.draw(st.lists(st.floats(0.01, 0.99), min_size=len(lengths) - 1, max_size=len(lengths) - 1))
    most = data.draw(st.none() | st.integers(9, 40))
    config = ChunkConfig(
        max_tokens=most,
        min_tokens=data.draw(st.none() | st.integers(0, min(25, most or 25))),
        target_tokens=data.draw(st.none() | st.integers(1, min(25, most or 25))),
        threshold=data.draw(st.floats(0.05, 0.95)),
    )
    text, sentences = sentences_of(lengths)
    result = segmentation(text, chances, sentences=sentences).rechunk(config)
    assert_partition(text, result)
    assert result.threshold == config.threshold
    cut = log(config.threshold / (1 - config.threshold)) if config.threshold else 0.0
    worth = [log(np.float64(chance) / (1 - np.float64(chance))) - cut for chance in np.float32(chances)]
    starts = {sentence.start: number for number, sentence in enumerate(sentences)}
    found = score(lengths, worth, [starts[chunk.start] for chunk in result.chunks[1:]], config)
    every = [
        value
        for count in range(len(lengths))
        for cuts in combinations(range(1, len(lengths)), count)
        if (value := score(lengths, worth, cuts, config)) is not None
    ]
    assert found is not None
    best = max(every)
    assert found[0] == best[0]
    assert found[1] == pytest.approx(max(total for small, total in every if small == best[0]), abs=1e-4)


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_forced_cuts_and_what_opens_and_closes_chunks(data: st.DataObject) -> None:
    n_units = data.draw(st.integers(1, 9))

    def numbers(low: int, high: int) -> np.ndarray:
        return np.array(data.draw(st.lists(st.integers(low, high), min_size=n_units, max_size=n_units)))

    sizes, opening, closing, worth = numbers(0, 9), numbers(0, 3), numbers(0, 3), numbers(-5, 5) / 2
    forced = numbers(0, 5) == 0
    limits = Limits(most=data.draw(st.none() | st.integers(15, 30)), fewest=data.draw(st.integers(0, 15)))
    units = Units(sizes=sizes, gains=worth, forced=forced, opening=opening, closing=closing)

    def value(cuts: Sequence[int]) -> tuple[int, float] | None:
        small = 0
        for first, last in pairwise((0, *cuts, n_units)):
            size = sizes[first:last].sum()
            over = limits.most is not None and size + opening[first] + closing[last - 1] > limits.most
            if over or forced[first + 1 : last].any():
                return None
            small += int(size < limits.fewest)
        return -small, float(sum(worth[cut] for cut in cuts))

    every = [
        found
        for count in range(n_units)
        for cuts in combinations(range(1, n_units), count)
        if (found := value(cuts)) is not None
    ]
    assert value(best_cut(units, limits)) == max(every)


@MANY
@given(text=TEXTS, threshold=st.floats(0, 1), seed=st.integers(0, 99))
def test_without_limits_it_is_the_threshold(text: str, threshold: float, seed: int) -> None:
    result = segmentation(text, seed=seed, threshold=threshold)
    for config in (
        ChunkConfig(max_tokens=1_000_000),
        ChunkConfig(overlap_tokens=2),
        ChunkConfig(neighbours=2, overlap_sentences=1),
    ):
        assert [c.start for c in result.rechunk(config).chunks] == [c.start for c in result.chunks]
        assert result.rechunk(config).boundaries == result.boundaries


def test_gains_have_the_sign_of_the_threshold_at_its_ends() -> None:
    chances = np.array([0, 1e-9, 0.5, 1 - 2**-24, 1], np.float32)
    for threshold in (0.0, 1e-8, 0.5, 1 - 1e-7, 1.0):
        worth = gains(chances, threshold)
        assert np.all(np.isfinite(worth))
        assert np.array_equal(worth > 0, chances > threshold)


@MANY
@given(text=TEXTS, data=st.data())
def test_any_text_any_setting(text: str, data: st.DataObject) -> None:
    most = data.draw(st.integers(1, 30))
    in_tokens = data.draw(st.booleans())
    config = ChunkConfig(
        max_tokens=most,
        min_tokens=data.draw(st.integers(0, most)),
        target_tokens=data.draw(st.none() | st.integers(1, most)),
        overlap_tokens=data.draw(st.integers(0, most - 1)) if in_tokens else 0,
        overlap_sentences=0 if in_tokens else data.draw(st.integers(0, 2)),
        neighbours=0 if in_tokens else data.draw(st.integers(0, 2)),
        header=data.draw(st.none() | st.just("Harbour: {document}")),
    )
    tokenize = data.draw(
        st.sampled_from([len, words, lambda text: len(text) // 4, lambda text: len(text) ** 2])
    )
    result = segmentation(text).rechunk(config, tokenize)
    assert_partition(text, result)
    for chunk in result.chunks:
        size = tokenize(chunk.embed_text.encode("utf-8", "replace").decode())
        assert size <= most or len(chunk.text) == 1
        assert chunk.token_count == size
        assert tokenize(chunk.context.before) <= (config.overlap_tokens or most)


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize("most", [16, 100, 1000, 8192])
def test_the_limit_holds_for_hard_texts(trained: dict[str, Tokenizer], name: str, most: int) -> None:
    tokenizer = trained[name]
    for text in HARD.values():
        result = with_limit(text, tokenizer, max_tokens=most)
        assert "".join(chunk.text for chunk in result.chunks) == text
        counts = tokens_of(tokenizer, [chunk.embed_text for chunk in result.chunks])
        for chunk, count in zip(result.chunks, counts, strict=True):
            assert count <= most or len(chunk.text) == 1
        # Not by cutting everything to shreds: text that fits is kept together.
        sizes = [chunk.token_count for chunk in result.chunks]
        if text in (
            HARD["100,000 letters"],
            HARD["spaceless Chinese"],
            HARD["a table of 230,000 characters"],
        ):
            assert np.mean(sizes[:-1] or [most]) > most * 0.55


@pytest.mark.parametrize("name", TRAINED)
@pytest.mark.parametrize("most", [16, 64, 256])
def test_the_limit_holds_with_context(
    trained: dict[str, Tokenizer], examples: dict[str, str], name: str, most: int
) -> None:
    tokenizer = trained[name]
    text = "\n\n".join(examples.values())
    for settings_ in (
        {"overlap_tokens": most // 4},
        {"overlap_sentences": 2},
        {"neighbours": 1, "header": "{document} > {section}"},
        {"neighbours": 3, "min_tokens": most // 2},
    ):
        result = with_limit(text, tokenizer, max_tokens=most, **settings_)
        assert_partition(text, result)
        counts = tokens_of(tokenizer, [chunk.embed_text for chunk in result.chunks])
        for chunk, count in zip(result.chunks, counts, strict=True):
            assert count == chunk.token_count <= most
        assert all(chunk.context for chunk in result.chunks[1:]) or most == 16


def test_tokens_of_a_whole_that_are_more_than_of_its_parts() -> None:
    """Counts that do not add up either way, and how often the text goes through the tokenizer."""
    rng = np.random.default_rng(0)
    text, sentences = sentences_of(rng.integers(1, 30, 3000).tolist())
    for tokenize in (
        lambda text: len(text) // 7,
        lambda text: -(-len(text) // 7),
        lambda text: 2 + int(len(text) ** 1.02 / 4),
        lambda text: len(text.split()) + text.count("\n") // 2,
    ):
        seen: list[int] = []

        def counting(text: str, tokenize=tokenize, seen=seen) -> int:  # type: ignore[no-untyped-def]
            seen.append(len(text))
            return int(tokenize(text))

        result = segmentation(text, sentences=sentences).rechunk(ChunkConfig(max_tokens=100), counting)
        sizes = [tokenize(chunk.embed_text) for chunk in result.chunks]
        assert max(sizes) <= 100
        assert sum(seen) <= 3 * len(text)
        assert np.mean(sizes) > 20


def test_a_long_sentence_is_cut_at_a_clause_then_a_word_then_a_character() -> None:
    text = "The boats that came in late, long after the lamps were lit, lay at the outer quay until dawn. Ok."
    chunks = with_limit(text, words, max_tokens=8, threshold=0.0).chunks
    assert [chunk.text for chunk in chunks] == [
        "The boats that came in late, ",
        "long after the lamps were lit, ",
        "lay at the outer quay until dawn. ",
        "Ok.",
    ]
    assert [chunk.probability for chunk in chunks[:3]] == [None] * 3
    words_only = "one two three four five six seven eight nine ten"
    for chunk in with_limit(words_only, words, max_tokens=4).chunks:
        assert 1 < len(chunk.text.split()) <= 4 or chunk.end == len(words_only)
        assert set(chunk.text.split()) <= set(words_only.split())
    assert [len(chunk.text) for chunk in with_limit("x" * 25, len, max_tokens=10).chunks] == [10, 10, 5]


def test_one_character_may_have_more_tokens_than_allowed() -> None:
    result = with_limit("a🙂b", lambda text: len(text.encode()), max_tokens=2)
    assert [(chunk.text, chunk.token_count) for chunk in result.chunks] == [("a", 1), ("🙂", 4), ("b", 1)]


def test_small_chunks_are_as_few_as_can_be() -> None:
    text, sentences = sentences_of([5, 1, 5, 1, 5])
    result = segmentation(text, [0.9, 0.9, 0.9, 0.9], sentences=sentences)
    assert sorted(c.token_count for c in result.rechunk(ChunkConfig(min_tokens=5)).chunks) == [5, 6, 6]
    assert len(result.rechunk(ChunkConfig(min_tokens=6)).chunks) == 2
    assert [c.token_count for c in result.rechunk(ChunkConfig(min_tokens=1)).chunks] == [5, 1, 5, 1, 5]
    assert len(result.rechunk(ChunkConfig(target_tokens=17, threshold=0.85)).chunks) == 1


def test_every_tokenizer_will_do(trained: dict[str, Tokenizer], tokenizer: BertTokenizer) -> None:
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"th": 256, b"the": 257, b"The": 258, b" h": 259}
    encoding = tiktoken.Encoding(
        "of-this-test", pat_str=r"\s?\S+|\s+", mergeable_ranks=ranks, special_tokens={"<|end|>": 260}
    )
    text = "The harbour <|end|> is old. Fog is common.\n\nThe ships 🙂 \ud800 came. " * 20
    by_encoding = with_limit(text, encoding, max_tokens=32)
    for chunk in by_encoding.chunks:
        whole = chunk.embed_text.replace("\ud800", "\ufffd")
        assert len(encoding.encode_ordinary(whole)) == chunk.token_count <= 32
    fast = PreTrainedTokenizerFast(tokenizer_object=trained["Unigram"], unk_token="<unk>")
    named = with_limit(text, fast, max_tokens=32)
    assert [c.start for c in named.chunks] == [
        c.start for c in with_limit(text, trained["Unigram"], max_tokens=32).chunks
    ]
    by_ids = with_limit(text, lambda text: tokenizer(text, verbose=False), max_tokens=32)
    for chunk in by_ids.chunks:
        assert len(tokenizer(chunk.text.replace("\ud800", "\ufffd"))["input_ids"]) == chunk.token_count <= 32


@pytest.mark.parametrize("wrong", [3, "bert-base-uncased", None])
def test_what_is_no_tokenizer_is_refused(wrong: object) -> None:
    with pytest.raises(ConfigError, match="as tokenizer, expected one of tokenizers"):
        counter_of(wrong)


def test_any_callable_counts() -> None:
    for tokenizer in (str.split, len, partial(str.split, sep=" "), lambda text: text.split()):
        counter = counter_of(tokenizer)
        assert counter.name
        assert counter.count(["Fog is common."]).tolist() == [14 if tokenizer is len else 3]


def test_a_callable_that_counts_nothing_is_refused() -> None:
    for wrong in (lambda text: None, lambda text: -1, lambda text: 2.5):
        with pytest.raises(ConfigError, match="expected the tokens of a text or their number"):
            _ = with_limit("One. Two.", wrong, max_tokens=9).chunks


def test_the_users_tokenizer_is_not_changed(trained: dict[str, Tokenizer]) -> None:
    before = trained["WordPiece"].to_str()
    _ = with_limit("The harbour. " * 100, trained["WordPiece"], max_tokens=100).chunks
    assert trained["WordPiece"].to_str() == before
    assert trained["WordPiece"].truncation is not None


def test_an_unknown_run_counts_as_its_characters(trained: dict[str, Tokenizer]) -> None:
    counter = counter_of(trained["WordPiece"])
    assert counter.count(["", "港口", "a" * 150]).tolist() == [2, 4, 152]


@pytest.mark.parametrize(
    ("settings_", "message"),
    [
        ({"max_tokens": 0}, "max_tokens=0, expected a whole number, 1 or more"),
        ({"max_tokens": 2.5}, "max_tokens=2.5, expected"),
        ({"min_tokens": True}, "min_tokens=True, expected"),
        ({"max_tokens": 10, "min_tokens": 11}, "min_tokens=11 and max_tokens=10"),
        ({"max_tokens": 10, "overlap_tokens": 10}, "overlap_tokens=10 and max_tokens=10"),
        ({"overlap_tokens": 1, "neighbours": 1}, "not both"),
        ({"neighbours": -1}, "neighbours=-1, expected"),
        ({"header": "{chapter}"}, "expected text with {document}, {section} or {title}"),
        ({"header": "{"}, "expected text with"),
        ({"header": "{}"}, "expected text with"),
    ],
)
def test_settings_out_of_range(settings_: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message.replace("{", "\\{")):
        ChunkConfig(**settings_)  # type: ignore[arg-type]


def test_no_room_beside_the_special_tokens(trained: dict[str, Tokenizer]) -> None:
    with pytest.raises(ConfigError, match="got max_tokens=2, but the tokenizer adds 2 special tokens"):
        _ = with_limit("One. Two.", trained["WordPiece"], max_tokens=2).chunks


def test_the_model_looks_inside_paragraphs_that_are_too_long(
    tiny: Segmenter, tiny_folder, examples: dict[str, str]
) -> None:  # type: ignore[no-untyped-def]
    long = " ".join(examples["harbour.txt"].split())
    text = f"Fog is common.\n\n{long}\n\nShips come."
    plain = tiny.segment(text)
    assert int(plain.scored.sum()) == 2
    result = tiny.segment(text, chunks=ChunkConfig(max_tokens=40))
    assert result.scored.all()
    assert max(chunk.token_count for chunk in result.chunks) <= 40
    every = Segmenter.from_pretrained(tiny_folder, candidates="all", device="cpu").segment(text)
    np.testing.assert_allclose(result.probabilities, every.probabilities, atol=1e-5)
    assert int(tiny.segment(text, chunks=ChunkConfig(max_tokens=4000)).scored.sum()) == 2


def test_the_default_tokenizer_is_the_checkpoints(tiny: Segmenter, tokenizer: BertTokenizer) -> None:
    result = tiny.segment("The harbour is old. Fog is common. " * 20, chunks=ChunkConfig(max_tokens=30))
    for chunk in result.chunks:
        assert len(tokenizer(chunk.text, truncation=False)["input_ids"]) == chunk.token_count <= 30
    named = result.rechunk(ChunkConfig(max_tokens=9), words)
    assert {chunk.token_count for chunk in named.rechunk(ChunkConfig(max_tokens=7)).chunks} <= set(range(8))


def test_time_is_linear_in_sentences() -> None:
    """By what is looked at, which a clock would only guess: units a chunk can hold, for each unit."""
    sizes = np.full(2000, 10)
    zeros = np.zeros(2000)
    units = Units(
        sizes=sizes, gains=zeros - 1, forced=zeros > 0, opening=zeros.astype(int), closing=zeros.astype(int)
    )
    assert best_cut(units, Limits(most=100)) == list(range(10, 2000, 10))
    assert best_cut(units, Limits(most=None, fewest=100)) == []


def test_a_result_says_how_it_was_cut() -> None:
    text, sentences = sentences_of([3, 4])
    result: Segmentation = segmentation(text, [0.7], sentences=sentences)
    assert result.rechunk(ChunkConfig(max_tokens=5)).config == ChunkConfig(max_tokens=5)
    assert result.rechunk(ChunkConfig(threshold=0.9)).chunks[0].text == text
