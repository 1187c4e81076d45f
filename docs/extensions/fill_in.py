"""Sphinx extension: fill in what pages take from the code and from files of the repository.

    <!-- commands -->          the reference of the command line
    <!-- public NAME NAME -->  the reference of some of the names that `bert4so` exports
    <!-- file PATH -->         a file of the repository

It also adapts links to files that are not pages of the site: see `site_link`.
"""

import re
from pathlib import Path, PurePosixPath

from command_reference import commands
from links import relative, relinked, site_link
from python_reference import public_names
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
MARK = re.compile(r"^<!-- (?:commands|public ([\w ]+)|file (\S+)) -->$", re.MULTILINE)


def part(match: re.Match[str]) -> str:
    """The Markdown in place of a mark."""
    names, path = match.groups()
    if path:
        return file(path)
    return public_names(names.split()) if names else commands()


def file(path: str) -> str:
    """A file of the repository, its links as from a page of docs/."""
    text = (ROOT / path).read_text(encoding="utf-8")
    folder = PurePosixPath(path).parent
    return relinked(text, folder, lambda target: relative(target, PurePosixPath("docs")))


def fill(app: Sphinx, name: str, source: list[str]) -> None:
    """Fill in a page before it is read."""
    page, repository = PurePosixPath("docs", name).parent, app.config.REPOSITORY
    text = MARK.sub(part, source[0])
    source[0] = relinked(text, page, lambda target: site_link(target, page, repository))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the changes."""
    app.add_config_value("REPOSITORY", "", "env")
    app.connect("source-read", fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
