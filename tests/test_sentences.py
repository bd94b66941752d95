"""Named cases of sentence splitting, each with its right value."""

import random
import time

import pytest

from segmenter import ConfigError, InputError, Segmenter
from segmenter.sentences import (
    LineSplitter,
    SentencexSplitter,
    paragraph_flags,
    resolve_splitter,
    split_sentences,
)

EM, COMBINING = "👩\u200d👩\u200d👧", "e\u0301"

AUTO = {
    "empty": ("", []),
    "blank": (" \n ", [" \n "]),
    "one word": ("word", ["word"]),
    "no full stop": ("A sentence without an end", ["A sentence without an end"]),
    "no final newline": ("One here. Two here.", ["One here. ", "Two here."]),
    "final newline": ("One here. Two here.\n", ["One here. ", "Two here.\n"]),
    "leading white space": ("\n\n  One here. Two here.", ["\n\n  One here. ", "Two here."]),
    "CRLF": ("One here.\r\nTwo here.\r\n", ["One here.\r\n", "Two here.\r\n"]),
    "blank line without full stop": ("Heading\n\nText here.", ["Heading\n\n", "Text here."]),
    "CRLF blank line": ("Heading\r\n\r\nText", ["Heading\r\n\r\n", "Text"]),
    "CR blank line": ("Heading\r\rText", ["Heading\r\r", "Text"]),
    "blank line of spaces": ("Heading\n \t\nText", ["Heading\n \t\n", "Text"]),
    "a BOM": ("\ufeffOne here. Two here.", ["\ufeffOne here. ", "Two here."]),
    "NUL": ("One\x00here. Two here.", ["One\x00here. ", "Two here."]),
    "lone surrogates": ("One \ud800 here. Two \udfff here.", ["One \ud800 here. ", "Two \udfff here."]),
    "emoji with joiners": (f"One {EM} here. Two {EM}.", [f"One {EM} here. ", f"Two {EM}."]),
    "combining marks": (f"Caf{COMBINING} opens. Tea too.", [f"Caf{COMBINING} opens. ", "Tea too."]),
    "right to left": ("השלום כאן. מה נשמע?", ["השלום כאן. ", "מה נשמע?"]),
    "U+2028": ("One here.\u2028Two here.", ["One here.\u2028", "Two here."]),
    "form feed": ("One here.\fTwo here.", ["One here.\f", "Two here."]),
    "Chinese": ("今天天气很好。我们去公园吧！好的。", ["今天天气很好。", "我们去公园吧！", "好的。"]),
    "Japanese": ("今日は晴れです。散歩に行きます。", ["今日は晴れです。", "散歩に行きます。"]),
    "Bulgarian": ("Котката спи. Кучето лае.", ["Котката спи. ", "Кучето лае."]),
    "a title and a country": (
        "Dr. Smith went to the U.S. in 2020. He stayed.",
        ["Dr. Smith went to the U.S. in 2020. ", "He stayed."],
    ),
    "et al.": (
        "This is due to Rossi et al. (2004) in full.",
        ["This is due to Rossi et al. (2004) in full."],
    ),
    "Fig. ??": ("See Fig. ?? for the curve.", ["See Fig. ?? for the curve."]),
    "literal special tokens": ("A [SEP] b [CLS]. And [MASK].", ["A [SEP] b [CLS]. ", "And [MASK]."]),
}


@pytest.mark.parametrize(("text", "expected"), AUTO.values(), ids=AUTO)
def test_auto(text: str, expected: list[str]) -> None:
    assert [sentence.text for sentence in split_sentences(text, SentencexSplitter())] == expected


def test_a_numbered_list_on_one_line_is_cut_before_its_second_number() -> None:
    sentences = split_sentences("1) The first item. 2) The second item.", SentencexSplitter())
    assert [sentence.text for sentence in sentences] == ["1) The first item. ", "2) The second item."]


def test_the_same_sentence_six_times_has_six_offsets() -> None:
    sentences = split_sentences("It rained. " * 6, SentencexSplitter())
    assert [sentence.start for sentence in sentences] == [0, 11, 22, 33, 44, 55]


LINES = {
    "empty": ("", []),
    "blank": ("\n\n", ["\n\n"]),
    "newlines of all kinds": ("a\nb\r\nc\rd", ["a\n", "b\r\n", "c\r", "d"]),
    "a full stop ends nothing": ("A. B.\nC.", ["A. B.\n", "C."]),
    "no other separators": ("a\u2028b\x0bc\x0cd\x85e\nf", ["a\u2028b\x0bc\x0cd\x85e\n", "f"]),
    "blank line joins the line before": ("a\n\nb", ["a\n\n", "b"]),
    "leading blank line": ("\na\nb", ["\na\n", "b"]),
    "no final newline": ("a\nb", ["a\n", "b"]),
}


