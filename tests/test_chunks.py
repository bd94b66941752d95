"""What chunks say about themselves, what is added to them, and how they are joined again."""

import json
import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from segmenter import Chunk, ChunkConfig, Document, Segmenter, merge
from segmenter.document import Context
from segmenter.mapping import CHUNK_COLUMNS

from .cutting import assert_partition, segmentation, sentences_of, with_limit, words
from .test_contract import MANY, TEXTS


def test_neighbours_and_overlap_are_whole_sentences_beside_the_chunk() -> None:
    text, sentences = sentences_of([3] * 6)
    result = segmentation(text, [0.1, 0.9, 0.1, 0.9, 0.1], sentences=sentences)
    plain = result.chunks
    assert not any(chunk.context for chunk in plain)
    for config, before, after in (
        (ChunkConfig(neighbours=1), 1, 1),
        (ChunkConfig(overlap_sentences=2), 2, 0),
        (ChunkConfig(overlap_sentences=2, neighbours=1), 2, 1),
        (ChunkConfig(neighbours=9), 9, 9),
    ):
        chunks = result.rechunk(config).chunks
        assert [(c.text, c.start, c.end) for c in chunks] == [(c.text, c.start, c.end) for c in plain]
        assert chunks[0].context.before == chunks[-1].context.after == ""
        assert chunks[1].context.before == "".join(s.text for s in sentences[max(0, 2 - before) : 2])
        assert chunks[1].context.after == "".join(s.text for s in sentences[4 : 4 + after])


def test_an_overlap_in_tokens_begins_with_a_word() -> None:
    text, sentences = sentences_of([7] * 8)
    result = segmentation(text, [0.9] * 7, sentences=sentences).rechunk(ChunkConfig(overlap_tokens=4))
    for chunk in result.chunks[1:]:
        assert words(chunk.context.before) == 4
        assert text[chunk.start - len(chunk.context.before) - 1].isspace()
    assert result.chunks[0].context == Context()
    spaceless = with_limit("港" * 50, len, max_tokens=10, overlap_tokens=3)
    assert [chunk.context.before for chunk in spaceless.chunks[1:-1]] == ["港" * 3] * (
        len(spaceless.chunks) - 2
    )


def test_headers(tiny: Segmenter) -> None:
    text = "The harbour is old. Fog is common."
    for document, header, expected in (
        (Document(text=text, id="a.txt", title="Harbours"), "{document} > {section}", "Harbours\n\n"),
        (Document(text=text, id="a.txt"), "{document} > {section}", "a.txt\n\n"),
        (Document(text=text), "{document} > {section}", ""),
        (Document(text=text), "passage: {title}", "passage\n\n"),
    ):
        (chunk, *_) = tiny.segment(document, chunks=ChunkConfig(header=header)).chunks
        assert chunk.context.header == expected
        assert chunk.embed_text == expected + chunk.text


def test_a_header_that_takes_too_much_room_is_left_out() -> None:
    text, sentences = sentences_of([5] * 4)
    result = segmentation(text, sentences=sentences)
    for header, is_there in (("one two three", True), ("one two three four five six", False)):
        chunks = result.rechunk(ChunkConfig(max_tokens=10, header=header)).chunks
        assert all(bool(chunk.context.header) == is_there for chunk in chunks)
        assert all(chunk.token_count == words(chunk.embed_text) <= 10 for chunk in chunks)


def test_pages_are_form_feeds() -> None:
    text = "One is here.\f\n\nTwo is here.\n\n\f\fFour is here."
    every = segmentation(text, threshold=0.0).chunks
    assert [(chunk.text.split()[0], chunk.page) for chunk in every] == [("One", 1), ("Two", 2), ("Four", 4)]
    assert segmentation("One is here. Two is here.").chunks[0].page is None
    assert segmentation("\f\fThree.").chunks[0].page == 3


def test_ids_say_what_is_embedded_and_where_it_is_from(tiny: Segmenter) -> None:
    text = "The harbour is old. Fog is common. She left school. " * 4
    cut = ChunkConfig(threshold=0.0)
    first, again, other = (tiny.segment(Document(text=text, id=name), chunks=cut).chunks for name in "aab")
    assert [chunk.id for chunk in first] == [chunk.id for chunk in again]
    assert len({chunk.id for chunk in first}) == len(first) > 1
    assert {chunk.id for chunk in first}.isdisjoint(chunk.id for chunk in other)
    assert all(chunk.document_id == "a" for chunk in first)
    wider = tiny.segment(Document(text=text, id="a"), chunks=ChunkConfig(threshold=0.0, neighbours=1)).chunks
    assert {chunk.id for chunk in first}.isdisjoint(chunk.id for chunk in wider)


