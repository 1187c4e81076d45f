"""What everything above a model knows of it."""

from collections.abc import Sequence
from typing import Protocol

from bert4so.document import Ordering, Puzzle
from bert4so.errors import UserError

MAX_SENTENCES = 10_000
"""Per document. Time and memory grow with the number of sentences: the bundled model takes about a
minute and 0.8 GB for 10,000 short ones on one core, and 4 GB for 100,000.
"""


class Backend(Protocol):
    """Whatever can order puzzles: a model, a runtime, an ensemble, a coin."""

    def order(self, puzzles: Sequence[Puzzle]) -> list[Ordering]:
        """One ordering a puzzle. Puzzles come without their answers."""

    def check(self, puzzle: Puzzle) -> None:
        """Raise `UserError` for a puzzle that cannot be ordered."""


def check_length(puzzle: Puzzle) -> None:
    """Raise `UserError` for a puzzle of too many sentences to be ordered in bounded memory."""
    if len(puzzle.sentences) > MAX_SENTENCES:
        raise UserError(
            f"a document of {len(puzzle.sentences):,} sentences is too long: at most "
            f"{MAX_SENTENCES:,}: split it"
        )
