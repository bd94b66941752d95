"""Labelled documents: what cannot be is refused, and the conventions of published work."""

from typing import Any

import numpy as np
import pytest

from segmenter import InputError
from segmenter.labelled import LabelledDocument, drop_lead, id_order, keep_top_level, sample_documents

SENTENCES = [f"Sentence {number}." for number in range(8)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": 3}, "got id 3"),
        ({"sentences": "One. Two."}, "sentences of type str"),
        ({"sentences": ["One.", 2]}, "sentence 1 of type int"),
        ({"sentences": None}, "sentences of type NoneType"),
        ({"boundaries": [0]}, "got 0 among boundaries, expected whole numbers from 1 to 7"),
        ({"boundaries": [8]}, "got 8 among boundaries"),
        ({"boundaries": [True]}, "got True among boundaries"),
        ({"boundaries": [2.0]}, "got 2.0 among boundaries"),
        ({"boundaries": "12"}, "boundaries of type str"),
        ({"boundaries": [4, 2]}, "got 2 after 4 in boundaries, expected rising numbers"),
        ({"boundaries": [4, 4]}, "got 4 after 4"),
        ({"paragraphs": [9]}, "got 9 among paragraphs"),
        ({"paragraphs": 9}, "paragraphs of type int"),
        ({"titles": ["one"]}, "expected 2: a string a section"),
        ({"titles": "ab"}, "titles of type str"),
        ({"levels": [1, "two"]}, "expected 2: a whole number a section"),
    ],
)
def test_what_cannot_be_is_refused(change: dict[str, Any], message: str) -> None:
    values = {"id": "a", "sentences": SENTENCES, "boundaries": [3], **change}
    with pytest.raises(InputError, match=message):
        LabelledDocument(**values)


def test_the_reference_is_the_gap_before_each_boundary() -> None:
    document = LabelledDocument("a", SENTENCES, np.array([4, 6]).tolist())
    assert np.flatnonzero(document.reference).tolist() == [3, 5]
    assert LabelledDocument("b", ["One."], []).reference.shape == (0,)
    assert LabelledDocument("b", [], []).reference.shape == (0,)


def test_the_lead_is_dropped_with_all_that_counts_from_it() -> None:
    document = LabelledDocument("a", SENTENCES, [2, 5], [1, 2, 4, 5], ["", "Boats", "Nets"], [1, 2, 3])
    expected = LabelledDocument("a", SENTENCES[2:], [3], [2, 3], ["Boats", "Nets"], [2, 3])
    found = drop_lead(document)
    assert found == LabelledDocument("a", SENTENCES[2:], (3,), (2, 3), ["Boats", "Nets"], [2, 3]) == expected
    assert drop_lead(expected) == expected
    assert drop_lead(LabelledDocument("b", SENTENCES, [], titles=[""])) is None
    with pytest.raises(InputError, match="no titles"):
        drop_lead(LabelledDocument("b", SENTENCES, [2]))


def test_subsections_are_joined() -> None:
    titles = ["", "Boats", "Sails", "Nets", "Mending"]
    document = LabelledDocument("a", SENTENCES, [2, 3, 5, 6], titles=titles, levels=[1, 2, 3, 2, 4])
    found = keep_top_level(document)
    assert found.boundaries == (2, 5)
    assert found.titles == ["", "Boats", "Nets"]
    assert found.levels == [1, 2, 2]
    assert keep_top_level(LabelledDocument("b", SENTENCES, [], levels=[1])).boundaries == ()
    # A single top section, as a lead that was dropped leaves it; and a page title, which is none.
    for levels, kept in (([2, 3, 3], ()), ([2, 3, 2], (5,)), ([1, 2, 2], (2, 5)), ([1, 2, 1], (5,))):
        titled = LabelledDocument("b", SENTENCES, [2, 5], titles=["x", "y", "z"], levels=levels)
        assert keep_top_level(titled).boundaries == kept, levels
    with pytest.raises(InputError, match="no levels"):
        keep_top_level(LabelledDocument("b", SENTENCES, [2]))


def test_a_sample_is_whole_documents_in_an_order_of_its_own() -> None:
    documents = [LabelledDocument(str(number), SENTENCES, [2]) for number in range(20)]
    sample = sample_documents(documents, 7 * 5 + 3)
    assert sample == sorted(documents, key=id_order)[:5]
    assert sample == sample_documents(reversed(documents), 38)
    assert sample_documents(documents, 38, from_end=True) == sorted(documents, key=id_order)[:-6:-1]
    assert len(sample_documents(documents, 1)) == 1
    assert len(sample_documents(documents, None)) == 20
    assert sample_documents([], 5) == []
    assert len(sample_documents([LabelledDocument("e", [], []), *documents[:2]], 7)) == 2
    assert id_order(LabelledDocument("\ud800", SENTENCES, []))
