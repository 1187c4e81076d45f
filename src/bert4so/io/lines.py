"""The lines of a file, of a packed file, or of standard input."""

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bert4so.errors import UserError
from bert4so.io.files import Told, open_text


def read_lines(path: Path, told: Told = lambda count: None) -> Iterator[str]:
    """Lines of UTF-8 text, one by one; `-` is standard input, .gz and .zst are unpacked."""
    with reading(path), open_text(path, told) as lines:
        yield from lines


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Names the file, where it cannot be read."""
    try:
        yield
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from None
    except (UnicodeDecodeError, EOFError, zlib.error) as error:
        raise UserError(f"{path}: not readable as text: {error}") from None
    except Exception as error:
        if type(error).__name__ != "ZstdError":  # of a library that may not be there
            raise
        raise UserError(f"{path}: not readable as zst: {error}") from None
