"""Make stdin, stdout and stderr safe to use when they are closed, full or a broken pipe."""

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import NoReturn

from bert4so.errors import UserError


@contextmanager
def standard_streams() -> Iterator[None]:
    """Check that results can be printed and, at the end, that they were."""
    # Otherwise the next file that is opened would get the descriptor of a closed stream.
    while (descriptor := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(descriptor)
    # Python sets a closed stream to None.
    sys.stderr = sys.stderr or io.StringIO()
    sys.stdin = sys.stdin or io.TextIOWrapper(io.BytesIO())
    if sys.stdout is None:
        raise UserError("standard output is closed: redirect it to a file or to /dev/null")
    if isinstance(sys.stdout, io.TextIOWrapper):
        # JSON can contain half of a surrogate pair: write it as the escape that was read.
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        yield
    finally:
        _flush_results()


def fail(message: str, code: int) -> NoReturn:
    """Print an error in one line and exit."""
    with suppress(OSError):
        sys.stderr.write(f"bert4so: {message}\n")
    sys.exit(code)


def _flush_results() -> None:
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # the reader has stopped, as `head` does
        sys.stdout = io.StringIO()
        sys.exit(1)
    except OSError as error:
        # Otherwise Python would try again at exit.
        sys.stdout = io.StringIO()
        raise OSError(error.errno, error.strerror, "standard output") from None
