"""Do chunks answer questions: measures against ones written anew, and the commands as users run them."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from segmenter import Chunk, ChunkConfig, ConfigError, Document, InputError
from segmenter.chunkers import FixedSizeChunker, ParagraphChunker, SentenceChunker, WholeDocument
from segmenter.embedding import Remembering, embed
from segmenter.retrieval import (
    Question,
    compare_retrieval,
    evaluate_retrieval,
    read_corpus,
    read_questions,
)
from segmenter.rivals import DriftChunker, GreedyChunker, TextTilingChunker

from .cutting import words
from .test_cli import run

TEXTS = {
    "harbour": "The harbour lies in a fjord. Pilots know it.\n\nThe bell was cast in 1887. It rings in fog.",
    "kitchen": "Bread needs time. The oven is hot.\n\nThe yeast was bought in 1999. It is alive.",
}
WORDS = sorted({word.strip(".").lower() for text in TEXTS.values() for word in text.split()})


def bag(texts: Sequence[str]) -> np.ndarray:
    """How often each known word is in a text."""
    return np.array(
        [[text.lower().replace(".", " ").split().count(word) for word in WORDS] for text in texts], float
    )


def documents() -> list[Document]:
    return [Document(text=text, id=name) for name, text in TEXTS.items()]


def question(text: str, document: str, *answers: str) -> Question:
    spans = tuple((TEXTS[document].index(a), TEXTS[document].index(a) + len(a)) for a in answers)
    return Question(text=text, document_id=document, spans=spans)


QUESTIONS = [
    question("when was the bell cast", "harbour", "in 1887"),
    question("pilots know the fjord", "harbour", "lies in a fjord. Pilots", "bell"),
    question("bread and yeast", "kitchen", "Bread needs time", "yeast was bought in 1999"),
]


def by_hand(chunks: Sequence[Chunk], asked: Question, k: int) -> tuple[float, float, float, float]:
    """Measures with sets of characters."""
    scores = embed(bag, [asked.text]) @ embed(bag, [chunk.embed_text for chunk in chunks]).T
    nearest = [chunks[n] for n in sorted(range(len(chunks)), key=lambda n: (-scores[0, n], n))[:k]]
    shown = [
        {(c.document_id, n) for n in range(c.start - len(c.context.before), c.end + len(c.context.after))}
        for c in nearest
    ]
    answers = [{(asked.document_id, n) for n in range(*span)} for span in asked.spans]
    answer, found = set().union(*answers), set().union(*shown)
    total = sum(map(len, shown))
    return (
        len(answer & found) / len(answer),
        len(answer & found) / total,
        len(answer & found) / (total + len(answer - found)),
        float(all(any(one <= piece for piece in shown) for one in answers)),
    )


@settings(max_examples=40, deadline=None)
@given(
    size=st.integers(1, 12), overlap=st.floats(0, 0.9), style=st.sampled_from(["window", "prepend", "append"])
)
def test_measures_are_those_of_sets_of_characters(size: int, overlap: float, style: str) -> None:
    chunker = FixedSizeChunker(size, overlap, style=style)  # type: ignore[arg-type]
    result = evaluate_retrieval(chunker, documents(), QUESTIONS, bag, ks=(1, 2, 5), resamples=0)
    chunks = [chunk for document in documents() for chunk in chunker.chunk(document)]
    assert result.chunks == len(chunks)
    assert result.mean_tokens == pytest.approx(np.mean([words(chunk.embed_text) for chunk in chunks]))
    expected = [[by_hand(chunks, asked, k) for k in (1, 2, 5)] for asked in QUESTIONS]
    np.testing.assert_allclose(result.values, expected)
    for place, k in enumerate((1, 2, 5)):
        means = np.mean(expected, axis=0)[place]
        found = [result.figures[k][name].value for name in ("recall", "precision", "iou", "whole")]
        np.testing.assert_allclose(found, means)


def test_the_whole_document_has_every_answer() -> None:
    result = evaluate_retrieval(WholeDocument(), documents(), QUESTIONS, bag, ks=(2,))
    assert result.figures[2]["recall"].value == result.figures[2]["whole"].value == 1
    assert result.figures[2]["precision"].value < 0.2


def test_differences_are_paired() -> None:
    first = evaluate_retrieval(ParagraphChunker(), documents(), QUESTIONS * 10, bag, ks=(1,))
    second = evaluate_retrieval(FixedSizeChunker(3, 0), documents(), QUESTIONS * 10, bag, ks=(1,))
    found = compare_retrieval(first, second)[1]["recall"]
    assert found.value == pytest.approx(first.figures[1]["recall"].value - second.figures[1]["recall"].value)
    assert found.low <= found.value <= found.high
    itself = compare_retrieval(first, first)[1]["iou"]
    assert (itself.value, itself.low, itself.high) == (0, 0, 0)
    with pytest.raises(InputError, match="expected the same"):
        compare_retrieval(first, evaluate_retrieval(WholeDocument(), documents(), QUESTIONS, bag, ks=(1,)))


def test_questions_and_embedders_that_do_not_fit() -> None:
    stray = Question(text="?", document_id="attic", spans=((0, 1),))
    far = Question(text="?", document_id="harbour", spans=((0, 9999),))
    for asked, message in ((stray, "a question about 'attic'"), (far, "which has 89 characters")):
        with pytest.raises(InputError, match=message):
            evaluate_retrieval(WholeDocument(), documents(), [asked], bag)
    with pytest.raises(InputError, match="expected a row of finite numbers"):
        embed(lambda texts: np.zeros(3), ["a", "b"])
    with pytest.raises(InputError, match="got 0 questions"):
        evaluate_retrieval(WholeDocument(), documents(), [], bag)


def test_no_text_is_embedded_twice() -> None:
    seen: list[str] = []

    def counting(texts: Sequence[str]) -> np.ndarray:
        seen.extend(texts)
        return bag(texts)

    remembering = Remembering(counting)
    first = remembering(["bell", "fog", "bell"])
    np.testing.assert_allclose(first, embed(bag, ["bell", "fog", "bell"]))
    remembering(["fog", "oven"])
    assert seen == ["bell", "fog", "oven"]


def test_files_of_questions(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(
        "question,references,corpus_id\n"
        'Who?,"[{""content"": ""x"", ""start_index"": 1, ""end_index"": 2}]",harbour\n'
    )
    (tmp_path / "a.jsonl").write_text('{"question": "Who?", "document": "harbour", "spans": [[1, 2]]}\n\n')
    expected = [Question(text="Who?", document_id="harbour", spans=((1, 2),))]
    assert read_questions(tmp_path / "a.csv") == read_questions(tmp_path / "a.jsonl") == expected
    for bad in ('{"question": "Who?"}', '{"question": "W", "document": "h", "spans": []}', "[]", "no", ""):
        (tmp_path / "bad.jsonl").write_text(bad)
        with pytest.raises(InputError, match=r"question 1 of .*, which does not fit|has no questions"):
            read_questions(tmp_path / "bad.jsonl")
    with pytest.raises(InputError, match="cannot read"):
        read_questions(tmp_path / "none.csv")
    with pytest.raises(InputError, match=r"which has no \.md"):
        read_corpus(tmp_path / "none")


def test_greedy_fills_chunks() -> None:
    text = "One two three. Four five. Six.\n\nSeven eight nine ten eleven twelve thirteen."
    counts = [words(chunk.text) for chunk in GreedyChunker(5, words).chunk(text)]
    assert counts[:2] == [5, 1]
    assert max(counts) <= 5
    assert sum(counts) == 13
    assert next(words(chunk.text) for chunk in GreedyChunker(6, words).chunk(text)) == 6


def test_drift_cuts_where_vectors_change() -> None:
    sentences = ["The bell rings."] * 4 + ["The oven is hot."] * 4 + ["Pilots know it."] * 3
    chunks = DriftChunker(bag, percentile=80, window=2).chunk(" ".join(sentences))
    assert [chunk.text.count(".") for chunk in chunks] == [4, 4, 3]
    assert len(DriftChunker(bag).chunk("One sentence.")) == 1
    distances = DriftChunker(bag).distances(sentences[3:5])
    left, right = embed(bag, sentences[3:5])
    assert distances == pytest.approx([1 - left @ right])
    with pytest.raises(ConfigError, match="percentile=101"):
        DriftChunker(bag, 101)


def test_texttiling_cuts_where_words_change() -> None:
    rng = np.random.default_rng(0)

    def paragraph(line: str) -> str:
        return " ".join(rng.choice(line.split(), 60)) + "."

    sea = [paragraph("ships harbour sea fog pilots boats anchor waves tide port sail") for _ in range(5)]
    kitchen = [paragraph("coffee machine group head grind beans bitter cup steam filter") for _ in range(5)]
    text = "\n\n".join([*sea, *kitchen])
    chunks = TextTilingChunker().chunk(text)
    assert "".join(chunk.text for chunk in chunks) == text
    assert text.index(kitchen[0]) in [chunk.start for chunk in chunks]
    assert len(chunks) < 10
    for short in ("Short.", "Short.\n\nToo.", "港口。\n\n大雾。", "", " \n"):
        assert len(TextTilingChunker().chunk(short)) == bool(short)
    limited = TextTilingChunker(config=ChunkConfig(max_tokens=30), tokenizer=words).chunk(text)
    assert max(chunk.token_count for chunk in limited) <= 30


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A corpus, its questions, and a module with an embedder."""
    (tmp_path / "corpus").mkdir()
    for name, text in TEXTS.items():
        (tmp_path / "corpus" / f"{name}.md").write_text(text)
    rows = [{"question": q.text, "document": q.document_id, "spans": q.spans} for q in QUESTIONS]
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "bags.py").write_text(
        f"WORDS = {WORDS!r}\n\ndef bag(texts):\n"
        "    return [[text.lower().replace('.', ' ').split().count(word) for word in WORDS] for text in "
        "texts]\n"
    )
    return tmp_path


