"""The command ``export``."""

from pathlib import Path
from typing import Annotated

import typer

from segmenter.cli.common import Model, app, reported
from segmenter.cli.segmenting import Encoding, read_text
from segmenter.errors import ConfigError

__all__ = ["export"]


@app.command()
def export(
    files: Annotated[
        list[str],
        typer.Argument(
            metavar="FILE...", help="Texts of your kind to compare backends on; some pages will do."
        ),
    ],
    model: Model = None,
    output: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A folder for a copy of the model.", show_default="the model's own"),
    ] = None,
    encoding: Encoding = "utf-8",
) -> None:
    """Write ONNX files beside a model, and measure what runs it fastest on this machine.

    Every backend that is installed is run on the texts, next to torch in float32; what --backend auto takes
    from then on is the fastest one with the same labels.

    Example: segmenter export handbook.txt --output fast-model
    """
    with reported():
        from segmenter.backends import choose
        from segmenter.backends.measured import LEAST_EQUAL, LEAST_GAPS
        from segmenter.checkpoint import Checkpoint
        from segmenter.export import export
        from segmenter.sources import locate

        if output is None and (model is None or not Path(model).expanduser().is_dir()):
            raise ConfigError(
                "the shipped model, and one of the hub, stay as they are: name an --output folder"
            )
        texts = [read_text(file, encoding) for file in files]
        checkpoint = Checkpoint.load(locate(model))
        measured = export(checkpoint, texts, output)
        typer.echo(f"{measured[0].gaps} gaps")
        typer.echo("backend   dtype     labels equal  largest difference  times torch float32")
        for row in measured:
            need = f"  auto needs {LEAST_EQUAL:.1%} of {LEAST_GAPS} gaps or more"
            note = "" if row.is_as_right else need
            typer.echo(
                f"{row.backend:9} {row.dtype:9} {row.labels_equal:12.2%}  {row.largest_difference:18.5f}  "
                f"{row.speedup:19.2f}{note}"
            )
        folder = output or checkpoint.folder
        choice = choose("auto", "auto", "cpu", folder)
        typer.echo(f"wrote {folder}; auto is {choice.backend} in {choice.dtype}")
