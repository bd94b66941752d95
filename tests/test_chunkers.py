"""Ways of cutting beside the model, behind the interface they share with it."""

import subprocess
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from segmenter import ChunkConfig, ConfigError, Document, InputError, Segmenter
from segmenter.chunkers import (
    Chunker,
    FixedSizeChunker,
    ParagraphChunker,
    SentenceChunker,
    TopicChunker,
    WholeDocument,
)
from segmenter.document import Chunk
from segmenter.structure import from_markdown

from .conftest import ROOT
from .cutting import HARD, TRAINED, words
from .test_cli import rows, run
from .test_contract import MANY, TEXTS

BULGARIAN = (
    "Пристанището на Скарвик лежи в края на дълъг и тесен фиорд. Корабите стигат до него през канал, който "
    "в най-тясното си място е широк само деветдесет метра. Мъглата е честа през есента, и тогава лоцманите "
    "се водят по камбаната на външния вълнолом, отлята преди много години."
)


def numbered(count: int) -> str:
    return " ".join(f"w{number}" for number in range(count))


@pytest.mark.parametrize(
    ("count", "size", "overlap", "pieces"),
    [
        (51, 10, 0, 6),
        (51, 10, 4, 8),
        (8, 4, 1, 3),
        (46, 10, 0, 5),
        (46, 10, 4, 7),
        (10, 10, 4, 1),
        (11, 10, 9, 2),
    ],
)
def test_windows_as_courses_count_them(count: int, size: int, overlap: int, pieces: int) -> None:
    chunks = FixedSizeChunker(size, overlap).chunk(numbered(count))
    assert len(chunks) == pieces
    all_words = numbered(count).split()
    for number, chunk in enumerate(chunks):
        start = number * (size - overlap)
        assert chunk.embed_text.split() == all_words[start : start + size]
    assert chunks[-1].end == len(numbered(count))


def test_windows_of_bulgarian() -> None:
    assert len(BULGARIAN.split()) == 46
    for overlap, pieces in ((0, 5), (4, 7)):
        chunks = FixedSizeChunker(10, overlap).chunk(BULGARIAN)
        assert len(chunks) == pieces
        assert "".join(chunk.text for chunk in chunks) == BULGARIAN
        for chunk in chunks:
            first = chunk.start - len(chunk.context.before)
            assert BULGARIAN[first : chunk.end] == chunk.embed_text


def test_the_usual_advice_is_the_default() -> None:
    chunks = FixedSizeChunker().chunk(numbered(400))
    assert [len(chunk.embed_text.split()) for chunk in chunks] == [150, 150, 150, 40]
    assert len(chunks[1].context.before.split()) == 30


@pytest.mark.parametrize("style", ["prepend", "append"])
def test_pieces_at_multiples_of_the_size(style: str) -> None:
    chunks = FixedSizeChunker(10, 0.25, style=style).chunk(numbered(24))  # type: ignore[arg-type]
    assert [chunk.text.split()[0] for chunk in chunks] == ["w0", "w10", "w20"]
    before = [chunk.context.before.split() for chunk in chunks]
    after = [chunk.context.after.split() for chunk in chunks]
    nothing: list[list[str]] = [[], [], []]
    if style == "prepend":
        assert (before, after) == ([[], ["w8", "w9"], ["w18", "w19"]], nothing)
    else:
        assert (before, after) == (nothing, [["w10", "w11"], ["w20", "w21"], []])


@MANY
@given(text=TEXTS, data=st.data())
def test_any_text_any_fixed_size(text: str, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 12))
    overlap = data.draw(st.integers(0, size - 1) | st.floats(0, 0.99))
    unit = data.draw(st.sampled_from(["words", "characters"]))
    style = data.draw(st.sampled_from(["window", "prepend", "append"]))
    chunks = FixedSizeChunker(size, overlap, unit, style=style).chunk(text)
    assert "".join(chunk.text for chunk in chunks) == text
    count = words if unit == "words" else len
    most = size if style == "window" else size + int(overlap if isinstance(overlap, int) else size * overlap)
    for chunk in chunks:
        first, last = chunk.start - len(chunk.context.before), chunk.end + len(chunk.context.after)
        assert text[chunk.start : chunk.end] == chunk.text
        assert text[first:last] == chunk.embed_text
        assert count(chunk.embed_text) <= most
        assert chunk.text


@MANY
@given(count=st.integers(1, 60), size=st.integers(1, 12), data=st.data())
def test_a_run_is_whole_in_some_piece_if_it_is_no_longer_than_the_overlap_and_one(
    count: int, size: int, data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(0, size - 1))
    length = data.draw(st.integers(1, overlap + 1))
    first = data.draw(st.integers(0, max(0, count - length)))
    run_of_words = numbered(count).split()[first : first + length]
    pieces = [chunk.embed_text.split() for chunk in FixedSizeChunker(size, overlap).chunk(numbered(count))]
    assert any(
        piece[start : start + length] == run_of_words for piece in pieces for start in range(len(piece))
    )


