"""The main data types: a document, the puzzle made from it, and the ordering that solves it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from reprlib import Repr
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bert4so.errors import UserError, quote

MAX_SENTENCE_CHARACTERS = 1_000_000

SHORT_REPR = Repr()
"""Shortens the repr of long documents."""
SHORT_REPR.maxlist, SHORT_REPR.maxstring = 8, 60

Order = list[int]
"""order[k] is the index of the sentence at position k: `[sentences[i] for i in order]` is the text.

Its inverse is always called `place`: place[i] is the position of sentence i.
"""


@dataclass(frozen=True)
class Document:
    """A document with its sentences in the true order, to train or evaluate on.

    Backends never receive a `Document`; they receive a `Puzzle`.

    Attributes:
        id: Identifies the document, and seeds its shuffle for evaluation.
        sentences: The sentences in their true order.

    Raises:
        UserError: There are no sentences, or a sentence is not a string or is blank.
    """

    id: str
    sentences: tuple[str, ...]

    def __post_init__(self) -> None:
        # Users may pass a list as well as a tuple.
        object.__setattr__(self, "sentences", as_sentences(self.sentences))


@dataclass(frozen=True)
class Puzzle:
    """The shuffled sentences of a document, as a backend receives them.

    Attributes:
        sentences: The sentences in shuffled order.
        order: The true order, if it is known; always None in puzzles that a backend receives.

    Raises:
        UserError: There are no sentences, a sentence is not a string or is blank, or `order` is not
            a permutation of the indices of the sentences.
    """

    sentences: tuple[str, ...]
    order: Order | None = None

    def __post_init__(self) -> None:
        check_sentences(self.sentences)
        if self.order is not None:
            check_order(self.order, len(self.sentences))

    def without_answer(self) -> Self:
        """A copy of the puzzle without the true order."""
        return self.select(range(len(self.sentences)))

    def select(self, indices: Iterable[int]) -> Self:
        """A puzzle of the sentences at `indices`, without a true order.

        The sentences are not validated again.
        """
        return self.unchecked(self.sentences[i] for i in indices)

    @classmethod
    def unchecked(cls, sentences: Iterable[str]) -> Self:
        """A puzzle of sentences that have been validated, without a true order."""
        puzzle = object.__new__(cls)
        object.__setattr__(puzzle, "sentences", tuple(sentences))
        object.__setattr__(puzzle, "order", None)
        return puzzle


@dataclass(frozen=True)
class HeadWeights:
    """Weights of the log-probabilities of each head in the search for the best order."""

    scores: float
    before: float
    next: float


@dataclass(frozen=True)
class Decision:
    """A backend's answer to one puzzle. Indices refer to the sentences of the puzzle, from 0.

    Attributes:
        order: The predicted order: `order[k]` is the index of the sentence at position k.
        confidence: The backend's probability of that order.
        scores: One score per sentence, higher for earlier sentences; None for systems without
            scores.
        before: Array of shape (n, n): the probability that sentence i comes before sentence j,
            0.5 where i = j; None for systems that do not estimate it.
        next: Array of shape (n + 1, n + 1): the log-probability that sentence j directly follows
            sentence i; row n is the start, column n the end; None for systems that do not estimate
            it.
        weights: Weights of the search for the order; None if there was no search.
    """

    order: Order
    confidence: float
    scores: tuple[float, ...] | None = None
    before: NDArray[np.float64] | None = field(default=None, compare=False, repr=False)
    next: NDArray[np.float64] | None = field(default=None, compare=False, repr=False)
    weights: HeadWeights | None = None


@dataclass(frozen=True, repr=False)
class Ordering(Decision):
    """The predicted order of one document: a `Decision` together with the sentences.

    `len(ordering)` is the number of sentences; iterating over an ordering yields the sentences in
    the predicted order.

    Attributes:
        sentences: The sentences in the predicted order.
        truncated: Indices, in the input, of the sentences that were truncated because they were too
            long for the model.

    >>> ordering = Ordering(order=[1, 0], confidence=0.9, sentences=("We cooked.", "Then we ate."))
    >>> ordering
    Ordering(order=[1, 0], confidence=0.9, sentences=['We cooked.', 'Then we ate.'])
    >>> print(*ordering, sep="\\n")
    We cooked.
    Then we ate.
    """

    sentences: tuple[str, ...] = ()
    truncated: tuple[int, ...] = ()

    @classmethod
    def of(cls, puzzle: Puzzle, decision: Decision, truncated: Sequence[int] = ()) -> Self:
        """Apply a decision to the sentences of its puzzle.

        Args:
            puzzle: The puzzle that the backend received.
            decision: The backend's answer.
            truncated: Indices, in `puzzle`, of the sentences that the model truncated.
        """
        return cls(
            order=decision.order,
            confidence=decision.confidence,
            scores=decision.scores,
            before=decision.before,
            next=decision.next,
            weights=decision.weights,
            sentences=tuple(puzzle.sentences[i] for i in decision.order),
            truncated=tuple(truncated),
        )

    def __len__(self) -> int:
        return len(self.sentences)

    def __iter__(self) -> Iterator[str]:
        return iter(self.sentences)

    def __repr__(self) -> str:
        order, sentences = SHORT_REPR.repr(self.order), SHORT_REPR.repr(list(self.sentences))
        confidence = f"{self.confidence:.3g}"
        return f"Ordering(order={order}, confidence={confidence}, sentences={sentences})"

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary that `json.dumps` accepts.

        Its keys are `sentences`, `order`, `scores`, `confidence` and `truncated`. `sentences` are
        in the predicted order. In the JSONL output of `bert4so order`, by contrast, `sentences` are
        as in the input, and `order` refers to them. `before` is omitted: it has n x n numbers.
        """
        return {
            "sentences": list(self.sentences),
            "order": [int(i) for i in self.order],
            "scores": None if self.scores is None else [float(score) for score in self.scores],
            "confidence": float(self.confidence),
            "truncated": [int(i) for i in self.truncated],
        }


