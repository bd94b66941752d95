"""What the tests of sizes share: results without a model, hard texts, tokenizers of each kind."""

import random
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from segmenter import ChunkConfig, Document, Segmentation, Sentence
from segmenter.counting import TextTokenizer, counter_of
from segmenter.sentences import SentencexSplitter, split_sentences


def words(text: str) -> int:
    return len(text.split())


def segmentation(
    text: str,
    probabilities: Sequence[float] | None = None,
    tokenizer: TextTokenizer = words,
    threshold: float = 0.5,
    seed: int = 0,
    sentences: Sequence[Sentence] | None = None,
) -> Segmentation:
    """A result as a model would give it, its probabilities drawn if there are none."""
    parts = tuple(split_sentences(text, SentencexSplitter()) if sentences is None else sentences)
    n_gaps = max(0, len(parts) - 1)
    chances: NDArray[np.float32] = np.random.default_rng(seed).random(n_gaps).astype(np.float32)
    return Segmentation(
        document=Document(text=text),
        sentences=parts,
        token_counts=np.array([words(part.text) for part in parts], dtype=np.int64),
        probabilities=chances if probabilities is None else np.array(probabilities, dtype=np.float32),
        scored=np.ones(n_gaps, np.bool_),
        trimmed_gaps=0,
        threshold=threshold,
        model="test",
        counter=counter_of(tokenizer),
    )


def sentences_of(lengths: Sequence[int]) -> tuple[str, list[Sentence]]:
    """A text whose sentences have so many words."""
    found: list[Sentence] = []
    start = 0
    for number, length in enumerate(lengths):
        text = " ".join([f"w{number}"] * length) + ".\n"
        found.append(Sentence(text, start, start + len(text)))
        start += len(text)
    return "".join(sentence.text for sentence in found), found


def assert_partition(text: str, result: Segmentation) -> None:
    end = 0
    for index, chunk in enumerate(result.chunks):
        assert (chunk.index, chunk.start) == (index, end)
        assert chunk.end > chunk.start
        assert chunk.text == text[chunk.start : chunk.end]
        context = chunk.context
        assert text[: chunk.start].endswith(context.before)
        assert text[chunk.end :].startswith(context.after)
        assert chunk.embed_text == context.header + context.before + chunk.text + context.after
        end = chunk.end
    assert end == len(text)


def with_limit(text: str, tokenizer: TextTokenizer, **settings: object) -> Segmentation:
    return segmentation(text).rechunk(ChunkConfig(**settings), tokenizer)  # type: ignore[arg-type]


def _random(letters: str, length: int) -> str:
    return "".join(random.Random(0).choices(letters, k=length))


HARD = {
    "100,000 letters": "a" * 100_000,
    "100,000 different letters": _random("abcdefghijklmnopqrstuvwxyz", 100_000),
    "base64": _random("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/", 60_000),
    "minified JSON": '{"key":[1.5,"a.b",null],"name":"Mr. X","id":"7f3a"},' * 1200,
    "a table of 230,000 characters": "| 12.5 | harbour | 2021-03-04 | fog and rain |\n" * 4900,
    "spaceless Chinese": "港口位于峡湾尽头船只通过狭窄航道抵达秋季常有大雾" * 1200,
    "emoji": "🙂\u200d🙂🏽e\u0301" * 4000,
    "surrogates and controls": "\ud800\x00\x07\u2028\udfff" * 4000,
    "the same sentence": "It rained in the harbour. " * 2500,
}


def wordpiece(texts: Sequence[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[UNK]", "[CLS]", "[SEP]"]
    tokenizer.train_from_iterator(
        texts, trainers.WordPieceTrainer(vocab_size=600, special_tokens=special, show_progress=False)
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.enable_truncation(64)  # As embedders' are, which must not hide what is too long.
    return tokenizer


def byte_level_bpe(texts: Sequence[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    tokenizer.train_from_iterator(
        texts, trainers.BpeTrainer(vocab_size=800, initial_alphabet=alphabet, show_progress=False)
    )
    return tokenizer


def unigram(texts: Sequence[str]) -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.NFKC()
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.train_from_iterator(
        texts,
        trainers.UnigramTrainer(
            vocab_size=500, unk_token="<unk>", special_tokens=["<s>", "</s>", "<unk>"], show_progress=False
        ),
    )
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 0), ("</s>", 1)]
    )
    return tokenizer


TRAINED = {"WordPiece": wordpiece, "byte-level BPE": byte_level_bpe, "Unigram": unigram}


def tokens_of(tokenizer: Tokenizer, texts: Sequence[str]) -> list[int]:
    """Counted by the tokenizer as it is, but for what it cuts off."""
    whole = Tokenizer.from_str(tokenizer.to_str())
    whole.no_truncation()
    whole.no_padding()
    readable = [re.sub("[\ud800-\udfff]", "\ufffd", text) for text in texts]
    return [len(encoding.ids) for encoding in whole.encode_batch(readable)]
