"""Read lines of a plain or compressed file or of standard input."""

import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bert4so.errors import UnreadableFileError, UserError, shorten
from bert4so.io.files import OnBytesRead, open_text

MAX_LINE_CHARACTERS = 50_000_000
SKIP_BLOCK_CHARACTERS = 1 << 20
"""Block size when skipping the rest of a line that is too long."""

FIRST_CHARACTERS = 200
"""Number of characters that are kept of an invalid line."""


@dataclass(frozen=True)
class BadLine:
    """An invalid line: its location, the reason, and its first characters."""

    where: str
    reason: str
    first_characters: str


Line = str | BadLine


def read_lines(path: Path, on_bytes_read: OnBytesRead = lambda count: None) -> Iterator[Line]:
    """Yield the lines of UTF-8 text; `-` is standard input, .gz and .zst are decompressed.

    Lines are numbered from 1. A line that is too long is not held in memory.
    """
    with reading(path), open_text(path, on_bytes_read) as file:
        number = 1
        while line := file.readline(MAX_LINE_CHARACTERS + 1):
            reason = _skip_rest(file, line) or _undecodable(line)
            if reason:
                yield BadLine(f"{path}:{number}", reason, line[:FIRST_CHARACTERS])
            else:
                yield line
            number += 1


def text_of(line: Line) -> str:
    """The text of a line; raises `UserError` if the line is invalid."""
    if isinstance(line, BadLine):
        raise UserError(f"{line.where}: {line.reason}")
    return line


def first_characters(line: Line) -> str:
    """The first characters of a line, valid or not."""
    return line.first_characters if isinstance(line, BadLine) else line[:FIRST_CHARACTERS]


def _skip_rest(file: io.TextIOWrapper, line: str) -> str:
    """If a line is too long, skip to the next line and return the reason, else an empty string."""
    if len(line) <= MAX_LINE_CHARACTERS or line.endswith("\n"):
        return ""
    while line and not line.endswith("\n"):
        line = file.readline(SKIP_BLOCK_CHARACTERS)
    return f"a line with more than {MAX_LINE_CHARACTERS:,} characters"


def _undecodable(line: str) -> str:
    """The reason why a line is not UTF-8; an empty string if it is."""
    try:
        line.encode()
    except UnicodeEncodeError:
        try:
            line.encode(errors="surrogateescape").decode()
        except UnicodeDecodeError as error:
            return f"not UTF-8 text: {error}"
    return ""


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn errors of reading into an `UnreadableFileError` that names the file."""
    try:
        yield
    except OSError as error:
        raise UnreadableFileError(f"{path}: {shorten(error.strerror or str(error))}") from None
    except (UnicodeDecodeError, EOFError, zlib.error) as error:
        raise UnreadableFileError(f"{path}: damaged, or not UTF-8 text: {error}") from None
    except Exception as error:
        if type(error).__name__ != "ZstdError":  # the class of an optional library
            raise
        raise UnreadableFileError(f"{path}: damaged, or not a .zst file: {error}") from None