def inverse(order: Order) -> list[int]:
    """The inverse permutation: the position of each sentence in an order, and vice versa."""
    place = [0] * len(order)
    for k, sentence in enumerate(order):
        place[sentence] = k
    return place


def check_order(order: object, n: int) -> None:
    """Raise `UserError` unless `order` is a permutation of 0 to n - 1."""
    is_int_list = isinstance(order, list) and all(type(i) is int for i in order)
    if not is_int_list or sorted(order) != list(range(n)):  # type: ignore[call-overload]
        reason = f"it must contain each of 0 to {n - 1} once" if n else "there are no sentences"
        raise UserError(f"{quote(order)} is not an order: {reason}")


def as_sentences(value: object) -> tuple[str, ...]:
    """Convert a list, a tuple or any other ordered iterable of sentences, and validate them."""
    if isinstance(value, str):
        raise UserError(f"{quote(value)} is a single string: pass a list of sentences")
    if not isinstance(value, Iterable) or isinstance(value, bytes | Mapping | Set):
        raise UserError(
            f"a document must be a list of sentences (got {type(value).__name__}: {quote(value)})"
        )
    sentences = tuple(value)
    check_sentences(sentences)
    return sentences


def check_sentences(sentences: Sequence[object]) -> None:
    """Raise `UserError` if there are no sentences, or one is not a string, blank or too long."""
    if not sentences:
        raise UserError("no sentences: a document needs at least one")
    for i, sentence in enumerate(sentences):
        if not isinstance(sentence, str):
            raise UserError(f"sentence {i} must be a string (got {quote(sentence)})")
        if len(sentence) > MAX_SENTENCE_CHARACTERS:
            raise UserError(
                f"sentence {i} is longer than {MAX_SENTENCE_CHARACTERS:,} characters: "
                f"{quote(sentence)}"
            )
        if not sentence or sentence.isspace():
            raise UserError(f"sentence {i} must contain text (got {quote(sentence)})")
