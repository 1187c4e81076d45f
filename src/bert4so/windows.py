"""Documents of any number of sentences, by a model that reads a row: rounds of windows.

In the first round the sentences stand in windows at random, several times over: from its places in
them, each gets its place in the document, roughly. In every later round the windows lie along the
order found so far, each half over the next; a window puts its own sentences in order, and a
sentence takes the mean of the places that its windows give it. A sentence is read a fixed number of
times a round, so that the cost grows as the document does.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
from numpy.typing import NDArray

from bert4so.backend import Backend
from bert4so.data.draw import draw
from bert4so.document import Decision, Order, Ordering, Puzzle
from bert4so.packing import Packer

ENOUGH = 32
"""Word pieces: a window holds so much of each sentence, or the whole of it."""

PARTITIONS = 4
"""How often each sentence stands in a window of the first round."""

ROUNDS = 4
"""At most so many rounds; none follows that would change nothing."""

NEAR = 3
"""What is said of two sentences that are read so far apart, or nearer, counts for confidence."""


class Windows:
    """A backend that orders long documents by windows, and others as another one does."""

    def __init__(self, backend: Backend, packer: Packer, rounds: int = ROUNDS) -> None:
        self.backend = backend
        self.packer = packer
        self.rounds = rounds

    def check(self, puzzle: Puzzle) -> None:
        """Nothing is too long."""

    def order(self, puzzles: Sequence[Puzzle]) -> list[Ordering]:
        """One ordering a puzzle, in the order of the puzzles."""
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
        return None if sum(sizes) <= room else _Search(puzzle, sizes, room)

    def _round(self, number: int, searches: Sequence["_Search"]) -> None:
        """Order all windows of a round together."""
        windows = [search.windows(number) for search in searches]
        shown = [s.shown(w) for s, own in zip(searches, windows, strict=True) for w in own]
        answers = iter(self.backend.order(shown) if shown else [])
        for search, own in zip(searches, windows, strict=True):
            search.learn(number, own, [next(answers) for _ in own])


def fits_a_row(packer: Packer, puzzle: Puzzle) -> bool:
    """Whether a puzzle is read as one row, not by windows."""
    return sum(_sizes(packer, puzzle)) <= packer.layout.positions


def _sizes(packer: Packer, puzzle: Puzzle) -> list[int]:
    """The room that each sentence takes in a row, [CLS] and [SEP] included."""
    return [min(len(ids), ENOUGH) + 2 for ids in packer.pieces(puzzle.sentences)]


@dataclass
class _Search:
    """A long document under way.

    sizes: the room that each sentence takes.
    room:  that of a window.
    order: the order found so far.
    place: the mean place that each sentence was given in the last round.
    """

    puzzle: Puzzle
    sizes: Sequence[int]
    room: int
    order: Order = field(default_factory=list)
    place: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))
    settled: bool = False
    truncated: set[int] = field(default_factory=set)
    heeded: dict[tuple[int, int], list[float]] = field(default_factory=dict)

    def windows(self, number: int) -> list[list[int]]:
        """The sentences that stand together in a round."""
        if number:
            return self._along(self.order, overlap=0.5)
        n, sentences = len(self.sizes), self.puzzle.sentences
        return [
            window
            for k in range(PARTITIONS)
            for window in self._along(
                sorted(range(n), key=lambda i: draw("window", k, sentences[i])),
                overlap=0.0,
            )
        ]

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
        return Puzzle(tuple(self.puzzle.sentences[i] for i in window))

    def learn(self, number: int, windows: Sequence[list[int]], answers: Sequence[Ordering]) -> None:
        """Take in what a round says."""
        n = len(self.sizes)
        total, count = np.zeros(n), np.zeros(n)
        known = np.empty(n)  # where each sentence stands so far
        known[self.order or range(n)] = np.arange(n)
        self.heeded = {}
        for window, answer in zip(windows, answers, strict=True):
            # At random a window stands for the whole document; later, for the places it covers.
            covered = known[window] if number else np.linspace(0, n - 1, len(window))
            total[window] += np.interp(_places(answer), np.arange(len(window)), np.sort(covered))
            count[window] += 1
            self.truncated |= {window[k] for k in answer.truncated}
            self._heed(window, answer)
        self.place = total / count
        order: Order = np.argsort(self.place, kind="stable").tolist()
        self.settled = order == self.order
        self.order = order

    def _heed(self, window: list[int], answer: Ordering) -> None:
        """Keep what is said of every two that are read one after the other, or nearly so."""
        assert answer.before is not None
        for k, first in enumerate(answer.order):
            for second in answer.order[k + 1 : k + 1 + NEAR]:
                pair = window[first], window[second]
                self.heeded.setdefault(pair, []).append(float(answer.before[first, second]))

    def answer(self) -> Ordering:
        """The order found.

        The confidence is the product, over neighbors, of the probability that the one is read
        before the other, by the windows of the last round; 0.5 where none says.
        """
        neighbors = zip(self.order, self.order[1:], strict=False)
        decision = Decision(
            order=self.order,
            confidence=prod(map(self._probability, neighbors)),
            scores=tuple((-self.place).tolist()),
        )
        return Ordering.of(self.puzzle, decision, sorted(self.truncated))

    def _probability(self, pair: tuple[int, int]) -> float:
        said = self.heeded.get(pair, [])
        against = [1 - share for share in self.heeded.get((pair[1], pair[0]), [])]
        return float(np.mean(said + against)) if said or against else 0.5


def _places(answer: Ordering) -> NDArray[np.float64]:
    """The place that each sentence of a window is to be expected at: how many are read before it.

    Borda's count, of probabilities.
    """
    assert answer.before is not None, "windows are for systems that say how likely a pair is"
    places: NDArray[np.float64] = answer.before.sum(0) - 0.5
    return places
