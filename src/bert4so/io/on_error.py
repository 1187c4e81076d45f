"""What to do with a record that cannot be used: stop, or go on and count."""

from collections.abc import Callable

from bert4so.common.progress import say
from bert4so.errors import UserError

OnBad = Callable[[UserError], None]


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
