"""Order documents that do not fit into one row, of up to 10,000 sentences, by rounds of windows.

In the first round the sentences are divided into windows at random. In every later round the
windows follow the current order, and each window overlaps the next by half. The model gives the
pair probabilities of the sentences of each window; the strengths fitted to the pairs of all rounds
(Bradley-Terry) give the order. A sentence is read once in the first round and about twice in every
other, so the cost is linear in the number of sentences.

Of a system with successor probabilities (`Decision.next`), only the pairs are used, and the result
has no `next`: a sentence's successor within a window need not be its successor in the document.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from bert4so.common.stable_hash import stable_hash
from bert4so.document import Decision, Order, Ordering, Puzzle
from bert4so.inference.backend import Backend, check_length
from bert4so.ranking.bradley_terry import Pairs, strengths
from bert4so.text.packing import Packer

MAX_SENTENCE_PIECES = 32
"""Word pieces of each sentence that a window has room for; longer sentences may be cut."""

MAX_ROUNDS = 4
"""Maximum number of rounds; stops earlier if a round does not change the order."""


class Windows:
    """A backend that orders long documents by windows, and passes others to `backend` unchanged."""

    def __init__(self, backend: Backend, packer: Packer, rounds: int = MAX_ROUNDS) -> None:
        self.backend = backend
        self.packer = packer
        self.rounds = rounds

    def check(self, puzzle: Puzzle) -> None:
        """Raise `UserError` for too many sentences; their length is not limited."""
        check_length(puzzle)

    def order(self, puzzles: Sequence[Puzzle]) -> list[Ordering]:
        """Return one ordering per puzzle, in the order of the puzzles."""
        with self.packer.remembering():
            return self._order(puzzles)

    def _order(self, puzzles: Sequence[Puzzle]) -> list[Ordering]:
        searches = {
            i: search for i, puzzle in enumerate(puzzles) if (search := self._search(puzzle))
        }
        short = [puzzle for i, puzzle in enumerate(puzzles) if i not in searches]
        orderings = iter(self.backend.order(short) if short else [])
        for number in range(self.rounds):
            self._round(number, [s for s in searches.values() if not s.converged])
        return [
            searches[i].ordering() if i in searches else next(orderings)
            for i in range(len(puzzles))
        ]

    def _search(self, puzzle: Puzzle) -> "_Search | None":
        """The search for a puzzle that does not fit into a row; None for others."""
        sizes, capacity = _sizes(self.packer, puzzle), self.packer.layout.positions
        return None if sum(sizes) <= capacity else _Search.of(puzzle, sizes, capacity)

    def _round(self, number: int, searches: Sequence["_Search"]) -> None:
        """Order all windows of a round together."""
        windows = [search.windows(number) for search in searches]
        puzzles = [s.puzzle_of(w) for s, own in zip(searches, windows, strict=True) for w in own]
        orderings = iter(self.backend.order(puzzles) if puzzles else [])
        for search, own in zip(searches, windows, strict=True):
            search.update(own, [next(orderings) for _ in own])


def fits_a_row(packer: Packer, puzzle: Puzzle) -> bool:
    """Whether a puzzle is read as one row, without windows."""
    return sum(_sizes(packer, puzzle)) <= packer.layout.positions


def _sizes(packer: Packer, puzzle: Puzzle) -> list[int]:
    """Number of tokens that each sentence takes in a row, including [CLS] and [SEP]."""
    return [min(len(ids), MAX_SENTENCE_PIECES) + 2 for ids in packer.pieces(puzzle.sentences)]


@dataclass
class _Search:
    """The state of ordering one long document. Sentences are renumbered by a hash of their words.

    puzzle:    the document.
    numbering: the sentence of the puzzle that has each number.
    sizes:     number of tokens of each sentence.
    capacity:  number of tokens that fit into a window.
    order:     the current order.
    strengths: the strengths that give this order.
    pairs:     pair probabilities of the windows of all rounds.
    converged: whether the last round left the order unchanged.
    truncated: sentences of the puzzle that were cut in some window.
    """

    puzzle: Puzzle
    numbering: Order
    sizes: Sequence[int]
    capacity: int
    order: Order
    strengths: NDArray[np.float64]
    pairs: list[Pairs] = field(default_factory=list)
    converged: bool = False
    truncated: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, puzzle: Puzzle, sizes: Sequence[int], capacity: int) -> "_Search":
        """The search before its first round."""
        n = len(sizes)
        numbering = sorted(range(n), key=lambda i: stable_hash("window", puzzle.sentences[i]))
        sizes = [sizes[i] for i in numbering]
        return cls(puzzle, numbering, sizes, capacity, list(range(n)), np.zeros(n))

    def windows(self, number: int) -> list[list[int]]:
        """The sentences of each window of a round."""
        return self._along(self.order, overlap=0.5 if number else 0.0)

    def _along(self, sequence: Order, overlap: float) -> list[list[int]]:
        """Full windows along a sequence of all sentences; the last one is filled from the end."""
        windows: list[list[int]] = []
        start = 0
        while True:
            # The slice keeps the cost linear: a window never has more than `capacity` sentences.
            end = start + self._filled(sequence[start : start + self.capacity])
            if end == len(sequence):
                left = self._filled(sequence[: -self.capacity - 1 : -1])
                return [*windows, sequence[len(sequence) - left :]]
            windows.append(sequence[start:end])
            start = max(start + 1, end - int(overlap * (end - start)))

    def _filled(self, sequence: Order) -> int:
        """Number of sentences, from the first, that fit into a window."""
        tokens = np.cumsum([self.sizes[i] for i in sequence])
        return int(np.searchsorted(tokens, self.capacity, side="right"))

    def puzzle_of(self, window: list[int]) -> Puzzle:
        """The sentences of a window as a puzzle."""
        return self.puzzle.select(self.numbering[i] for i in window)

    def update(self, windows: Sequence[list[int]], orderings: Sequence[Ordering]) -> None:
        """Add the orderings of a round's windows, and update the order."""
        for window, ordering in zip(windows, orderings, strict=True):
            self.pairs.append(_pairs(window, ordering))
            self.truncated |= {self.numbering[window[k]] for k in ordering.truncated}
        self.strengths = strengths(_concatenated(self.pairs), self.strengths)
        order: Order = np.argsort(-self.strengths, kind="stable").tolist()
        self.converged = order == self.order
        self.order = order

    def ordering(self) -> Ordering:
        """The current order.

        The confidence is the product, over neighbors, of the probability that the first comes
        before the second, by their strengths.
        """
        ahead = np.array([self.strengths[i] - self.strengths[j] for i, j in pairwise(self.order)])
        scores = np.empty(len(self.numbering))
        scores[self.numbering] = self.strengths
        decision = Decision(
            order=[self.numbering[i] for i in self.order],
            confidence=float(np.prod(1 / (1 + np.exp(-ahead)))),
            scores=tuple(scores.tolist()),
        )
        return Ordering.of(self.puzzle, decision, sorted(self.truncated))


def _pairs(window: list[int], ordering: Ordering) -> Pairs:
    """The pair probabilities of a window."""
    assert ordering.before is not None, "windows need a system with pair probabilities"
    i, j = np.triu_indices(len(window), 1)
    numbers = np.array(window)
    return Pairs(numbers[i], numbers[j], ordering.before[i, j])


def _concatenated(parts: Sequence[Pairs]) -> Pairs:
    return Pairs(
        np.concatenate([part.first for part in parts]),
        np.concatenate([part.second for part in parts]),
        np.concatenate([part.share for part in parts]),
    )
