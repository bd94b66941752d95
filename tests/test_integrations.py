"""The real packages, fed with pages of which one is blank and sentences that repeat."""

from typing import Any

import pytest

from segmenter import ChunkConfig, ConfigError, Segmenter
from segmenter.chunkers import Chunker, FixedSizeChunker, SentenceChunker, TopicChunker

REPEATED = "It rained. " * 9 + "Fog is common."
PAGES = [REPEATED, " \n\f", "The harbour is old. Pilots know it. Ships come.", ""]
CHUNKERS = [FixedSizeChunker(4, 1), SentenceChunker(4), SentenceChunker(4, ChunkConfig(neighbours=1))]


@pytest.fixture(params=[0, 1, 2, None])
def chunker(request: pytest.FixtureRequest, tiny: Segmenter) -> Chunker:
    """A cutter of each kind."""
    return TopicChunker(tiny) if request.param is None else CHUNKERS[request.param]


def assert_right(found: list[tuple[str, dict[str, Any], int]], chunker: Chunker) -> None:
    """Contents, metadata and page numbers of what a framework made of the pages."""
    expected = [
        (chunk, page) for page, text in enumerate(PAGES) for chunk in chunker.chunk(text) if text.strip()
    ]
    assert len(found) == len(expected) > 2
    for (content, metadata, page), (chunk, right) in zip(found, expected, strict=True):
        assert (content, page) == (chunk.embed_text, right)
        assert PAGES[page][metadata["start_index"] : metadata["end_index"]] == chunk.text
        skipped = metadata.get("context_header", 0) + metadata.get("context_before", 0)
        assert content[skipped:].startswith(chunk.text)
        assert metadata["fingerprint"] == chunk.fingerprint
        assert metadata["page_name"] == f"p{page}"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_langchain(chunker: Chunker) -> None:
    from langchain_core.documents import Document

    from segmenter.integrations.langchain import SegmenterTextSplitter

    splitter = SegmenterTextSplitter(chunker)
    pages = [
        Document(page_content=text, metadata={"number": n, "page_name": f"p{n}"})
        for n, text in enumerate(PAGES)
    ]
    found = splitter.split_documents(pages)
    assert_right([(one.page_content, one.metadata, one.metadata["number"]) for one in found], chunker)
    assert splitter.split_text(REPEATED) == [chunk.embed_text for chunk in chunker.chunk(REPEATED)]
    assert splitter.split_text(" \n") == []
    assert pages[0].metadata == {"number": 0, "page_name": "p0"}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_llama_index(chunker: Chunker) -> None:
    from llama_index.core.schema import Document, MetadataMode

    from segmenter.integrations.llama_index import SegmenterNodeParser

    parser = SegmenterNodeParser(chunker=chunker)
    documents = [
        Document(text=text, id_=f"d{n}", metadata={"number": n, "page_name": f"p{n}"})
        for n, text in enumerate(PAGES)
    ]
    nodes = parser.get_nodes_from_documents(documents)
    assert_right(
        [(node.get_content(MetadataMode.NONE), node.metadata, node.metadata["number"]) for node in nodes],
        chunker,
    )
    for node in nodes:
        assert (node.start_char_idx, node.end_char_idx) == (
            node.metadata["start_index"],
            node.metadata["end_index"],
        )
        assert node.ref_doc_id == f"d{node.metadata['number']}"
        assert "start_index" not in node.get_content(MetadataMode.EMBED)
    assert [node.node_id for node in nodes] == [node.node_id for node in parser(documents)]
    assert nodes[0].next_node is not None


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_haystack(chunker: Chunker, tiny_folder) -> None:  # type: ignore[no-untyped-def]
    from haystack import Document, Pipeline

    from segmenter.integrations.haystack import SegmenterDocumentSplitter

    pages = [Document(content=text, meta={"number": n, "page_name": f"p{n}"}) for n, text in enumerate(PAGES)]
    pipeline = Pipeline()
    pipeline.add_component("splitter", SegmenterDocumentSplitter(chunker))
    found = pipeline.run({"splitter": {"documents": [*pages, Document(content=None)]}})["splitter"][
        "documents"
    ]
    assert_right([(one.content, one.meta, one.meta["number"]) for one in found], chunker)
    with pytest.raises(ConfigError, match="expected model and settings"):
        SegmenterDocumentSplitter(chunker).to_dict()
    with pytest.raises(ConfigError, match="expected those of ChunkConfig"):
        SegmenterDocumentSplitter(settings={"size": 3})


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_haystack_pipeline_can_be_saved(tiny_folder) -> None:  # type: ignore[no-untyped-def]
    from haystack import Document, Pipeline

    from segmenter.integrations.haystack import SegmenterDocumentSplitter

    pipeline = Pipeline()
    splitter = SegmenterDocumentSplitter(model=str(tiny_folder), settings={"max_tokens": 12})
    pipeline.add_component("splitter", splitter)
    again = Pipeline.loads(pipeline.dumps(), allowed_modules=["segmenter.integrations.haystack"])
    documents = [Document(content=REPEATED)]
    first, second = (
        p.run({"splitter": {"documents": documents}})["splitter"]["documents"] for p in (pipeline, again)
    )
    assert [one.content for one in first] == [one.content for one in second]
    assert len(first) > 2
