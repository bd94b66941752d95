"""Documents that are prepared, through the model; none costs another."""

from collections import deque
from collections.abc import Iterable, Iterator

import numpy as np

from segmenter.corpus.documents import BadDocument
from segmenter.corpus.workers import Item
from segmenter.errors import CorpusError, SegmenterError, first_line
from segmenter.preparing import Prepared
from segmenter.segmentation import Segmentation
from segmenter.segmenter import Segmenter

__all__ = ["segment_items"]


def segment_items(
    segmenter: Segmenter, items: Iterable[Item]
) -> Iterator[tuple[int, Item, Segmentation | BadDocument]]:
    """Segment documents, in batches that run across them.

    :param segmenter: Does the work.
    :param items: Prepared and bad documents.
    :yield: Place among the items, item, and its result or why it has none. The results are in order, as the
        bad ones are, but a bad one may come before a result whose place is smaller.
    :raises CorpusError: If the model fails for any text.
    """
    waiting: deque[tuple[int, Item]] = deque()
    bad: deque[tuple[int, Item, BadDocument]] = deque()

    def good() -> Iterator[Prepared]:
        for place, item in enumerate(items):
            if item.prepared is not None:
                waiting.append((place, item))
                yield item.prepared
            else:
                assert isinstance(item.document, BadDocument)
                bad.append((place, item, item.document))

    results = segmenter.segment_prepared(good())
    while True:
        try:
            result = next(results, None)
        except (SegmenterError, OSError):
            yield from _drain(bad)
            raise
        except Exception as error:  # whatever a backend raises for any text, however small
            raise CorpusError(
                f"the model fails ({type(error).__name__}: {first_line(error)}); what is done is kept, and "
                "the same call goes on"
            ) from error
        yield from _drain(bad)
        if result is None:
            return
        place, item = waiting.popleft()
        if not isinstance(result, Segmentation):
            cause = f"the model failed: {type(result).__name__}: {first_line(result)}"
        elif not np.isfinite(result.probabilities).all():
            cause = "the model gave something that is no number; try dtype='float32' (--dtype float32)"
        else:
            yield place, item, result
            continue
        yield place, item, BadDocument(item.document.id, cause)


def _drain(bad: "deque[tuple[int, Item, BadDocument]]") -> Iterator[tuple[int, Item, BadDocument]]:
    while bad:
        yield bad.popleft()
