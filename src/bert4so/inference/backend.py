"""What everything above a model knows of it."""

from collections.abc import Sequence
from typing import Protocol

from bert4so.document import Ordering, Puzzle


class Backend(Protocol):
    """Whatever can order puzzles: a model, a runtime, an ensemble, a coin."""

    def order(self, puzzles: Sequence[Puzzle]) -> list[Ordering]:
        """One ordering a puzzle. Puzzles come without their answers."""

    def check(self, puzzle: Puzzle) -> None:
        """Raise `UserError` for a puzzle that cannot be ordered."""
