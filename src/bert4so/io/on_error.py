"""Handling of invalid records: raise the error, or skip the record and count it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, get_args

from bert4so.common.progress import say
from bert4so.errors import UnreadableFileError, UserError, quote

OnBad = Callable[[UserError], None]
"""Called with the error of each invalid record; returns to skip the record, or raises the error."""

OnError = Literal["raise", "skip"]
"""How the Python API handles an invalid document."""


def stop(error: UserError) -> None:
    """Raise the error."""
    raise error


class Skipping:
    """Skip invalid records: report the first few errors, and count all of them.

    Unreadable files are not skipped: an unknown number of documents would be lost.
    """

    MAX_REPORTED_ERRORS = 10

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, error: UserError) -> None:
        if isinstance(error, UnreadableFileError):
            raise error
        self.count += 1
        if self.count <= self.MAX_REPORTED_ERRORS:
            say(f"skipped: {error}")

    def summary(self) -> None:
        """Report how many records were skipped, if any."""
        if self.count:
            say(f"skipped {self.count} in all")


def check_on_error(on_error: OnError) -> None:
    """Raise `UserError` unless the value is one of `OnError`."""
    if on_error not in get_args(OnError):
        raise UserError(f'on_error must be "raise" or "skip" (got {quote(on_error)})')


@contextmanager
def handling(on_error: OnError) -> Iterator[OnBad]:
    """Yield the callback for invalid records; at the end, report how many were skipped."""
    check_on_error(on_error)
    if on_error == "raise":
        yield stop
        return
    skipping = Skipping()
    yield skipping
    skipping.summary()
