"""Sphinx extension: the reference of what `bert4so` exports, made from its docstrings.

A docstring names parameters and attributes in aligned lines, with continuation lines indented:

    order:      the order in which to read the sentences.
    confidence: the system's probability of that order.
"""

import inspect
import re
from itertools import pairwise
from typing import Any, Protocol

from sphinx.application import Sphinx

import bert4so

ITEM = re.compile(r"^(\w+(?:, \w+)*): +(\S.*)$")


def public_names() -> str:
    """The directives that document everything in `bert4so.__all__`."""
    parts = [_directive(name) for name in bert4so.__all__ if not name.startswith("__")]
    return "\n\n".join(f"```{{eval-rst}}\n{part}\n```" for part in parts)


def _directive(name: str) -> str:
    found = getattr(bert4so, name)
    if inspect.ismodule(found):
        return f".. automodule:: {found.__name__}\n   :members:"
    if inspect.isclass(found):
        return f".. autoclass:: bert4so.{name}\n   :members:"
    if inspect.isroutine(found):
        return f".. autofunction:: bert4so.{name}"
    return f".. py:data:: bert4so.{name}\n   :value: {found}"


def list_items(lines: list[str]) -> list[str]:
    """The lines of a docstring with each `name: description` as an item of a list."""
    shown: list[str] = []
    in_list = False
    for before, line in pairwise(["", *lines]):
        item = ITEM.match(line) if in_list or not before.strip() else None
        if item:
            shown += [] if in_list else [""]
            shown.append(f"- **{item[1]}**: {item[2]}")
        elif in_list and line.startswith(" "):
            shown.append(f"  {line.strip()}")
        else:
            shown.append(line)
        in_list = bool(item) or (in_list and line.startswith(" "))
    return shown


def process(app: Sphinx, kind: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Change a docstring before it is read as reStructuredText."""
    lines[:] = list_items(lines)


def sign(app: Sphinx, kind: str, name: str, obj: Any, *_: Any) -> tuple[str, str] | None:
    """No arguments for a protocol, of which there are no instances."""
    return ("", "") if Protocol in getattr(obj, "__bases__", ()) else None


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the changes."""
    app.connect("autodoc-process-docstring", process)
    app.connect("autodoc-process-signature", sign)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