def test_fingerprints_change_with_the_settings_and_only_with_them(tiny: Segmenter, tiny_folder) -> None:  # type: ignore[no-untyped-def]
    text = "The harbour is old. Fog is common."
    result = tiny.segment(text)
    assert result.fingerprint == tiny.segment("Another text.").fingerprint
    assert {chunk.fingerprint for chunk in result.chunks} == {result.fingerprint}
    assert (
        Segmenter.from_pretrained(tiny_folder, device="cpu").segment(text).fingerprint == result.fingerprint
    )
    others = [
        result.rechunk(ChunkConfig(threshold=0.6)),
        result.rechunk(ChunkConfig(max_tokens=20)),
        result.rechunk(ChunkConfig(max_tokens=20), words),
        result.rechunk(ChunkConfig(max_tokens=20), len),
        result.rechunk(ChunkConfig(max_tokens=20), lambda text: len(text) // 4),
        result.rechunk(ChunkConfig(max_tokens=20), lambda text: len(text) // 5),
        result.rechunk(ChunkConfig(neighbours=1)),
        Segmenter.from_pretrained(tiny_folder, device="cpu", candidates="all").segment(text),
        Segmenter.from_pretrained(tiny_folder, device="cpu", sentences="lines").segment(text),
    ]
    assert len({result.fingerprint, *(other.fingerprint for other in others)}) == len(others) + 1


def test_other_weights_have_another_fingerprint(tiny: Segmenter, fresh_folder) -> None:  # type: ignore[no-untyped-def]
    text = "The harbour is old. Fog is common."
    fresh = Segmenter.from_pretrained(fresh_folder, device="cpu").segment(text)
    assert tiny.segment(text).fingerprint != fresh.fingerprint


def test_a_row_is_json_and_has_all(tiny: Segmenter) -> None:
    document = Document(text="One is here.\fTwo is here.", id="a", title="T")
    config = ChunkConfig(max_tokens=20, neighbours=1, header="{document}")
    for chunk in tiny.segment(document, chunks=config).chunks:
        row = json.loads(json.dumps(chunk.row()))
        assert list(row) == list(CHUNK_COLUMNS)
        assert (row.pop("chunk_id"), row.pop("doc_id"), row.pop("title")) == (chunk.id, "a", None)
        index = row.pop("chunk_index")
        section, context = tuple(row.pop("section")), Context(**row.pop("context"))
        found = Chunk(**row, index=index, section=section, context=context, document_id="a")
        assert found == chunk


@MANY
@given(text=TEXTS, data=st.data())
def test_merged_chunks_repeat_nothing(text: str, data: st.DataObject) -> None:
    config = ChunkConfig(
        threshold=data.draw(st.floats(0, 1)),
        overlap_sentences=data.draw(st.integers(0, 2)),
        neighbours=data.draw(st.integers(0, 1)),
    )
    chunks = segmentation(text).rechunk(config).chunks
    picked = data.draw(st.lists(st.sampled_from(chunks))) if chunks else []
    random.Random(0).shuffle(picked)
    merged = merge(picked)
    shown: list[int] = []
    for chunk in merged:
        assert chunk.text == text[chunk.start : chunk.end]
        first = chunk.start - len(chunk.context.before)
        last = chunk.end + len(chunk.context.after)
        assert chunk.embed_text == text[first:last]
        shown.extend(range(first, last))
        shown.append(-1)
    places = [place for place in shown if place >= 0]
    assert len(places) == len(set(places))
    wanted = {
        place
        for chunk in picked
        for place in range(chunk.start - len(chunk.context.before), chunk.end + len(chunk.context.after))
    }
    assert set(places) == wanted
    # What touches is one.
    spans = [(c.start - len(c.context.before), c.end + len(c.context.after)) for c in merged]
    assert all(left[1] < right[0] for left, right in pairwise(spans))
    if len(set(picked)) == len(chunks) > 0:
        assert [chunk.text for chunk in merged] == [text]


def test_chunks_of_several_documents_and_of_several_cuts_are_merged_apart() -> None:
    text, sentences = sentences_of([3] * 6)

    def cut(name: str, threshold: float) -> tuple[Chunk, ...]:
        result = segmentation(text, [0.2, 0.9, 0.2, 0.9, 0.2], sentences=sentences, threshold=threshold)
        chunks = result.chunks
        return tuple(
            Chunk(c.text, c.start, c.end, c.token_count, c.index, document_id=name, fingerprint=c.fingerprint)
            for c in chunks
        )

    small, large = cut("a", 0.1), cut("a", 0.5)
    merged = merge([cut("b", 0.5)[2], small[3], large[1], cut("b", 0.5)[0], small[4]])
    assert [(c.document_id, c.text) for c in merged] == [
        ("b", large[0].text),
        ("b", large[2].text),
        ("a", "".join(s.text for s in sentences[2:5])),
    ]
    assert merged[2].fingerprint == ""
    assert merged[0].fingerprint == large[0].fingerprint
    assert merge([]) == []


def test_merging_keeps_the_first_header() -> None:
    chunks = [
        Chunk("bc", 1, 3, 2, 0, context=Context("T\n\n", "a", "d")),
        Chunk("de", 3, 5, 2, 1, context=Context("U\n\n", "c", "")),
    ]
    (joined,) = merge(chunks)
    assert joined == Chunk("bcde", 1, 5, 4, 0, context=Context("T\n\n", "a", ""))
    assert_partition("", segmentation(""))


@pytest.mark.parametrize("text", ["", " \n"])
def test_nothing_to_cut(text: str) -> None:
    config = ChunkConfig(max_tokens=5, min_tokens=2, neighbours=1, header="x")
    assert len(segmentation(text).rechunk(config).chunks) == len(text[:1])
