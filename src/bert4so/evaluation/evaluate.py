"""Evaluate a backend on documents whose order is known."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from bert4so.data.shuffle import EVALUATION_SEED, shuffle
from bert4so.document import Document, Order, Ordering, Puzzle
from bert4so.evaluation.metrics import Metrics, average, interchange
from bert4so.inference.backend import Backend
from bert4so.io.jsonl import Record

PUZZLES_PER_CALL = 256
"""Number of puzzles passed to a backend in one call."""


@dataclass(frozen=True)
class Prediction:
    """A model's prediction for one document.

    Attributes:
        id: The document's id.
        puzzle: Its sentences as the model received them, and their true order.
        ordering: The predicted ordering.
    """

    id: str
    puzzle: Puzzle
    ordering: Ordering

    @property
    def orders(self) -> tuple[Order, Order]:
        """The predicted and the true order, as `metrics` compares them.

        Identical sentences are interchangeable.
        """
        true = self.puzzle.order
        assert true is not None, "puzzles made from documents have an answer"
        return interchange(self.ordering.order, true, self.puzzle.sentences), true


def solve(
    backend: Backend,
    documents: Sequence[Document],
    seed: int | str = EVALUATION_SEED,
    advance: Callable[[int], None] = lambda done: None,
) -> list[Prediction]:
    """Shuffle every document by the seed and order it.

    `advance` is called with the number of documents done since the last call.
    """
    predictions: list[Prediction] = []
    for start in range(0, len(documents), PUZZLES_PER_CALL):
        chunk = documents[start : start + PUZZLES_PER_CALL]
        puzzles = [shuffle(document, seed) for document in chunk]
        orderings = backend.order([puzzle.without_answer() for puzzle in puzzles])
        predictions += [
            Prediction(document.id, puzzle, ordering)
            for document, puzzle, ordering in zip(chunk, puzzles, orderings, strict=True)
        ]
        advance(len(chunk))
    return predictions


def measure(predictions: Iterable[Prediction], count_single: bool = False) -> Metrics:
    """The metrics of the predictions."""
    return average((one.orders for one in predictions), count_single)


def independent_seeds(seed: int, shuffles: int) -> list[int | str]:
    """Seeds of independent shuffles; the first is the corpus's own seed."""
    return [seed, *(f"{seed}/{k}" for k in range(1, shuffles))]


def prediction_records(predictions: Iterable[Prediction]) -> Iterable[Record]:
    """One record per document: id, predicted order, and scores if the system has them."""
    for one in predictions:
        yield {"id": one.id, "order": one.ordering.order, "scores": one.ordering.scores}


def truth_records(predictions: Iterable[Prediction]) -> Iterable[Record]:
    """One record per document: id, true order, and the shuffled sentences."""
    for one in predictions:
        yield {"id": one.id, "order": one.puzzle.order, "sentences": one.puzzle.sentences}
