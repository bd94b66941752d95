"""Which documents are trained on and which are measured on."""

import hashlib
from collections.abc import Sequence

from segmenter.errors import InputError
from segmenter.labelled import LabelledDocument, content_hash, id_order

__all__ = ["check_apart", "check_learnable", "data_hash", "split_by_id"]

_MOST_NAMED = 5


def split_by_id(
    documents: Sequence[LabelledDocument], share: float = 0.1
) -> tuple[list[LabelledDocument], list[LabelledDocument]]:
    """Set documents aside by a hash of their ids, whole, and copies of one text together.

    :param documents: At least two different ones.
    :param share: About how many to set aside, above 0 and below 1.
    :return: The documents to train on, and those to measure on; at least one each.
    :raises InputError: If there are no two different documents.
    """
    first_of: dict[str, LabelledDocument] = {}
    key = {id(document): first_of.setdefault(content_hash(document), document) for document in documents}
    if len(first_of) < 2:
        raise InputError(
            f"got {len(first_of)} different documents, expected 2 or more: one to train on, one to measure on"
        )
    ordered = sorted(first_of.values(), key=id_order)
    limit = int(share * 2**64)
    aside = {id(d) for d in ordered if int.from_bytes(id_order(d)[:8], "big") < limit}
    if not 0 < len(aside) < len(ordered):
        # Few documents: as many as the share says, in the order of their hashes.
        count = min(len(ordered) - 1, max(1, round(share * len(ordered))))
        aside = {id(document) for document in ordered[:count]}
    train = [document for document in documents if id(key[id(document)]) not in aside]
    return train, [document for document in documents if id(key[id(document)]) in aside]


def check_apart(train: Sequence[LabelledDocument], held_out: Sequence[LabelledDocument]) -> None:
    """Make sure that no document is both learned from and measured on.

    :param train: The documents to train on.
    :param held_out: The documents to measure on.
    :raises InputError: If an id or a text is in both.
    """
    ids = {document.id for document in train}
    texts = {content_hash(document): document.id for document in train}
    twins = [(document.id, texts.get(content_hash(document))) for document in held_out]
    # A copy is told by the id it has among those to train on, where that is another one.
    found = [
        name if name in ids else f"{name} (as {twin})"
        for name, twin in twins
        if name in ids or twin is not None
    ]
    if found:
        named = ", ".join(found[:_MOST_NAMED]) + (" and more" if len(found) > _MOST_NAMED else "")
        raise InputError(
            f"got {len(found)} documents both to train and to measure on: {named}; "
            "take them out of one, or give different documents different ids"
        )


def check_learnable(documents: Sequence[LabelledDocument], what: str) -> None:
    """Make sure that there is something to learn or to measure.

    :param documents: The documents.
    :param what: What they are for, for the error.
    :raises InputError: If there are none, or gaps of one kind only.
    """
    if not documents:
        raise InputError(f"got no documents to {what}, expected at least one")
    boundaries = sum(len(document.boundaries) for document in documents)
    gaps = sum(max(0, len(document.sentences) - 1) for document in documents)
    if boundaries in (0, gaps):
        kind = "are boundaries" if boundaries else "is a boundary"
        raise InputError(
            f"got {len(documents)} documents to {what}, of whose {gaps} gaps "
            f"{'all' if boundaries else 'none'} {kind}; expected both kinds: add documents, or choose others"
        )


def data_hash(documents: Sequence[LabelledDocument]) -> str:
    """A hash of documents and labels, to tell whether a run goes on with the same data.

    :param documents: The documents.
    :return: Hexadecimal digits.
    """
    digest = hashlib.sha256()
    for document in documents:
        digest.update(content_hash(document).encode())
        digest.update(repr((document.boundaries, document.paragraphs)).encode())
    return digest.hexdigest()
