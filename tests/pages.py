"""README and the written pages of the documentation, and the code in them."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
README = ROOT / "README.md"
PAGES = [README, *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("systems/*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^((?:cat \S+ \| )?bert4so .+?)(?: +#.*)?$", re.MULTILINE)
CONSOLE = re.compile(r"^\$ (.*)\n((?:[^$].*\n)*)", re.MULTILINE)


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> list[str]:
    """The code blocks of a page in a language."""
    found = BLOCK.findall(page.read_text(encoding="utf-8"))
    return [text for kind, text in found if kind == language]


def commands(page: Path) -> list[str]:
    """The bert4so commands of a page, with what is piped into them."""
    return [command for block in blocks(page, "bash") for command in COMMAND.findall(block)]


def sessions(page: Path) -> list[tuple[str, str]]:
    """The commands of a page that are shown with their output."""
    return [session for block in blocks(page, "console") for session in CONSOLE.findall(block)]
