"""Sphinx extension: fill in what pages take from the code and from files of the repository.

    <!-- commands -->          the reference of the command line
    <!-- public names -->      the reference of what `bert4so` exports
    <!-- file PATH -->         a file of the repository

It also adapts links to files that are not pages of the site: see `site_link`.
"""

import inspect
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from sphinx.application import Sphinx
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

import bert4so
from bert4so.cli import app as command_line

ROOT = Path(__file__).parents[1]
Command = TyperCommand | TyperGroup
MARK = re.compile(r"^<!-- (commands|public names|file) ?(\S*) -->$", re.MULTILINE)
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)")
PAGES = {
    "README.md": "index.md",
    "ARCHITECTURE.md": "architecture.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "src/bert4so/pretrained/README.md": "bundled-model.md",
}
"""Files of the repository that are pages of the site."""


def commands(_: str) -> str:
    """The reference of every command, in Markdown, as `--help` has it."""
    return "\n\n".join(_command(get_command(command_line), "bert4so"))


def _command(command: Command, path: str) -> Iterator[str]:
    context = command.context_class(command, info_name=path)  # of the click that typer uses
    text = inspect.cleandoc(command.help or "").split("\n\n")
    examples = [part for part in text if part.startswith("bert4so ")]
    yield f"{'###' if path.count(' ') > 1 else '##'} {path}"
    yield from (_escaped(part) for part in text if part not in examples)
    yield f"```text\n{command.get_usage(context).removeprefix('Usage: ')}\n```"
    yield from (f"```bash\n{example}\n```" for example in examples)
    yield from _parameters(command, context)
    if isinstance(command, TyperGroup):
        for name, inner in command.commands.items():
            yield from _command(inner, f"{path} {name}")


def _parameters(command: Command, context: Any) -> Iterator[str]:
    records = [parameter.get_help_record(context) for parameter in command.get_params(context)]
    for name, text in (record for record in records if record):
        if "--help" not in name and "completion" not in name:
            yield f"`{name}`\n: {_escaped(text) or name}"


def _escaped(text: str) -> str:
    return re.sub(r"([<$*])", r"\\\1", text)


def public_names(_: str) -> str:
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


def file(path: str) -> str:
    """A file of the repository, its links as from a page of docs/."""
    text = (ROOT / path).read_text(encoding="utf-8")
    folder = PurePosixPath(path).parent
    return _relinked(text, folder, lambda target: _relative(target, PurePosixPath("docs")))


FILLED: dict[str, Callable[[str], str]] = {
    "commands": commands,
    "public names": public_names,
    "file": file,
}


def site_link(target: PurePosixPath, page: PurePosixPath, repository: str) -> str:
    """Where a link goes on the site; "" where it goes nowhere.

    target:     a path from the top of the repository.
    page:       the folder of the page, from the top of the repository.
    repository: the address under which files of the repository are shown, if there is one.
    """
    page_of_target = PAGES.get(str(target))
    if page_of_target is not None:
        return _relative(PurePosixPath("docs", page_of_target), page)
    if target.parts[0] == "docs":
        return _relative(target, page)
    return f"{repository}{target}" if repository else ""


def _relative(target: PurePosixPath, folder: PurePosixPath) -> str:
    return Path(os.path.relpath(target, folder)).as_posix()


def _relinked(text: str, folder: PurePosixPath, address: Callable[[PurePosixPath], str]) -> str:
    """A text of a folder with another address for each link to a file; "" leaves its label."""

    def link(match: re.Match[str]) -> str:
        image, label, target, anchor = match.groups(default="")
        found = address(PurePosixPath(Path(os.path.normpath(folder / target)).as_posix()))
        return f"{image}[{label}]({found}{anchor})" if found else label

    return LINK.sub(link, text)


def fill(app: Sphinx, name: str, source: list[str]) -> None:
    """Fill in a page before it is read."""
    text = MARK.sub(lambda match: FILLED[match[1]](match[2]), source[0])
    page, repository = PurePosixPath("docs", name).parent, app.config.REPOSITORY
    source[0] = _relinked(text, page, lambda target: site_link(target, page, repository))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the changes."""
    app.add_config_value("REPOSITORY", "", "env")
    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
