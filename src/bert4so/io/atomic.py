"""Files that are there whole or not at all, whatever happens while they are written."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


def write_whole(path: Path, data: bytes) -> None:
    """Write a file under another name, make sure it is on the disk, then give it its own name.

    Until then, what stood under its name stays as it was. A process that is killed leaves at most a
    file in .partial behind, which nothing reads and the next write replaces.
    """
    with whole_file(path) as file:
        file.write(data)


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to be written bit by bit, as `write_whole` does; where that fails, it is not there."""
    partial = path.with_name(f"{path.name}.partial")
    if path.exists() and not path.is_file():  # it would replace a device or a pipe
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    try:
        with partial.open("wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
        sync_folder(path.parent)
    except OSError as error:
        # A write that fails does not say of which file.
        raise OSError(error.errno, error.strerror, str(path)) from None


def sync_folder(folder: Path) -> None:
    """Make sure that a new name in a folder is on the disk, where folders can be synced."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
