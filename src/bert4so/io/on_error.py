"""What to do with a record that cannot be used: stop, or go on and count."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal, get_args

from bert4so.common.progress import say
from bert4so.errors import UserError, quote

OnBad = Callable[[UserError], None]

OnError = Literal["raise", "skip"]
"""What to do with a document that cannot be used, as users of the Python API say it."""


def stop(error: UserError) -> None:
    """Let the error be one."""
    raise error


class Skipping:
    """Says what was wrong with the first few bad records, and counts all of them."""

    SHOWN = 10

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, error: UserError) -> None:
        self.count += 1
        if self.count <= self.SHOWN:
            say(f"skipped: {error}")

    def summary(self) -> None:
        """Say how many there were."""
        if self.count:
            say(f"skipped {self.count} in all")


def check_on_error(on_error: OnError) -> None:
    """Refuse any other value than those of `OnError`."""
    if on_error not in get_args(OnError):
        raise UserError(f'on_error must be "raise" or "skip" (got {quote(on_error)})')


@contextmanager
def handling(on_error: OnError) -> Iterator[OnBad]:
    """What to do with each bad record in the block; at its end, report how many were skipped."""
    check_on_error(on_error)
    if on_error == "raise":
        yield stop
        return
    skipping = Skipping()
    yield skipping
    skipping.summary()
