"""The lines of a file, of a packed file, or of standard input."""

import gzip
import io
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from bert4so.errors import UserError

STDIN = Path("-")


def read_lines(path: Path) -> Iterator[str]:
    """Lines of UTF-8 text, one by one; `-` is standard input, a name in .gz is unpacked."""
    try:
        with _open(path) as lines:
            yield from lines
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from None
    except (UnicodeDecodeError, EOFError, zlib.error) as error:
        raise UserError(f"{path}: not readable as text: {error}") from None


def _open(path: Path) -> IO[str]:
    # utf-8-sig: some editors put a mark at the beginning, which is no part of the first sentence.
    if path == STDIN:
        return io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8-sig")
    if path.suffix == ".gz":
        return gzip.open(path, "rt", encoding="utf-8-sig")
    return path.open(encoding="utf-8-sig")