@pytest.mark.parametrize(("text", "expected"), LINES.values(), ids=LINES)
def test_lines(text: str, expected: list[str]) -> None:
    assert [sentence.text for sentence in split_sentences(text, LineSplitter())] == expected


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("splitter", [LineSplitter(), SentencexSplitter()])
def test_a_blank_line_starts_a_paragraph(newline: str, splitter: LineSplitter) -> None:
    text = f"{newline}One here.{newline}Two here.{newline}{newline}Three.{newline} {newline}{newline}Four."
    sentences = split_sentences(text, splitter)
    assert [sentence.text.strip() for sentence in sentences] == ["One here.", "Two here.", "Three.", "Four."]
    assert paragraph_flags(sentences).tolist() == [False, False, True, True]


def test_a_blank_line_ends_a_sentence_whatever_the_splitter_says() -> None:
    class Nothing:
        def starts(self, text: str) -> list[int]:
            assert "\n\n" not in text
            return []

    assert [s.text for s in split_sentences("a. b\n\nc. d", Nothing())] == ["a. b\n\n", "c. d"]


def test_a_splitter_of_ones_own(tiny_folder: str) -> None:
    class Commas:
        def starts(self, text: str) -> list[int]:
            return [index + 1 for index, character in enumerate(text) if character == ","]

    segmenter = Segmenter.from_pretrained(tiny_folder, sentences=Commas())
    assert [sentence.text for sentence in segmenter.segment("a, b,c").sentences] == ["a, ", "b,", "c"]


def test_a_splitter_that_counts_wrongly_is_told_so() -> None:
    class Bytes:
        def starts(self, text: str) -> list[int]:
            return [len(text.encode())]

    with pytest.raises(InputError, match=r"start 4 from Bytes, expected 0 to 2"):
        split_sentences("éé", Bytes())


@pytest.mark.parametrize("wrong", ["line", 3, object()])
def test_an_unknown_splitter_is_refused(wrong: object) -> None:
    with pytest.raises(ConfigError, match="expected 'auto', 'lines' or an object"):
        resolve_splitter(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "a" * 100_000,
        "".join(random.Random(0).choices("ABCDEFabcdef0123456789+/", k=100_000)),
        '{"key":[1.5,"a.b",null],"other":"Dr.X"},' * 3000,
        "\n" + " " * 200_000 + "x",
        "\n \n" * 50_000 + "x",
    ],
    ids=["letters", "base64", "minified JSON", "spaces", "blank lines"],
)
def test_long_texts_without_sentences_are_one_sentence(text: str) -> None:
    (sentence,) = split_sentences(text, SentencexSplitter())
    assert sentence.text == text


def test_a_long_block_is_split_piece_by_piece_with_the_same_result() -> None:
    text = "".join(f"Dr. Smith saw {n} ships in the U.S. harbour. " for n in range(3000))
    sizes: list[int] = []

    class Watching(SentencexSplitter):
        def starts(self, text: str) -> list[int]:
            sizes.append(len(text))
            return super().starts(text)

    found = [sentence.start for sentence in split_sentences(text, Watching())]
    assert found == SentencexSplitter().starts(text)
    assert max(sizes) == 8_000
    assert sum(sizes) < 1.2 * len(text)


def test_a_long_sentence_between_short_ones() -> None:
    text = "First one. " + "word " * 30_000 + "ends. Last one. " + "And more. " * 3000
    sentences = split_sentences(text, SentencexSplitter())
    assert [s.text for s in sentences[:1]] == ["First one. "]
    assert sentences[1].text.endswith("word ends. ")
    assert sentences[2].text == "Last one. "
    assert len(sentences) == 3003


@pytest.mark.parametrize(
    "text", ["今天天气很好。" * 60_000, '{"a":1.5,"b":"c.d"},' * 40_000], ids=["Chinese", "JSON"]
)
def test_time_grows_linearly_with_one_line(text: str) -> None:
    def seconds(part: str) -> float:
        started = time.process_time()
        split_sentences(part, SentencexSplitter())
        return time.process_time() - started

    # Quadratic time would be 16 times as long.
    assert seconds(text) < 8 * seconds(text[: len(text) // 4]) + 0.5
