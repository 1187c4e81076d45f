"""What is taken away from a process before it begins."""

import os
import resource


def limit_file_size(size: int) -> None:
    """No file may grow larger: as on a full disk, the write fails."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def close(descriptor: int) -> None:
    os.close(descriptor)


def fill(descriptor: int) -> None:
    """Let stdout or stderr be a full disk."""
    os.dup2(os.open("/dev/full", os.O_WRONLY), descriptor)
