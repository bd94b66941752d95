"""An extension of griffe: what docstrings say in Sphinx's way becomes links that mkdocstrings knows."""

import re
from typing import Any

import griffe

__all__ = ["SphinxRoles"]

_ROLE = re.compile(r":(?:class|meth|func|mod|attr|data):`~?([\w.]+)`")
_YIELD = re.compile(r"^:yield:", re.MULTILINE)
_CODE = re.compile(r"^\.\. code-block:: (\w+)\n\n((?:(?: {4}.*)?\n)+(?: {4}.*)?)", re.MULTILINE)


class SphinxRoles(griffe.Extension):
    """Rewrites every docstring before it is parsed."""

    def on_object(self, *, obj: griffe.Object, **others: Any) -> None:
        """Rewrite the docstring of an object.

        :param obj: The object.
        :param **others: What griffe says of it.
        """
        if obj.docstring is None:
            return
        text = _CODE.sub(_fenced, obj.docstring.value + "\n").rstrip()
        text = _YIELD.sub(":return:", text).replace(":param *", ":param ")
        obj.docstring.value = _ROLE.sub(lambda match: _link(match[1], obj), text)


def _fenced(match: re.Match[str]) -> str:
    return f"```{match[1]}\n{re.sub(r'^ {4}', '', match[2], flags=re.MULTILINE).strip()}\n```\n"


def _link(name: str, obj: griffe.Object) -> str:
    """A link to a name, which may be of the same class or module."""
    if name.startswith("segmenter."):
        return f"[`{name}`][{name}]"
    first, _, rest = name.partition(".")
    for scope in (obj, obj.parent, obj.module):
        found = scope.members.get(first) if scope is not None else None
        if found is not None:
            path = found.target_path if isinstance(found, griffe.Alias) else found.path
            return f"[`{name}`][{f'{path}.{rest}' if rest else path}]"
    return f"`{name}`"
