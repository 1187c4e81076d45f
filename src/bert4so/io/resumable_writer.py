"""Answers on disk that grow by whole pieces, so that work that was stopped can go on.

Whatever is left of a piece by a process that was killed is cut off when the work goes on: what
stands before it is whole.
"""

import os
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from bert4so.errors import UserError
from bert4so.io.jsonl import Record

CHUNK = 1024
"""Documents in a piece, where it is more than a line."""

PATIENCE = 60.0
"""Seconds after which a piece is written, though it has fewer."""


class Answers(ABC):
    """Records that are added one by one, and written some at a time.

    done: how many stood there already.
    last: the last of those.
    """

    done = 0
    last: Record | None = None

    def __init__(self, path: Path, chunk: int) -> None:
        """path: a file or a folder that is there; no other process may write it meanwhile."""
        self.path = path
        self.chunk = chunk
        self.waiting: list[Record] = []
        self.since = 0.0
        self.held = _hold(path)
        try:
            self.look()
        except BaseException:
            os.close(self.held)
            raise

    def add(self, record: Record) -> None:
        """Write a record, now or with those that follow it."""
        self.since = self.since if self.waiting else time.monotonic()
        self.waiting.append(record)
        if len(self.waiting) >= self.chunk or time.monotonic() - self.since > PATIENCE:
            self.flush()

    def flush(self) -> None:
        """Write what waits. What could not be written is not tried again: half may be there."""
        records, self.waiting = self.waiting, []
        if records:
            self.write(records)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *error: object) -> None:
        # Whatever it was that ended the work: what was found is not lost.
        try:
            self.flush()
        finally:
            self.close()

    def close(self) -> None:
        """Let go of what is open."""
        os.close(self.held)

    @abstractmethod
    def look(self) -> None:
        """Find what stands there already."""

    @abstractmethod
    def write(self, records: Sequence[Record]) -> None:
        """Write some records as one piece."""


def _hold(path: Path) -> int:
    """Keep other processes from writing a file or a folder until what is returned is closed."""
    if os.name == "nt":  # there is no such lock, and folders cannot be opened
        return os.open(os.devnull, os.O_RDONLY)
    import fcntl

    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise UserError(f"{path}: another process is writing it") from None
    except OSError:
        pass  # of a file system without locks
    return descriptor
