"""A node parser for LlamaIndex: ``pip install 'cross-segmenter[llama-index]'``.

.. code-block:: python

    chunker = TopicChunker(Segmenter.from_pretrained(), ChunkConfig(max_tokens=256))
    parser = SegmenterNodeParser(chunker=chunker)
    nodes = parser.get_nodes_from_documents(documents)
"""

from collections.abc import Sequence
from typing import Any

from segmenter import document as values
from segmenter.extras import require
from segmenter.integrations.metadata import inked, metadata_of

require("llama_index.core")

from llama_index.core.bridge.pydantic import Field  # noqa: E402
from llama_index.core.node_parser import NodeParser  # noqa: E402
from llama_index.core.node_parser.node_utils import build_nodes_from_splits  # noqa: E402
from llama_index.core.schema import BaseNode, Document, TextNode  # noqa: E402

__all__ = ["SegmenterNodeParser"]


class SegmenterNodeParser(NodeParser):
    """Splits as a cutter of this package does.

    The text of a node is ``chunk.embed_text``, its id that of the chunk, its metadata those of
    :func:`segmenter.integrations.metadata.metadata_of`, which neither embedder nor language model is shown.

    :ivar chunker: Any of :mod:`segmenter.chunkers` and :mod:`segmenter.rivals`.
    """

    chunker: Any = Field(exclude=True)

    @classmethod
    def class_name(cls) -> str:
        """Name it in LlamaIndex's files.

        :return: The name.
        """
        return "SegmenterNodeParser"

    def _parse_nodes(
        self, nodes: Sequence[BaseNode], show_progress: bool = False, **kwargs: Any
    ) -> list[BaseNode]:
        texts = [values.Document(text=node.get_content(), id=node.node_id) for node in nodes]
        found: list[BaseNode] = []
        cut = self.chunker.chunk_many(texts, show_progress=show_progress)
        for node, chunks in zip(nodes, cut, strict=True):
            kept = inked(chunks)
            parts = build_nodes_from_splits([chunk.embed_text for chunk in kept], node)
            for part, chunk in zip(parts, kept, strict=True):
                told = metadata_of(chunk)
                part.id_ = chunk.id
                part.metadata = {**part.metadata, **told}
                part.excluded_embed_metadata_keys = [*part.excluded_embed_metadata_keys, *told]
                part.excluded_llm_metadata_keys = [*part.excluded_llm_metadata_keys, *told]
                found.append(part)
        return found

    def _postprocess_parsed_nodes(
        self, nodes: list[BaseNode], parent_doc_map: dict[str, Document]
    ) -> list[BaseNode]:
        nodes = super()._postprocess_parsed_nodes(nodes, parent_doc_map)
        for node in nodes:
            # LlamaIndex searches for the text, which repeated sentences lead astray.
            if isinstance(node, TextNode):
                node.start_char_idx = node.metadata["start_index"]
                node.end_char_idx = node.metadata["end_index"]
        return nodes
