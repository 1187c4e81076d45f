"""Atomic writes: a file is either complete or unchanged, even if the process is killed."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


def write_atomic(path: Path, data: bytes) -> None:
    """Write a temporary file, sync it to disk, and rename it.

    Until then, an existing file stays unchanged. A killed process leaves at most a file that ends
    in .partial, which is never read and which the next write replaces.
    """
    with atomic_file(path) as file:
        file.write(data)


@contextmanager
def atomic_file(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for writing like `write_atomic`; if writing fails, the old file stays."""
    partial = path.with_name(f"{path.name}.partial")
    if path.exists() and not path.is_file():  # renaming would replace a device or a pipe
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    try:
        with partial.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
        sync_folder(path.parent)
    except OSError as error:
        # The error of a failed write does not name the file.
        raise OSError(error.errno, error.strerror, str(path)) from None


def sync_folder(folder: Path) -> None:
    """Sync a folder to disk, so that new file names survive a crash; not possible on Windows."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