def test_pieces_of_tokens(examples: dict[str, str]) -> None:
    texts = [*examples.values(), HARD["surrogates and controls"], "🙂🙂 ok", "港口"]
    ranks = {bytes([byte]): byte for byte in range(256)} | {b"th": 256, b"the": 257}
    encoding = tiktoken.Encoding(
        "of-this-test", pat_str=r"\s?\S+|\s+", mergeable_ranks=ranks, special_tokens={}
    )
    tokenizers: list[Tokenizer | tiktoken.Encoding | None] = [
        *(train(list(examples.values())) for train in TRAINED.values()), encoding, None,
    ]  # fmt: skip
    for tokenizer in tokenizers:
        chunker = FixedSizeChunker(20, 5, "tokens", tokenizer=tokenizer)
        for text in texts:
            chunks = chunker.chunk(text)
            assert "".join(chunk.text for chunk in chunks) == text
            for left, right in pairwise(chunks):
                assert left.embed_text.endswith(right.context.before)
                assert right.context.before
    (whole,) = FixedSizeChunker(20, 0, "tokens", tokenizer=encoding).chunk("🙂🙂 ok")
    assert whole.text == "🙂🙂 ok"
    assert [c.text for c in FixedSizeChunker(1, 0, "tokens", tokenizer=encoding).chunk("the🙂h")] == [
        "the",
        "🙂",
        "h",
    ]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"size": 0}, "got size=0, expected a whole number, 1 or more"),
        ({"size": 10, "overlap": 10}, "got overlap=10 and size=10, expected an overlap below the size"),
        ({"size": 10, "overlap": 1.0}, "got overlap=1.0, expected a share"),
        ({"size": 10, "overlap": -1}, "got overlap=-1, expected"),
        ({"unit": "letters"}, "got unit='letters', expected"),
        ({"style": "both"}, "got style='both', expected"),
        ({"header": "{x}"}, "got header='{x}', expected"),
        ({"unit": "tokens", "tokenizer": 3}, "got a int as tokenizer"),
    ],
)
def test_settings_out_of_range(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message.replace("{", "\\{")):
        FixedSizeChunker(**settings)  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match="max_words=0"):
        SentenceChunker(0)


def test_a_tokenizer_that_only_counts_has_no_pieces() -> None:
    with pytest.raises(ConfigError, match="counts tokens but does not say where they start"):
        FixedSizeChunker(5, 0, "tokens", tokenizer=words).chunk("One. Two.")


def test_sentences_are_glued_while_they_fit() -> None:
    text = "One two three. Four five. Six.\n\n" + "seven " * 9 + "eight. Nine."
    assert [words(chunk.text) for chunk in SentenceChunker(5).chunk(text)] == [5, 1, 10, 1]
    assert [words(chunk.text) for chunk in SentenceChunker(6).chunk(text)] == [6, 10, 1]
    assert len(SentenceChunker().chunk(text)) == 2


def test_paragraphs_and_the_whole(examples: dict[str, str]) -> None:
    text = examples["harbour.txt"]
    chunks = ParagraphChunker().chunk(text)
    assert [chunk.text.strip() for chunk in chunks] == [part.strip() for part in text.split("\n\n")]
    assert all(chunk.probability is None for chunk in chunks)
    (whole,) = WholeDocument().chunk(Document(text=text, id="h"))
    assert (whole.text, whole.document_id) == (text, "h")
    assert WholeDocument().chunk("") == ()


def test_limits_and_context_of_other_cutters(examples: dict[str, str]) -> None:
    config = ChunkConfig(max_tokens=30, neighbours=1, header="{document}")
    for chunker in (SentenceChunker(20, config, words), ParagraphChunker(config, words)):
        chunks = chunker.chunk(Document(text=examples["harbour.txt"], id="h"))
        assert all(chunk.context.header == "h\n\n" for chunk in chunks)
        assert all(words(chunk.embed_text) == chunk.token_count <= 30 for chunk in chunks)
        assert len(chunks) > 4


def rounded(chunk: Chunk) -> Chunk:
    """Without the last digits, which depend on what shares a batch."""
    return replace(chunk, probability=None if chunk.probability is None else round(chunk.probability, 4))


