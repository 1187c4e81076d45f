"""Locks on files. The kernel releases them when a process ends, `kill -9` included."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bert4so.errors import UserError


def try_lock(descriptor: int) -> bool:
    """Take an exclusive lock on an open file; False if another process holds it.

    Also True where the operating system or the file system has no locks. Closing the descriptor
    releases the lock.
    """
    try:
        import fcntl
    except ModuleNotFoundError:  # Windows
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return True
    return True


@contextmanager
def locked_file(path: Path, refusal: str) -> Iterator[None]:
    """Hold a lock on a file made for this purpose, which is removed at the end.

    refusal: the message of the `UserError` if another process holds the lock.
    """
    descriptor = _open_locked(path, refusal)
    try:
        yield
    finally:
        # Removed while the lock is held; `_open_locked` notices if it opened the removed file.
        with suppress(OSError):
            path.unlink()
        os.close(descriptor)


def _open_locked(path: Path, refusal: str) -> int:
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        if not try_lock(descriptor):
            os.close(descriptor)
            raise UserError(refusal)
        if _is_open_file(path, descriptor):
            return descriptor
        os.close(descriptor)


def _is_open_file(path: Path, descriptor: int) -> bool:
    """Whether the path still names the open file: its last holder may have removed it."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False
