"""The lines of a file, of a packed file, or of standard input."""

import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bert4so.errors import UserError, shorten
from bert4so.io.files import Told, open_text

MAX_LINE_CHARACTERS = 50_000_000
SKIPPED_CHARACTERS = 1 << 20
"""Of a line that is too long, so many are read at a time, to find its end."""

BEGINNING_CHARACTERS = 200


@dataclass(frozen=True)
class BadLine:
    """A line that cannot be used: where it stands, what is wrong, and its first characters."""

    where: str
    reason: str
    beginning: str


Line = str | BadLine


def read_lines(path: Path, told: Told = lambda count: None) -> Iterator[Line]:
    """Lines of UTF-8 text, one by one; `-` is standard input, .gz and .zst are unpacked.

    The first line of a file is line 1. Of a line that is too long, little is held in memory.
    """
    with reading(path), open_text(path, told) as file:
        number = 1
        while line := file.readline(MAX_LINE_CHARACTERS + 1):
            reason = _skip_rest(file, line) or _undecodable(line)
            if reason:
                yield BadLine(f"{path}:{number}", reason, line[:BEGINNING_CHARACTERS])
            else:
                yield line
            number += 1


def usable(line: Line) -> str:
    """The text of a line; raises `UserError` where it cannot be used."""
    if isinstance(line, BadLine):
        raise UserError(f"{line.where}: {line.reason}")
    return line


def beginning(line: Line) -> str:
    """The first characters of a line, usable or not."""
    return line.beginning if isinstance(line, BadLine) else line[:BEGINNING_CHARACTERS]


def _skip_rest(file: io.TextIOWrapper, line: str) -> str:
    """Go to the next line where this one is too long, and say so."""
    if len(line) <= MAX_LINE_CHARACTERS or line.endswith("\n"):
        return ""
    while line and not line.endswith("\n"):
        line = file.readline(SKIPPED_CHARACTERS)
    return f"a line of more than {MAX_LINE_CHARACTERS:,} characters"


def _undecodable(line: str) -> str:
    """Why a line is not UTF-8, where it is not."""
    try:
        line.encode()
    except UnicodeEncodeError:
        try:
            line.encode(errors="surrogateescape").decode()
        except UnicodeDecodeError as error:
            return f"not readable as text: {error}"
    return ""


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Names the file, where it cannot be read."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{path}: {shorten(error.strerror or str(error))}") from None
    except (UnicodeDecodeError, EOFError, zlib.error) as error:
        raise UserError(f"{path}: not readable as text: {error}") from None
    except Exception as error:
        if type(error).__name__ != "ZstdError":  # of a library that may not be there
            raise
        raise UserError(f"{path}: not readable as zst: {error}") from None
