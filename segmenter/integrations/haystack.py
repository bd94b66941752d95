"""A component for Haystack: ``pip install 'cross-segmenter[haystack]'``.

.. code-block:: python

    splitter = SegmenterDocumentSplitter(settings={"max_tokens": 256})
    pipeline.add_component("splitter", splitter)

To load a pipeline from a file, name this module: ``allowed_modules=["segmenter.integrations.haystack"]``.
"""

from typing import Any

from segmenter import document as values
from segmenter.chunkers import Chunker, TopicChunker
from segmenter.config import ChunkConfig
from segmenter.errors import ConfigError
from segmenter.extras import require
from segmenter.integrations.metadata import inked, metadata_of

require("haystack")

from haystack import Document, component, default_from_dict, default_to_dict  # noqa: E402

__all__ = ["SegmenterDocumentSplitter"]


@component
class SegmenterDocumentSplitter:
    """Splits as a cutter of this package does.

    The content of a document is ``chunk.embed_text``; its meta is that of the one it is from, ``source_id``
    and :func:`segmenter.integrations.metadata.metadata_of`.

    :param chunker: Any of :mod:`segmenter.chunkers` and :mod:`segmenter.rivals`; None: by topic, as ``model``
        and ``settings`` say, which a pipeline can be saved with.
    :param model: A checkpoint folder or hub name; None: the shipped model.
    :param settings: Those of ``ChunkConfig``.
    :raises ConfigError: If a setting is out of its range.
    """

    def __init__(
        self,
        chunker: Chunker | None = None,
        model: str | None = None,
        settings: dict[str, Any] | None = None,
    ) -> None:
        self._chunker = chunker
        self._given = chunker is not None
        self._model = model
        self._settings = dict(settings or {})
        try:
            self._config = ChunkConfig(**self._settings)
        except TypeError as error:
            raise ConfigError(f"got settings={settings!r}, expected those of ChunkConfig: {error}") from error

    def warm_up(self) -> None:
        """Load the model, once."""
        if self._chunker is None:
            from segmenter.segmenter import Segmenter

            self._chunker = TopicChunker(Segmenter.from_pretrained(self._model), self._config)

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        """Split documents, in batches that run across them.

        :param documents: With text; those without any are left out.
        :return: ``documents``: one a chunk, in order.
        """
        self.warm_up()
        assert self._chunker is not None
        texts = [values.Document(text=document.content or "", id=document.id) for document in documents]
        cut = zip(documents, self._chunker.chunk_many(texts), strict=True)
        return {
            "documents": [
                Document(
                    content=chunk.embed_text,
                    meta={**document.meta, "source_id": document.id, **metadata_of(chunk)},
                )
                for document, chunks in cut
                for chunk in inked(chunks)
            ]
        }

    def to_dict(self) -> dict[str, Any]:
        """Write the component, for a pipeline's file.

        :return: Plain values.
        :raises ConfigError: If it was made with a cutter, which has no plain form.
        """
        if self._given:
            raise ConfigError("got a chunker, which cannot be written; expected model and settings instead")
        found: dict[str, Any] = default_to_dict(self, model=self._model, settings=self._settings)
        return found

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "SegmenterDocumentSplitter":
        """Read a component that was written.

        :param data: What :meth:`to_dict` returned.
        :return: The component.
        """
        found: SegmenterDocumentSplitter = default_from_dict(cls, data)
        return found
