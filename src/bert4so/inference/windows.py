"""Documents of up to 10,000 sentences, by a model that reads a row: rounds of windows.

In the first round the sentences stand in windows at random; in every later one the windows lie
along the order found so far, each half over the next. Each says how likely every two of its
sentences are read in this order or that; from all that was said in all rounds, each sentence gets a
strength, by which they are ordered. A sentence is read once in the first round and about twice in
every other, so that the cost grows as the document does.

Of a system that also says which sentence follows which (`Decision.next`), only the pairs are used,
and the answer has no `next`: what follows a sentence in a window is the next one of those that
happen to be in it, and not of the document.
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

ENOUGH = 32
"""Word pieces: a window holds so much of each sentence, or the whole of it."""

ROUNDS = 4
"""At most so many rounds; none follows that would change nothing."""


class Windows:
    """A backend that orders long documents by windows, and others as another one does."""

    def __init__(self, backend: Backend, packer: Packer, rounds: int = ROUNDS) -> None:
        self.backend = backend
        self.packer = packer
        self.rounds = rounds

    def check(self, puzzle: Puzzle) -> None:
        """Raise `UserError` for too many sentences; none of them is too long."""
        check_length(puzzle)

    def order(self, puzzles: Sequence[Puzzle]) -> list[Ordering]:
        """One ordering a puzzle, in the order of the puzzles."""
        with self.packer.remembering():
            return self._order(puzzles)

    def _order(self, puzzles: Sequence[Puzzle]) -> list[Ordering]:
        searches = {
            i: search for i, puzzle in enumerate(puzzles) if (search := self._search(puzzle))
        }
        whole = [puzzle for i, puzzle in enumerate(puzzles) if i not in searches]
        answers = iter(self.backend.order(whole) if whole else [])
        for number in range(self.rounds):
            self._round(number, [s for s in searches.values() if not s.settled])
        return [
            searches[i].answer() if i in searches else next(answers) for i in range(len(puzzles))
        ]

    def _search(self, puzzle: Puzzle) -> "_Search | None":
        """Where the puzzle does not fit a row, what is to be known of it."""
        sizes, room = _sizes(self.packer, puzzle), self.packer.layout.positions
        return None if sum(sizes) <= room else _Search.of(puzzle, sizes, room)

    def _round(self, number: int, searches: Sequence["_Search"]) -> None:
        """Order all windows of a round together."""
        windows = [search.windows(number) for search in searches]
        shown = [s.shown(w) for s, own in zip(searches, windows, strict=True) for w in own]
        answers = iter(self.backend.order(shown) if shown else [])
        for search, own in zip(searches, windows, strict=True):
            search.learn(own, [next(answers) for _ in own])


def fits_a_row(packer: Packer, puzzle: Puzzle) -> bool:
    """Whether a puzzle is read as one row, not by windows."""
    return sum(_sizes(packer, puzzle)) <= packer.layout.positions


def _sizes(packer: Packer, puzzle: Puzzle) -> list[int]:
    """The room that each sentence takes in a row, [CLS] and [SEP] included."""
    return [min(len(ids), ENOUGH) + 2 for ids in packer.pieces(puzzle.sentences)]


@dataclass
class _Search:
    """A long document under way, its sentences numbered at random by their words.

    puzzle:    the document.
    drawn:     the sentence of the puzzle that has a number.
    sizes:     the room that each takes.
    room:      that of a window.
    order:     the order found so far.
    strengths: by which it was found.
    said:      what the windows of each round said of pairs.
    """

    puzzle: Puzzle
    drawn: Order
    sizes: Sequence[int]
    room: int
    order: Order
    strengths: NDArray[np.float64]
    said: list[Pairs] = field(default_factory=list)
    settled: bool = False
    truncated: set[int] = field(default_factory=set)

    @classmethod
    def of(cls, puzzle: Puzzle, sizes: Sequence[int], room: int) -> "_Search":
        """The search before its first round."""
        n = len(sizes)
        drawn = sorted(range(n), key=lambda i: stable_hash("window", puzzle.sentences[i]))
        return cls(puzzle, drawn, [sizes[i] for i in drawn], room, list(range(n)), np.zeros(n))

    def windows(self, number: int) -> list[list[int]]:
        """The sentences that stand together in a round."""
        return self._along(self.order, overlap=0.5 if number else 0.0)

    def _along(self, sequence: Order, overlap: float) -> list[list[int]]:
        """Full windows along a sequence of all sentences; the last ends where it does."""
        windows: list[list[int]] = []
        start = 0
        while True:
            # No more than there is room for can fit: the cost is to grow as the document does.
            end = start + self._filled(sequence[start : start + self.room])
            if end == len(sequence):
                left = self._filled(sequence[: -self.room - 1 : -1])
                return [*windows, sequence[len(sequence) - left :]]
            windows.append(sequence[start:end])
            start = max(start + 1, end - int(overlap * (end - start)))

    def _filled(self, sequence: Order) -> int:
        """How many of the sentences fit a window, from the first."""
        taken = np.cumsum([self.sizes[i] for i in sequence])
        return int(np.searchsorted(taken, self.room, side="right"))

    def shown(self, window: list[int]) -> Puzzle:
        """The puzzle of a window."""
        return self.puzzle.select(self.drawn[i] for i in window)

    def learn(self, windows: Sequence[list[int]], answers: Sequence[Ordering]) -> None:
        """Take in what a round says."""
        for window, answer in zip(windows, answers, strict=True):
            self.said.append(_pairs(window, answer))
            self.truncated |= {self.drawn[window[k]] for k in answer.truncated}
        self.strengths = strengths(_joined(self.said), self.strengths)
        order: Order = np.argsort(-self.strengths, kind="stable").tolist()
        self.settled = order == self.order
        self.order = order

    def answer(self) -> Ordering:
        """The order found.

        The confidence is the product, over neighbors, of the probability that the one is read
        before the other, by their strengths.
        """
        ahead = np.array([self.strengths[i] - self.strengths[j] for i, j in pairwise(self.order)])
        scores = np.empty(len(self.drawn))
        scores[self.drawn] = self.strengths
        decision = Decision(
            order=[self.drawn[i] for i in self.order],
            confidence=float(np.prod(1 / (1 + np.exp(-ahead)))),
            scores=tuple(scores.tolist()),
        )
        return Ordering.of(self.puzzle, decision, sorted(self.truncated))


def _pairs(window: list[int], answer: Ordering) -> Pairs:
    """What a window says of every two of its sentences."""
    assert answer.before is not None, "windows are for systems that say how likely a pair is"
    i, j = np.triu_indices(len(window), 1)
    numbers = np.array(window)
    return Pairs(numbers[i], numbers[j], answer.before[i, j])


def _joined(said: Sequence[Pairs]) -> Pairs:
    """All of it together."""
    return Pairs(
        np.concatenate([some.first for some in said]),
        np.concatenate([some.second for some in said]),
        np.concatenate([some.share for some in said]),
    )
