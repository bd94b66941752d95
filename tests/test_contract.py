"""The contract, for every string there is."""

import random
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from segmenter import Segmentation, Segmenter
from segmenter.sentences import LineSplitter, SentencexSplitter, paragraph_flags, split_sentences
from segmenter.tokenizing import SentenceTokenizer
from segmenter.windows import TokenStream, WindowBuilder

# st.text() alone leaves surrogates out.
ANY_TEXT = st.text(st.characters())
PROSE = st.lists(
    st.sampled_from(
        [
            "Hello there.",
            "Who? ",
            "\n\n",
            "\r\n",
            "\r\n\r\n",
            " ",
            "\t",
            "[SEP]",
            "[CLS] x",
            "Dr. A. B.",
            "\ud800",
            "世界。",
            "e\u0301",
            "\u2028",
            "\f",
            "\x00",
            "🙂\u200d🙂",
            "a" * 40,
            "1) First. 2) Second.",
            "[unused1]",
        ]
    ),
    max_size=30,
).map("".join)
TEXTS = ANY_TEXT | PROSE
MANY = settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def assert_contract(text: str, result: Segmentation) -> None:
    chunks = result.chunks
    assert "".join(chunk.text for chunk in chunks) == text
    assert "".join(sentence.text for sentence in result.sentences) == text
    end = 0
    for index, chunk in enumerate(chunks):
        assert chunk.index == index
        assert chunk.start == end
        assert chunk.end > chunk.start
        assert text[chunk.start : chunk.end] == chunk.text
        assert (chunk.probability is None) == (index == 0)
        end = chunk.end
    assert end == len(text)
    n_gaps = max(0, len(result.sentences) - 1)
    assert result.probabilities.shape == result.scored.shape == (n_gaps,)
    assert np.all((result.probabilities >= 0) & (result.probabilities <= 1))
    assert not np.any(result.probabilities[~result.scored])
    assert [result.sentences[number].start for number in result.boundaries] == [c.start for c in chunks[1:]]


@MANY
@given(text=TEXTS)
@pytest.mark.filterwarnings("ignore::segmenter.UnreadableTextWarning")
def test_chunks_partition_any_text(tiny: Segmenter, text: str) -> None:
    assert_contract(text, tiny.segment(text))


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 2**32), piece=TEXTS)
@pytest.mark.filterwarnings("ignore::segmenter.UnreadableTextWarning")
def test_chunks_partition_long_texts(tiny: Segmenter, seed: int, piece: str) -> None:
    rng = random.Random(seed)
    parts = [piece, "One sentence here. ", "Another one!\n", "\n\n", "日本語です。", "\ud83d", "word "]
    text = ""
    while len(text) <= 20_000:
        text += rng.choice(parts) * rng.randint(1, 40)
    assert_contract(text, tiny.segment(text))


LONG = {
    "100,000 letters": "a" * 100_000,
    "letters and spaces": "ab " * 30_000,
    "base64": "".join(random.Random(0).choices("ABCDEFabcdef0123456789+/", k=100_000)),
    "minified JSON": '{"key":[1.5,"a.b",null],"other":"Mr. X"},' * 2000,
    "one line of Chinese": "今天天气很好" * 5000,
    "white space": " \t\n\r\n" * 10_000,
    "surrogates": "\ud800\udc00\udfff" * 5000,
    "the same sentence": "It rained. " * 2000,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
@pytest.mark.filterwarnings("ignore::segmenter.UnreadableTextWarning")
def test_chunks_partition_hard_texts(tiny: Segmenter, text: str) -> None:
    assert_contract(text, tiny.segment(text))


@MANY
@given(text=TEXTS, lines=st.booleans())
def test_sentences_are_lossless_and_have_ink(text: str, lines: bool) -> None:
    sentences = split_sentences(text, LineSplitter() if lines else SentencexSplitter())
    assert "".join(sentence.text for sentence in sentences) == text
    if text.strip():
        for sentence in sentences:
            assert sentence.text.strip()
        for sentence in sentences[1:]:
            assert not sentence.text[0].isspace()
    else:
        assert len(sentences) == (1 if text else 0)
    assert not paragraph_flags(sentences)[:1].any()


@st.composite
def token_documents(draw: st.DrawFn) -> tuple[list[list[int]], list[bool]]:
    lengths = draw(st.lists(st.integers(0, 25), min_size=2, max_size=12))
    flags = draw(st.lists(st.booleans(), min_size=len(lengths), max_size=len(lengths)))
    counter = iter(range(1000, 10_000))
    return [[next(counter) for _ in range(length)] for length in lengths], [False, *flags[1:]]


def reference_window(
    sentences: Sequence[list[int]], flags: Sequence[bool], gap: int, context: str | int, positions: int
) -> list[int]:
    """A window written out with plain lists, as DESIGN says it in words."""

    def side(numbers: range) -> list[int]:
        ids: list[int] = []
        for number in numbers:
            ids += sentences[number]
            if number + 1 < len(sentences) and flags[number + 1] and number != numbers[-1]:
                ids.append(7)
        return ids

    wide = context != "sentence"
    left = side(range(0 if wide else gap, gap + 1))
    if flags[gap + 1]:
        left.append(7)
    right = side(range(gap + 1, len(sentences) if wide else gap + 2))
    limit = context if isinstance(context, int) else -(-(positions - 3) // 2)
    left = left[max(0, len(left) - limit) :]
    right = right[:limit][: positions - 3 - len(left)]
    return [101, *left, 102, *right, 102]


@MANY
@given(document=token_documents(), positions=st.integers(5, 40), data=st.data())
def test_windows_fit_and_equal_the_reference(
    document: tuple[list[list[int]], list[bool]], positions: int, data: st.DataObject
) -> None:
    sentences, flags = document
    widest = -(-(positions - 3) // 2)
    context = data.draw(st.just("sentence") | st.integers(1, widest))
    builder = WindowBuilder(context, positions, 101, 102)
    stream = TokenStream.join([np.array(ids, np.int32) for ids in sentences], np.array(flags), 7)
    windows = builder.build(stream, np.arange(len(sentences) - 1))
    ids, mask = builder.pad([windows.sides(index) for index in range(len(windows))], pad_id=0)
    assert ids.shape[1] <= positions
    for gap in range(len(sentences) - 1):
        expected = reference_window(sentences, flags, gap, context, positions)
        assert ids[gap][mask[gap] == 1].tolist() == expected
        assert windows.lengths[gap] == len(expected)
        whole = reference_window(sentences, flags, gap, "sentence", 1000)
        fits = all(token in expected for token in whole if token >= 1000)
        assert windows.trimmed[gap] == (not fits)


@MANY
@given(
    text=st.lists(TEXTS | st.sampled_from(["[SEP]", "[CLS]", "[MASK]", "[PAD]", "[UNK]", "[unused1]"])).map(
        " ".join
    )
)
def test_user_text_never_becomes_a_special_token(tokenizer, text: str) -> None:  # type: ignore[no-untyped-def]
    (ids,) = SentenceTokenizer(tokenizer.backend_tokenizer).encode([text])
    special = set(tokenizer.all_special_ids) - {tokenizer.unk_token_id}
    special.add(tokenizer.convert_tokens_to_ids("[unused1]"))
    assert not special & set(ids.tolist())
