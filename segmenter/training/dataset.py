"""Training windows as tensors."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray
from torch.utils.data import Dataset

from segmenter.config import Context
from segmenter.training.packing import PackedDocuments
from segmenter.training.sampling import WindowKey
from segmenter.windows import TokenStream, WindowBuilder

__all__ = ["TrainingWindow", "WindowCollator", "WindowDataset"]


@dataclass(frozen=True, slots=True)
class TrainingWindow:
    """A window with its label, and the labels of the gaps inside its sides.

    :ivar left: Token ids. *Shape:* ``(n_left,)``.
    :ivar right: Token ids. *Shape:* ``(n_right,)``.
    :ivar label: 1 if its gap is a boundary.
    :ivar inner: Position in the window of the last token before each gap whose both sides are
        seen, its own gap among them. *Shape:* ``(n_inner,)``.
    :ivar inner_labels: 1 where that gap is a boundary. *Shape:* ``(n_inner,)``.
    """

    left: NDArray[np.int32]
    right: NDArray[np.int32]
    label: int
    inner: NDArray[np.int64]
    inner_labels: NDArray[np.int64]


class WindowDataset(Dataset[TrainingWindow]):
    """The windows of packed documents, built when asked for.

    :param documents: The labelled documents.
    :param builders: A window builder per context.
    :param mark_id: The paragraph mark.
    """

    def __init__(
        self,
        documents: PackedDocuments,
        builders: dict[Context, WindowBuilder],
        mark_id: int | None,
    ) -> None:
        self._documents = documents
        self._builders = builders
        self._mark_id = mark_id
        self._stream = lru_cache(maxsize=256)(self._build_stream)

    def _build_stream(self, document: int, marked: bool) -> TokenStream:
        return self._documents.stream(document, self._mark_id if marked else None)

    def __getitem__(self, key: WindowKey) -> TrainingWindow:
        stream = self._stream(key.document, key.marked)
        windows = self._builders[key.context].build(stream, np.array([key.gap], dtype=np.int64))
        left, right = windows.sides(0)
        first = self._documents.sentence_offsets[key.document]
        a, b, _, d = windows.bounds[0]
        seen = np.flatnonzero((stream.starts > a) & (stream.starts < d))
        position = stream.starts[seen] - 1 - a + 1
        position += stream.starts[seen] > b  # The separator stands in between.
        return TrainingWindow(
            left=left,
            right=right,
            label=int(self._documents.boundary[first + key.gap + 1]),
            inner=position,
            inner_labels=self._documents.boundary[first + seen].astype(np.int64),
        )


@dataclass(frozen=True, slots=True)
class WindowCollator:
    """Lays windows out as one padded batch.

    :ivar builder: Any window builder of the model.
    :ivar pad_id: The token to fill up with.
    """

    builder: WindowBuilder
    pad_id: int

    def __call__(self, windows: list[TrainingWindow]) -> dict[str, torch.Tensor]:
        """Build the batch.

        :param windows: At least one window.
        :return: ``input_ids`` and ``attention_mask`` of shape ``(batch, length)``, ``labels`` of
            shape ``(batch,)``, ``inner`` of shape ``(n_inner, 2)`` (row and position) and
            ``inner_labels`` of shape ``(n_inner,)``.
        """
        ids, mask = self.builder.pad([(w.left, w.right) for w in windows], self.pad_id)
        rows = np.repeat(np.arange(len(windows)), [len(w.inner) for w in windows])
        positions = np.concatenate([w.inner for w in windows])
        return {
            "input_ids": torch.from_numpy(ids),
            "attention_mask": torch.from_numpy(mask),
            "labels": torch.tensor([w.label for w in windows]),
            "inner": torch.from_numpy(np.stack([rows, positions], axis=1)),
            "inner_labels": torch.from_numpy(np.concatenate([w.inner_labels for w in windows])),
        }
