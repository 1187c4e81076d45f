"""Read from a pipe without waiting for more than what has come."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, Queue
from threading import Event, Thread
from time import monotonic
from typing import Generic, TypeVar

T = TypeVar("T")

MAX_ITEMS = 1024

PAUSE_SECONDS = 0.2

MAX_SECONDS = 0.5
"""A list ends after this time, even if there was no pause."""


@dataclass
class _End:
    """The end of the items, and the error that was their end, if any."""

    error: BaseException | None = None


class _Reader(Thread, Generic[T]):
    """Takes items from where they come, which may block, and puts them into a queue."""

    def __init__(self, items: Iterable[T]) -> None:
        super().__init__(daemon=True)  # to read a pipe cannot be interrupted
        self.items = items
        self.queue: Queue[T | _End] = Queue(MAX_ITEMS)
        self.stopped = Event()

    def run(self) -> None:
        """Read until the end, an error or `stop`."""
        error = None
        try:
            for item in self.items:
                self.queue.put(item)
                if self.stopped.is_set():
                    return
        except BaseException as raised:  # raised again where the items are used
            error = raised
        self.queue.put(_End(error))

    def stop(self) -> None:
        """Read no more than one more item."""
        self.stopped.set()
        with suppress(Empty):
            while True:
                self.queue.get_nowait()


def until_pauses(items: Iterable[T]) -> Iterator[list[T]]:
    """Lists of the items, each ended where the next item is not there in time."""
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
    """The items until the next pause, and the end, if it has come."""
    batch: list[T] = []
    item = queue.get()
    deadline = monotonic() + MAX_SECONDS
    with suppress(Empty):
        while not isinstance(item, _End):
            batch.append(item)
            if len(batch) >= MAX_ITEMS:
                return batch, None
            item = queue.get(timeout=max(0.0, min(PAUSE_SECONDS, deadline - monotonic())))
    return (batch, item) if isinstance(item, _End) else (batch, None)