def test_the_command_prints_a_table_json_and_a_plot(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from . import test_cli

    path = f"{folder}:{test_cli.ENVIRONMENT.get('PYTHONPATH', '')}"
    monkeypatch.setitem(test_cli.ENVIRONMENT, "PYTHONPATH", path)
    given = ["evaluate-retrieval", "--corpus", folder / "corpus", "--questions", folder / "questions.jsonl",
             "--embedder", "bags:bag", "--k", 1, "--k", 3, "--chunker", "paragraphs", "--chunker",
             "words:overlap=2", "--sweep", "size=5,10"]  # fmt: skip
    done = run(*given)
    assert done.returncode == 2
    assert b"got --size with --chunker paragraphs" in done.stderr
    given[given.index("paragraphs")] = "sentences"
    given[given.index("words:overlap=2")] = "words:overlap=0.2"
    done = run(*given, "--json", "--plot", folder / "plot.png")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    expected = {
        "sentences:size=5": SentenceChunker(5), "sentences:size=10": SentenceChunker(10),
        "words:overlap=0.2,size=5": FixedSizeChunker(5, 0.2),
        "words:overlap=0.2,size=10": FixedSizeChunker(10, 0.2),
    }  # fmt: skip
    assert list(found["chunkers"]) == list(expected)
    for name, chunker in expected.items():
        right = evaluate_retrieval(chunker, documents(), QUESTIONS, bag, ks=(1, 3))
        assert found["chunkers"][name]["chunks"] == right.chunks
        assert found["chunkers"][name]["k"]["3"]["iou"]["value"] == pytest.approx(
            right.figures[3]["iou"].value
        )
    assert len(found["differences"]) == 3
    assert (folder / "plot.png").read_bytes().startswith(b"\x89PNG")
    table = run(*given).stdout.decode()
    assert "sentences:size=5 minus (* real: no 0 in the interval)" in table


def test_ask_shows_pieces_as_a_teacher_would(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from . import test_cli

    path = f"{folder}:{test_cli.ENVIRONMENT.get('PYTHONPATH', '')}"
    monkeypatch.setitem(test_cli.ENVIRONMENT, "PYTHONPATH", path)
    given = ["ask", folder / "corpus" / "harbour.md", "--embedder", "bags:bag",
             "--question", "when was the bell cast",
             "--answer", "The bell was cast\nin 1887", "--chunker"]  # fmt: skip
    lines = run(*given, "paragraphs").stdout.decode().splitlines()
    assert lines[0].startswith("      0")
    assert lines[1].startswith(">+    1")
    assert lines[-1].endswith("which holds the whole answer; 1 pieces do")
    lines = run(*given, "words:size=6", "--overlap", "0:4").stdout.decode().splitlines()
    assert [line.split(":")[0] for line in lines] == [f"overlap {number}" for number in range(5)]
    for number, line in enumerate(lines):
        chunks = FixedSizeChunker(6, number).chunk(TEXTS["harbour"])
        holding = sum("The bell was cast in 1887." in " ".join(c.embed_text.split()) for c in chunks)
        assert line.startswith(f"overlap {number}: {len(chunks)} pieces, nearest ")
        assert line.endswith(f"{holding} pieces do")
    assert run(*given, "words", "--overlap", "4:0").returncode == 2


def test_commands_read_html(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from . import test_cli

    path = f"{folder}:{test_cli.ENVIRONMENT.get('PYTHONPATH', '')}"
    monkeypatch.setitem(test_cli.ENVIRONMENT, "PYTHONPATH", path)
    page = folder / "page.HTM"
    page.write_text(
        "<h1>Harbour</h1><p>The bell was <b>cast</b> in 1887.<p>Bread &amp; yeast.", encoding="utf-8"
    )
    done = run("ask", page, "--embedder", "bags:bag", "--question", "when was the bell cast",
               "--answer", "bell was cast in 1887", "--chunker", "paragraphs")  # fmt: skip
    lines = done.stdout.decode().splitlines()
    assert lines[0].startswith(">+    0")
    assert lines[0].endswith("Harbour The bell was cast in 1887.")
    (folder / "pages").mkdir()
    page.rename(folder / "pages" / "harbour.html")
    (document,) = read_corpus(folder / "pages")
    assert (document.id, document.title) == ("harbour", "Harbour")
    assert "Bread & yeast." in document.text
