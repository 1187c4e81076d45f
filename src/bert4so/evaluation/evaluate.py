"""A backend measured on documents whose order is known."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bert4so.data.shuffle import EVALUATION_SEED, shuffle
from bert4so.document import Document, Order, Ordering, Puzzle
from bert4so.evaluation.metrics import Metrics, average, interchange
from bert4so.inference.backend import Backend
from bert4so.io.jsonl import Record

BUFFER = 256
"""Puzzles that a backend is given at once."""


@dataclass(frozen=True)
class Prediction:
    """What a model made of one document.

    Attributes:
        id: The document's.
        puzzle: Its sentences as the model was given them, and their true order.
        ordering: The ordering that the model found.
    """

    id: str
    puzzle: Puzzle
    ordering: Ordering

    @property
    def orders(self) -> tuple[Order, Order]:
        """The predicted order and the true one, as `metrics` compares them.

        Identical sentences are interchangeable.
        """
        true = self.puzzle.order
        assert true is not None, "evaluation makes its puzzles of documents"
        return interchange(self.ordering.order, true, self.puzzle.sentences), true


def solve(
    backend: Backend,
    documents: Sequence[Document],
    seed: int | str = EVALUATION_SEED,
    advance: Callable[[int], None] = lambda done: None,
) -> list[Prediction]:
    """Every document shuffled by the seed and ordered; `advance` is told how many."""
    solved: list[Prediction] = []
    for start in range(0, len(documents), BUFFER):
        some = documents[start : start + BUFFER]
        puzzles = [shuffle(document, seed) for document in some]
        orderings = backend.order([puzzle.without_answer() for puzzle in puzzles])
        solved += [
            Prediction(document.id, puzzle, ordering)
            for document, puzzle, ordering in zip(some, puzzles, orderings, strict=True)
        ]
        advance(len(some))
    return solved


def measure(solved: Iterable[Prediction], count_single: bool = False) -> Metrics:
    """The metrics of what was solved."""
    return average((one.orders for one in solved), count_single)


def reshuffled(seed: int, shuffles: int) -> list[int | str]:
    """Seeds for so many independent shuffles, the first the corpus's own."""
    return [seed, *(f"{seed}/{k}" for k in range(1, shuffles))]


def predictions(solved: Iterable[Prediction]) -> Iterable[Record]:
    """A record a document: its id, the order found, and the scores where the system has them."""
    for one in solved:
        yield {"id": one.id, "order": one.ordering.order, "scores": one.ordering.scores}


def truths(solved: Iterable[Prediction]) -> Iterable[Record]:
    """A record a document: the puzzle that was set, and its answer."""
    for one in solved:
        yield {"id": one.id, "order": one.puzzle.order, "sentences": one.puzzle.sentences}
