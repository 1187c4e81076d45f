"""Read from a pipe in batches that end when the pipe pauses."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, Queue
from threading import Event, Thread
from time import monotonic
from typing import Generic, TypeVar

T = TypeVar("T")

MAX_ITEMS = 1024
"""Maximum number of items per batch, and of items read ahead."""

PAUSE_SECONDS = 0.2
"""A batch ends if no item arrives for this time."""

MAX_BATCH_SECONDS = 0.5
"""A batch ends after this time, even without a pause."""


@dataclass
class _End:
    """Marks the end of the items; `error` is the exception that ended them, if any."""

    error: BaseException | None = None


class _Reader(Thread, Generic[T]):
    """A thread that reads items, which may block, and puts them into a queue."""

    def __init__(self, items: Iterable[T]) -> None:
        super().__init__(daemon=True)  # reading from a pipe cannot be interrupted
        self.items = items
        self.queue: Queue[T | _End] = Queue(MAX_ITEMS)
        self.stopped = Event()

    def run(self) -> None:
        """Read until the end, an error or a call of `stop`."""
        error = None
        try:
            for item in self.items:
                self.queue.put(item)
                if self.stopped.is_set():
                    return
        except BaseException as raised:  # re-raised in the thread that consumes the items
            error = raised
        self.queue.put(_End(error))

    def stop(self) -> None:
        """Stop after at most one more item."""
        self.stopped.set()
        with suppress(Empty):
            while True:
                self.queue.get_nowait()


def until_pauses(items: Iterable[T]) -> Iterator[list[T]]:
    """Yield the items in batches; a batch ends when the next item does not arrive in time."""
    reader = _Reader(items)
    reader.start()
    try:
        while True:
            batch, end = _batch(reader.queue)
            if batch:
                yield batch
            if end is not None:
                break
    finally:
        reader.stop()
    if end.error is not None:
        raise end.error


def _batch(queue: "Queue[T | _End]") -> tuple[list[T], _End | None]:
    """Collect the items until the next pause; also return the end marker, if it was reached."""
    batch: list[T] = []
    item = queue.get()
    deadline = monotonic() + MAX_BATCH_SECONDS
    with suppress(Empty):
        while not isinstance(item, _End):
            batch.append(item)
            if len(batch) >= MAX_ITEMS:
                return batch, None
            item = queue.get(timeout=max(0.0, min(PAUSE_SECONDS, deadline - monotonic())))
    return (batch, item) if isinstance(item, _End) else (batch, None)
