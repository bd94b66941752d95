"""Pages for the browser, whole in one file: no network, nothing to install or to build.

Text reaches the page as JSON in a script element that is never run, and from there by ``textContent``
alone, so that none of it can become markup. A policy in the page forbids the network, and any script or
style but its own, which it knows by their hashes.
"""

import json
import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from hashlib import sha256
from html import escape
from importlib.resources import files
from typing import Any

from segmenter.counting import TextTokenizer, counter_of
from segmenter.document import Chunk
from segmenter.errors import InputError
from segmenter.labelled import LabelledDocument
from segmenter.segmentation import Segmentation
from segmenter.segmenter import Segmenter
from segmenter.sources import shipped_tokenizer
from segmenter.tokenizing import replace_surrogates
from segmenter.view.picture import picture_of, picture_of_labelled

__all__ = ["compare_page", "labelled_page", "page"]

_SCRIPTS = {
    "view": ("common.js", "view.js", "chunks.js", "dial.js", "gaps.js", "start.js"),
    "compare": ("common.js", "compare.js"),
}
"""What is put together, in this order, into the one script of each page."""

_SLOT = re.compile(r"\{\{(\w+)\}\}")
_UNSAFE = re.compile("[<>&\u2028\u2029]")


def page(result: Segmentation, *, segmenter: Segmenter | None = None, title: str | None = None) -> str:
    """Make a page of a result, on which its threshold can be dragged.

    :param result: The result; limits of size it was cut with do not count on the page.
    :param segmenter: What it is from, to show what the model saw at each gap; None: the sentences beside it
        are shown.
    :param title: Stands above the text; None: the document's title or id.
    :return: HTML, to be written as UTF-8. Lone surrogates are replaced by U+FFFD.
    :raises InputError: If the segmenter is not what the result is from.
    """
    picture = picture_of(result, segmenter, title)
    return _fill("view", picture.payload(), picture.name)


def labelled_page(
    document: LabelledDocument,
    segmenter: Segmenter,
    *,
    title: str | None = None,
    show_progress: bool = False,
) -> str:
    """Run a model over a document whose sections are known, and make a page of both.

    Precision, recall and F1 follow the threshold.

    :param document: The document; the model is told of its paragraphs where they are known.
    :param segmenter: The model.
    :param title: Stands above the text; None: the document's id.
    :param show_progress: Whether to show a bar on the standard error.
    :return: HTML, to be written as UTF-8. Lone surrogates are replaced by U+FFFD.
    """
    picture = picture_of_labelled(document, segmenter, show_progress=show_progress)
    name = title or picture.name
    return _fill("view", {**picture.payload(), "name": name}, name)


def compare_page(
    cuts: Mapping[str, Sequence[Chunk]], *, title: str = "Text", tokenizer: TextTokenizer | None = None
) -> str:
    """Make a page of two cuts of one text, side by side.

    :param cuts: The chunks of each by the name of the way of cutting; two of them.
    :param title: Stands above the text.
    :param tokenizer: What the sizes on the page are in, special tokens left out; None: the shipped model's.
    :return: HTML, to be written as UTF-8. Lone surrogates are replaced by U+FFFD.
    :raises InputError: If there are not two, or they are not of the same text.
    """
    texts = ["".join(chunk.text for chunk in chunks) for chunks in cuts.values()]
    if len(texts) != 2:
        raise InputError(f"got {len(texts)} cuts to compare, expected two of different names")
    if texts[0] != texts[1]:
        raise InputError("got cuts of different texts, expected both of the same")
    counter = counter_of(shipped_tokenizer() if tokenizer is None else tokenizer)
    special, whole = counter.count(["", texts[0]]).tolist()
    starts = sorted({chunk.start for chunks in cuts.values() for chunk in chunks})
    number = {start: piece for piece, start in enumerate(starts)}
    ends = [*starts[1:], len(texts[0])]
    shown = []
    for name, chunks in cuts.items():
        # What goes to an embedder, and how much of it is the chunk's own.
        all_of_it = (counter.count([chunk.embed_text for chunk in chunks]) - special).tolist()
        own = (counter.count([chunk.text for chunk in chunks]) - special).tolist()
        rows = [
            {
                "piece": number[chunk.start],
                "tokens": size,
                "repeated": max(0, size - alone),
                "chance": chunk.probability,
            }
            for chunk, size, alone in zip(chunks, all_of_it, own, strict=True)
        ]
        shown.append({"name": name, "chunks": rows})
    pieces = [texts[0][start:end] for start, end in zip(starts, ends, strict=False)]
    return _fill(
        "compare", {"name": title, "tokens": whole - special, "pieces": pieces, "cuts": shown}, title
    )


def _fill(kind: str, data: dict[str, Any], title: str) -> str:
    """Put styles, scripts and data into a page."""
    style = _read("page.css")
    script = "\n".join(_read(name) for name in _SCRIPTS[kind])
    values = {
        "policy": "; ".join(
            [
                "default-src 'none'",
                f"script-src {_hash_of(script)}",
                f"style-src {_hash_of(style)}",
                "img-src data:",
                "base-uri 'none'",
                "form-action 'none'",
            ]
        ),
        "title": escape(replace_surrogates(title)),
        "kind": kind,
        "body": _read(f"{kind}.html"),
        "style": style,
        "script": script,
        "data": _json(data),
    }
    # In one pass, so that a text that looks like a slot stays text.
    return _SLOT.sub(lambda slot: values[slot[1]], _read("shell.html"))


def _read(name: str) -> str:
    return files("segmenter.view").joinpath(name).read_text(encoding="utf-8")


def _hash_of(content: str) -> str:
    return f"'sha256-{b64encode(sha256(content.encode()).digest()).decode()}'"


def _json(data: dict[str, Any]) -> str:
    """JSON that holds nothing that HTML or a script could end at."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", replace_surrogates(text))
