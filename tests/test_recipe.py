"""The published recipe, written out, gives our boundaries on our checkpoint folder."""

import re
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertTokenizer,
    TextClassificationPipeline,
)

from segmenter import Segmenter
from segmenter.checkpoint import write_checkpoint
from segmenter.config import CheckpointConfig
from segmenter.sources import shipped_model

from .conftest import make_model

SIDE = 255

SENTENCES = [
    "The harbour is old.",
    "Fog is common, isn't it?",
    "  spaces   around\tand within  ",
    "Ünïcödé ÀÉÎ naïve café",
    "Two\nlines",
    "e\u0301 combining and 🙂 emoji",
    "3.14 % of $1,000.00 (2004)",
    "http://example.org/a?b=c&d=e#f",
    "Д-р Смит 世界",
    "half-wild co-operation -- dashes – — …",
    "'Quoted.' \"Twice.\"",
    "a",
    ".",
    "the " * 120,
]


class Recipe:
    """What the article does, after loading the folder with plain ``transformers``."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        model = AutoModelForSequenceClassification.from_pretrained(folder)
        self.pipeline = TextClassificationPipeline(model=model, tokenizer=self.tokenizer, device="cpu")

    def trim(self, side: str, keep_tail: bool) -> str:
        ids = self.tokenizer(side, add_special_tokens=False).input_ids
        return self.tokenizer.decode(ids[-SIDE:] if keep_tail else ids[:SIDE])

    def probabilities(self, sentences: list[str]) -> np.ndarray:
        pairs = [
            self.trim(left, keep_tail=True) + " [SEP] " + self.trim(right, keep_tail=False)
            for left, right in pairwise(sentences)
        ]
        return np.array(
            [
                {row["label"]: row["score"] for row in self.pipeline(pair, top_k=None)}["DIFFERENT"]
                for pair in pairs
            ]
        )

    def chunks(self, sentences: list[str]) -> list[str]:
        chunks = [sentences[0]]
        for sentence, probability in zip(sentences[1:], self.probabilities(sentences), strict=True):
            if probability > 0.5:
                chunks.append(sentence)
            else:
                chunks[-1] += "\n" + sentence
        return chunks


@pytest.fixture(scope="module", params=["random weights", "shipped"])
def folder(
    request: pytest.FixtureRequest, tokenizer: BertTokenizer, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A checkpoint of 512 positions, as the article's model has."""
    if request.param == "shipped":
        return shipped_model()
    made = BertTokenizer(vocab=tokenizer.get_vocab(), do_lower_case=True, model_max_length=512)
    folder = tmp_path_factory.mktemp("recipe")
    write_checkpoint(make_model(tokenizer, positions=512), made, CheckpointConfig(), folder)
    return folder


@pytest.fixture(scope="module")
def recipe(folder: Path) -> Recipe:
    return Recipe(folder)


@pytest.fixture(scope="module")
def ours(folder: Path) -> Segmenter:
    return Segmenter.from_pretrained(
        folder, context="sentence", threshold=0.5, candidates="all", sentences="lines", device="cpu"
    )


@settings(max_examples=60, deadline=None)
@given(sentences=st.lists(st.sampled_from(SENTENCES), min_size=2, max_size=8))
@pytest.mark.filterwarnings("ignore::segmenter.UnreadableTextWarning")
def test_all_kinds_of_sentences_score_the_same(recipe: Recipe, ours: Segmenter, sentences: list[str]) -> None:
    np.testing.assert_allclose(ours.predict(sentences), recipe.probabilities(sentences), atol=1e-4)


@pytest.mark.parametrize("name", ["career.txt", "harbour.txt"])
def test_the_same_chunks(recipe: Recipe, ours: Segmenter, examples: dict[str, str], name: str) -> None:
    # One sentence a line and no blank lines, which the article would take for sentences.
    text = re.sub(r"\n+", "\n", examples[name])
    result = ours.segment(text)
    assert [chunk.text.rstrip("\n") for chunk in result.chunks] == recipe.chunks(text.splitlines())


def test_sides_at_the_limit(recipe: Recipe, ours: Segmenter) -> None:
    # 254 + 255 = 509 tokens, and one side that has to be trimmed while the sum fits.
    for left, right in ((254, 255), (400, 100), (100, 400), (255, 254)):
        sentences = ["harbour " * left, "fog " * right]
        np.testing.assert_allclose(ours.predict(sentences), recipe.probabilities(sentences), atol=1e-4)


def test_where_the_recipe_crashes_at_513_tokens_ours_is_right(
    recipe: Recipe, ours: Segmenter, tokenizer: BertTokenizer
) -> None:
    sentences = ["harbour " * 300, "fog " * 300]
    with pytest.raises((RuntimeError, IndexError)):
        recipe.probabilities(sentences)
    # 255 left, 254 right: 512 in all.
    expected = recipe.probabilities(["harbour " * 255, "fog " * 254])
    np.testing.assert_allclose(ours.predict(sentences), expected, atol=1e-4)


@pytest.mark.parametrize("special", ["[SEP]", "[CLS]", "[MASK]", "[PAD]"])
def test_where_the_recipe_misreads_special_tokens_ours_is_right(
    recipe: Recipe, ours: Segmenter, special: str
) -> None:
    sentences = [f"The harbour {special} is old.", "Fog is common."]
    # Spelt so that the recipe's tokenizer cannot match it, but yields the same pieces of text.
    name = special.strip("[]").lower()
    spelt = [re.sub(re.escape(special), f"[ {name} ]", sentence) for sentence in sentences]
    np.testing.assert_allclose(ours.predict(sentences), recipe.probabilities(spelt), atol=1e-4)
    found, misread = (
        np.log(p / (1 - p)) for p in (ours.predict(sentences)[0], recipe.probabilities(sentences)[0])
    )
    assert abs(found - misread) > 0.003
