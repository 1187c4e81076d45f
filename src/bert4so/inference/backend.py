"""The interface of everything that orders sentences."""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from bert4so.document import Ordering, Puzzle
from bert4so.errors import UserError
from bert4so.io.on_error import OnBad

MAX_SENTENCES = 10_000
"""Maximum number of sentences per document.

Time and memory grow with the number of sentences: on one core, the bundled model takes about a
minute and 0.8 GB for 10,000 short sentences, and 4 GB for 100,000.
"""


@runtime_checkable
class Backend(Protocol):
    """Anything that can order puzzles: a model, an ensemble, a rule, a service.

    `Orderer` and `evaluate` accept any object with these two methods; it does not have to inherit
    from this class. This example sorts the sentences alphabetically:

    >>> class Alphabetical:
    ...     def order(self, puzzles):
    ...         return [self.answer(puzzle) for puzzle in puzzles]
    ...
    ...     def check(self, puzzle):
    ...         pass
    ...
    ...     def answer(self, puzzle):
    ...         numbers = range(len(puzzle.sentences))
    ...         order = sorted(numbers, key=lambda i: puzzle.sentences[i])
    ...         scores = tuple(-float(order.index(i)) for i in numbers)
    ...         return Ordering.of(puzzle, Decision(order, confidence=1.0, scores=scores))
    >>> Orderer(Alphabetical()).order(["b", "a"]).sentences
    ('a', 'b')

    Averaging several passes requires `scores` or `before` in every decision.
    """

    def order(self, puzzles: Sequence[Puzzle]) -> list[Ordering]:
        """Return one ordering per puzzle, in the order of the puzzles.

        The ordering of a puzzle must not depend on the other puzzles in the call.
        """

    def check(self, puzzle: Puzzle) -> None:
        """Raise `UserError` for a puzzle that cannot be ordered, for example because of length."""


def check_length(puzzle: Puzzle) -> None:
    """Raise `UserError` for a puzzle with more than `MAX_SENTENCES` sentences."""
    if len(puzzle.sentences) > MAX_SENTENCES:
        raise UserError(
            f"a document of {len(puzzle.sentences):,} sentences is too long: at most "
            f"{MAX_SENTENCES:,}: split it"
        )


def fits(backend: Backend, puzzle: Puzzle, where: str, on_bad: OnBad) -> bool:
    """Whether the backend can order the puzzle; calls `on_bad` if it cannot."""
    try:
        backend.check(puzzle)
    except UserError as error:
        on_bad(UserError(f"{where}: {error}"))
        return False
    return True
