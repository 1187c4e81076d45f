"""Sphinx extension: the reference of what `bert4so` exports, made from its docstrings.

A docstring names parameters and attributes in aligned lines, with continuation lines indented:

    order:      the order in which to read the sentences.
    confidence: the system's probability of that order.
"""

import inspect
import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from types import ModuleType
from typing import Any, Protocol

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.pycode import ModuleAnalyzer

import bert4so

ITEM = re.compile(r"^(\w+(?:, \w+)*): +(\S.*)$")
PUBLIC = re.compile(rf"`({'|'.join(bert4so.__all__)})((?:\.\w+)?)`")
ARRAY = re.compile(r"(?:~?numpy\.)?ndarray\[tuple\[.*?\], (?:~?numpy\.)?dtype\[(.*?)\]\]")


def public_names(names: Iterable[str]) -> str:
    """The directives that document these names of `bert4so`."""
    parts = [part for name in names for part in _directives(name)]
    return "\n\n".join(f"```{{eval-rst}}\n{part}\n```" for part in parts)


def _directives(name: str) -> Iterator[str]:
    value = getattr(bert4so, name)
    if inspect.ismodule(value):
        yield from _module(name, value)
    elif inspect.isclass(value):
        yield f".. autoclass:: bert4so.{name}\n   :members:"
    elif inspect.isroutine(value):
        yield f".. autofunction:: bert4so.{name}"
    else:
        module = f"bert4so.{bert4so._MODULES[name]}"
        lines = [f".. py:data:: bert4so.{name}", f"   :value: {value}", "", *_comment(module, name)]
        yield "\n".join(lines)


def _module(name: str, module: ModuleType) -> Iterator[str]:
    """A module under its public name, with everything that is defined in it."""
    yield f".. py:module:: bert4so.{name}"
    yield "\n".join(linked(inspect.getdoc(module) or "").splitlines())
    for member, value in vars(module).items():
        if member.startswith("_"):
            continue
        if inspect.isclass(value) and value.__module__ == module.__name__:
            yield f".. autoclass:: bert4so.{name}.{member}\n   :members:"
        elif inspect.isfunction(value) and value.__module__ == module.__name__:
            yield f".. autofunction:: bert4so.{name}.{member}"
        elif member.isupper():
            comment = "\n".join(_comment(module.__name__, member))
            yield f".. py:data:: {member}\n\n{comment}"
    yield ".. py:currentmodule:: None"


def _comment(module: str, name: str) -> list[str]:
    """The docstring of a constant, indented."""
    lines = ModuleAnalyzer.for_module(module).find_attr_docs().get(("", name), [])
    return [f"   {linked(line)}" for line in lines]


def linked(text: str) -> str:
    """A docstring with links to the public names in it."""
    return PUBLIC.sub(r":py:obj:`~bert4so.\1\2`", text)


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
    lines[:] = [linked(line) for line in list_items(lines)]


def sign(
    app: Sphinx,
    kind: str,
    name: str,
    obj: Any,
    options: Any,
    args: str | None,
    returned: str | None,
) -> tuple[str | None, str | None]:
    """Short names of arrays; no arguments for a protocol, of which there are no instances."""
    if Protocol in getattr(obj, "__bases__", ()):
        return "", ""
    return args and ARRAY.sub(r"NDArray[\1]", args), returned


def dashes(app: Sphinx, page: nodes.document, name: str) -> None:
    """Put a dash between a parameter and its description, where Sphinx has two hyphens."""
    for text in list(page.findall(nodes.Text)):
        if text == " -- ":
            text.parent.replace(text, nodes.Text(" – "))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the changes."""
    app.connect("autodoc-process-docstring", process)
    app.connect("autodoc-process-signature", sign)
    app.connect("doctree-resolved", dashes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
