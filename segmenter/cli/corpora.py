"""The command ``corpus``."""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from segmenter.cli.common import (
    Backend,
    BackendChoice,
    Device,
    Dtype,
    DtypeChoice,
    MarkupChoice,
    MarkupOption,
    Model,
    Threshold,
    app,
    reported,
)
from segmenter.cli.cutting import (
    ChunkerChoice,
    ChunkerOption,
    Cutting,
    Header,
    MaxTokens,
    MinTokens,
    Neighbours,
    Overlap,
    Size,
    StyleChoice,
    StyleOption,
    TargetTokens,
    Tokenizer,
)
from segmenter.cli.segmenting import Sentences

if TYPE_CHECKING:
    from segmenter.corpus import CorpusReport

__all__ = ["corpus"]


class ShardFormat(StrEnum):
    """What the shards are."""

    PARQUET = "parquet"
    JSONL = "jsonl"
    JSONL_ZST = "jsonl.zst"


@app.command()
def corpus(
    inputs: Annotated[
        list[str],
        typer.Argument(
            metavar="INPUT...",
            help="Text, Markdown, HTML, JSONL, CSV (.gz, .zst), parquet, arrow files, folders of them, "
            "addresses (s3://...), or data sets on the hub, owner/name:split.",
        ),
    ],
    output: Annotated[
        Path, typer.Option(metavar="DIR", help="A new folder, or that of the run to go on with.")
    ],
    text_column: Annotated[str, typer.Option(help="Column with the texts.")] = "text",
    id_column: Annotated[str, typer.Option(help="Column with the ids; without one: file and place.")] = "id",
    title_column: Annotated[
        str, typer.Option(help="Column with the titles, for {document} in --header; without one: the id.")
    ] = "title",
    markup: MarkupOption = MarkupChoice.AUTO,
    carry: Annotated[
        list[str] | None, typer.Option(metavar="COLUMN", help="Write it beside each chunk; may be repeated.")
    ] = None,
    split: Annotated[str, typer.Option(help="Of a data set on the hub.")] = "train",
    shard_size: Annotated[int, typer.Option(help="Documents of a shard, which a kill costs at most.")] = 1000,
    output_format: Annotated[
        ShardFormat, typer.Option("--format", help="What the shards are.")
    ] = ShardFormat.PARQUET,
    model: Model = None,
    threshold: Threshold = None,
    chunker: ChunkerOption = ChunkerChoice.TOPIC,
    max_tokens: MaxTokens = None,
    min_tokens: MinTokens = None,
    target_tokens: TargetTokens = None,
    overlap: Overlap = None,
    neighbours: Neighbours = 0,
    header: Header = None,
    size: Size = None,
    style: StyleOption = StyleChoice.WINDOW,
    tokenizer: Tokenizer = None,
    sentences: Sentences = None,
    backend: Backend = BackendChoice.AUTO,
    dtype: Dtype = DtypeChoice.AUTO,
    device: Device = "auto",
    batch_tokens: Annotated[
        int | None, typer.Option(help="Tokens of a batch.", show_default="what suits the device")
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Processes that read, tokenize and cut; 0: none beside the model's.",
            show_default="1 beside a model on a CPU, else up to 8",
        ),
    ] = None,
    max_megabytes: Annotated[float, typer.Option(help="A longer document is an error.")] = 50,
    replace_surrogates: Annotated[
        bool, typer.Option("--replace-surrogates", help="U+FFFD for lone surrogates, in place of an error.")
    ] = False,
    max_errors: Annotated[
        int | None, typer.Option(help="Stop when more documents are bad.", show_default="never")
    ] = None,
    restart: Annotated[bool, typer.Option("--restart", help="Begin anew, removing what was done.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress.")] = False,
) -> None:
    """Cut a whole corpus into chunks, a row each.

    DIR/data/ gets the shards, with the columns doc_id, chunk_index, start, end, text, token_count,
    probability, title, section, page, context (header, before, after: what goes to an embedder beside the
    text), chunk_id and fingerprint (of the settings). Bad documents go to DIR/errors.jsonl and do not stop
    the run. A run that was killed goes on when the same command is given again. Several GPUs: accelerate
    launch scripts/segment_corpus.py, same options.

    Example: segmenter corpus articles/ more.jsonl.zst --output chunks --max-tokens 256
    """
    cutting = Cutting(
        chunker=chunker,
        threshold=threshold,
        max_tokens=max_tokens,
        min_tokens=min_tokens,
        target_tokens=target_tokens,
        overlap=overlap,
        neighbours=neighbours,
        header=header,
        size=size,
        style=style,
        tokenizer=tokenizer,
    )
    with reported():
        from segmenter.corpus import CorpusConfig, device_of, run, this_rank

        rank = this_rank()
        config = CorpusConfig(
            text_column=text_column,
            id_column=id_column,
            title_column=title_column,
            markup=markup.value,
            carry=tuple(carry or ()),
            split=split,
            shard_size=shard_size,
            output_format=output_format.value,
            max_document_bytes=round(max_megabytes * 1e6),
            replace_surrogates=replace_surrogates,
            workers=workers,
            max_errors=max_errors,
        )
        segmenter = None
        if cutting.needs_model:
            # Not above, so that cutters that need no model do not wait for torch.
            from segmenter.segmenter import Segmenter

            segmenter = Segmenter.from_pretrained(
                model,
                threshold=threshold,
                sentences=sentences.value if sentences else None,
                backend=backend.value,
                dtype=dtype.value,
                device=device_of(rank, device),
                batch_tokens=batch_tokens,
            )
        show_progress = not quiet and rank.number == 0
        report = run(
            inputs, output, cutting.build(segmenter), config, restart=restart, show_progress=show_progress
        )
        _tell(report, output)


def _tell(report: "CorpusReport", output: Path) -> None:
    if not report.is_complete:
        typer.echo(f"done here; other processes still work in {output}")
        return
    rates = report.throughput()
    waited = f", {rates['share_waited']:.0%} of the time the model waited" if report.seconds_model else ""
    typer.echo(
        f"{report.documents:,} documents, {report.chunks:,} chunks, {report.bad_documents:,} bad documents; "
        f"{rates['documents_a_second']:,.1f} documents/s a process{waited}"
    )
    if report.bad_documents:
        typer.echo(f"{output / 'errors.jsonl'} says what is wrong with each")
    typer.echo(f"wrote {output}")
