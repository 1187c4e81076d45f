"""Files that are there whole or not at all, whatever happens while they are written."""

import os
from pathlib import Path


def write_whole(path: Path, data: bytes) -> None:
    """Write a file under another name, make sure it is on the disk, then give it its own name.

    Until then, what stood under its name stays as it was. A process that is killed leaves at most a
    file in .partial behind, which nothing reads and the next write replaces.
    """
    partial = path.with_name(f"{path.name}.partial")
    try:
        with partial.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
        _sync_folder(path.parent)
    except OSError as error:
        # A write that fails does not say of which file.
        raise OSError(error.errno, error.strerror, str(path)) from None


def _sync_folder(folder: Path) -> None:
    """Make sure that a new name in a folder is on the disk, where folders can be synced."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
