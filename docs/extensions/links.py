"""Links between files of the repository, as they are on the site."""

import os
import re
from collections.abc import Callable
from pathlib import Path, PurePosixPath

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


def site_link(target: PurePosixPath, page: PurePosixPath, repository: str) -> str:
    """Where a link goes on the site; "" where it goes nowhere.

    target:     a path from the top of the repository.
    page:       the folder of the page, from the top of the repository.
    repository: the address under which files of the repository are shown, if there is one.
    """
    page_of_target = PAGES.get(str(target))
    if page_of_target is not None:
        return relative(PurePosixPath("docs", page_of_target), page)
    if target.parts[0] == "docs":
        return relative(target, page)
    return f"{repository}{target}" if repository else ""


def relative(target: PurePosixPath, folder: PurePosixPath) -> str:
    """The link from a folder to a file."""
    return Path(os.path.relpath(target, folder)).as_posix()


def relinked(text: str, folder: PurePosixPath, address: Callable[[PurePosixPath], str]) -> str:
    """A text of a folder with another address for each link to a file; "" leaves its label."""

    def link(match: re.Match[str]) -> str:
        image, label, target, anchor = match.groups(default="")
        found = address(PurePosixPath(Path(os.path.normpath(folder / target)).as_posix()))
        return f"{image}[{label}]({found}{anchor})" if found else label

    return LINK.sub(link, text)