def test_all_have_one_interface(tiny: Segmenter, examples: dict[str, str]) -> None:
    chunkers: list[Chunker] = [
        TopicChunker(tiny, ChunkConfig(max_tokens=50)), FixedSizeChunker(20),
        FixedSizeChunker(20, 0, "tokens"), SentenceChunker(), ParagraphChunker(), WholeDocument(),
    ]  # fmt: skip
    texts = [Document(text=text, id=name) for name, text in examples.items()]
    names = set()
    for chunker in chunkers:
        many = list(chunker.chunk_many([*texts, "", " \n"]))
        alone = [chunker.chunk(text) for text in texts]
        assert [[rounded(chunk) for chunk in found] for found in many[:-2]] == [
            [rounded(chunk) for chunk in found] for found in alone
        ]
        assert many[-2] == ()
        assert [chunk.text for chunk in many[-1]] == [" \n"]
        for document, chunks in zip(texts, many, strict=False):
            assert "".join(chunk.text for chunk in chunks) == document.text
            assert {chunk.document_id for chunk in chunks} == {document.id}
        names.add(many[0][0].fingerprint)
        with pytest.raises(InputError, match="expected a str"):
            chunker.chunk(b"bytes")  # type: ignore[arg-type]
        with pytest.raises(InputError, match="got a str as texts"):
            next(chunker.chunk_many("One. Two."))
    assert len(names) == len(chunkers)


def command(*arguments: object) -> subprocess.CompletedProcess[bytes]:
    return run("segment", ROOT / "examples" / "harbour.txt", "--format", "jsonl", *arguments)


def test_the_command_takes_every_option(tiny: Segmenter, tiny_folder: Path, examples: dict[str, str]) -> None:
    path = ROOT / "examples" / "harbour.txt"
    document = Document(text=examples["harbour.txt"], id=str(path))
    config = ChunkConfig(
        max_tokens=50, min_tokens=10, target_tokens=40, overlap_sentences=1, neighbours=1, header="{document}"
    )
    done = command(
        "--model", tiny_folder, "--max-tokens", 50, "--min-tokens", 10, "--target-tokens", 40, "--overlap", 1,
        "--neighbours", 1, "--header", "{document}",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    expected = [chunk.row() for chunk in tiny.segment(document, chunks=config).chunks]
    for row, right in zip(rows(done.stdout), expected, strict=True):
        assert row == {**right, "probability": pytest.approx(right["probability"], abs=1e-4)}


@pytest.mark.parametrize(
    ("arguments", "chunker"),
    [
        (["--chunker", "words", "--size", 30, "--overlap", "0.5"], FixedSizeChunker(30, 0.5)),
        (["--chunker", "characters", "--size", 99, "--style", "append"],
         FixedSizeChunker(99, 0.2, "characters", style="append")),
        (["--chunker", "tokens", "--header", "{title}"], FixedSizeChunker(unit="tokens", header="{title}")),
        (["--chunker", "sentences", "--overlap", "3t"], SentenceChunker(16, ChunkConfig(overlap_tokens=3))),
        (["--chunker", "paragraphs", "--max-tokens", 30], ParagraphChunker(ChunkConfig(max_tokens=30))),
        (["--chunker", "whole"], WholeDocument()),
    ],
)  # fmt: skip
def test_the_command_cuts_without_a_model(
    arguments: list[object], chunker: Chunker, examples: dict[str, str]
) -> None:
    done = command(*arguments, "--model", "no-such-model")
    assert done.returncode == 0, done.stderr
    document = Document(text=examples["harbour.txt"], id=str(ROOT / "examples" / "harbour.txt"))
    assert rows(done.stdout) == [chunk.row() for chunk in chunker.chunk(document)]


def test_the_command_keeps_the_structure_of_markdown(examples: dict[str, str]) -> None:
    path = ROOT / "examples" / "espresso.md"
    done = run("segment", path, "--chunker", "paragraphs", "--format", "jsonl", "--header", "{section}")
    assert done.returncode == 0, done.stderr
    document = from_markdown(examples["espresso.md"], id=str(path))
    expected = ParagraphChunker(ChunkConfig(header="{section}")).chunk(document)
    assert rows(done.stdout) == [chunk.row() for chunk in expected]
    assert any(row["section"] for row in rows(done.stdout))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--chunker", "words", "--max-tokens", 30], b"got --max-tokens with --chunker words"),
        (["--chunker", "words", "--overlap", "some"], b"got --overlap some, expected a number of units"),
        (["--chunker", "sentences", "--overlap", "0.5"], b"such as 2, or of tokens, such as 32t"),
        (["--chunker", "whole", "--size", 3], b"got --size with --chunker whole"),
        (["--chunker", "paragraphs", "--style", "append"], b"got --style append with --chunker paragraphs"),
        (["--chunker", "words", "--size", 3, "--overlap", 3], b"got overlap=3 and size=3"),
        (
            ["--chunker", "paragraphs", "--max-tokens", 9, "--tokenizer", "README.md"],
            b"expected a tokenizer.json",
        ),
    ],
)
def test_options_that_do_not_go_together_are_one_line(arguments: list[object], message: bytes) -> None:
    done = command(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
