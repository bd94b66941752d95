"""A hook of mkdocs: puts the help of every command where a page says ``<!-- commands -->``."""

from typing import Any

import typer

from segmenter.cli import app

__all__ = ["on_page_markdown"]

_PLACE = "<!-- commands -->"


def on_page_markdown(markdown: str, **others: Any) -> str:
    """Fill a page in.

    :param markdown: The page.
    :param **others: What mkdocs says of it.
    :return: The page with the help of all commands.
    """
    return markdown.replace(_PLACE, "\n\n".join(_helps())) if _PLACE in markdown else markdown


def _helps() -> list[str]:
    group: Any = typer.main.get_command(app)
    found = []
    for name, command in sorted(group.commands.items()):
        with typer.Context(command, info_name=f"segmenter {name}", max_content_width=96) as context:
            found.append(f"## segmenter {name}\n\n```text\n{command.get_help(context).strip()}\n```")
    return found
