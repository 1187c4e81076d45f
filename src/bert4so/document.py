"""The nouns of the package: a document, the puzzle made of it, and the ordering that solves it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from reprlib import Repr
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from bert4so.errors import UserError, quote

MAX_SENTENCE_CHARACTERS = 1_000_000

SHORT = Repr()
"""Shortens the repr of long documents."""
SHORT.maxlist, SHORT.maxstring = 8, 60

Order = list[int]
"""order[k] is the sentence to read k-th, so `[sentences[i] for i in order]` is the text.

Its inverse is always called `place`: place[i] is where sentence i is read.
"""


@dataclass(frozen=True)
class Document:
    """A text with its sentences in their true order, to train or evaluate on.

    Backends never see one: they get a `Puzzle`.

    Attributes:
        id: Its name, by which it is shuffled for evaluation.
        sentences: Its sentences, in their true order.

    Raises:
        UserError: There are no sentences, or one of them is not a string or has no text.
    """

    id: str
    sentences: tuple[str, ...]

    def __post_init__(self) -> None:
        # A list is given as often as a tuple.
        object.__setattr__(self, "sentences", as_sentences(self.sentences))


@dataclass(frozen=True)
class Puzzle:
    """The sentences of a document as a backend gets them: shuffled.

    Attributes:
        sentences: The sentences.
        order: The true order, if it is known; None in all puzzles that a backend is given.

    Raises:
        UserError: There are no sentences, one of them is not a string or has no text, or `order`
            is not an order of them.
    """

    sentences: tuple[str, ...]
    order: Order | None = None

    def __post_init__(self) -> None:
        check_sentences(self.sentences)
        if self.order is not None:
            check_order(self.order, len(self.sentences))

    def without_answer(self) -> Self:
        """The same sentences, the order unknown."""
        return self.select(range(len(self.sentences)))

    def select(self, indices: Iterable[int]) -> Self:
        """Some of the sentences, in this order, as a puzzle of their own; its order is unknown.

        They are not checked again.
        """
        puzzle = object.__new__(type(self))
        object.__setattr__(puzzle, "sentences", tuple(self.sentences[i] for i in indices))
        object.__setattr__(puzzle, "order", None)
        return puzzle


@dataclass(frozen=True)
class HeadWeights:
    """What the log-probabilities of each part of a decision are multiplied by in the search."""

    scores: float
    before: float
    next: float


@dataclass(frozen=True)
class Decision:
    """A backend's answer to one puzzle. Sentences are numbered from 0, as the puzzle has them.

    Attributes:
        order: The order in which to read the sentences: `order[k]` is read k-th.
        confidence: The backend's probability of that order.
        scores: One number per sentence, the higher the earlier it is read; None for systems
            without scores.
        before: Array of shape (n, n): the probability that sentence i is read before sentence j,
            0.5 where i = j; None for systems that do not estimate it.
        next: Array of shape (n + 1, n + 1): the log-probability that sentence j is read right
            after sentence i; row n is the start, column n the end; None for systems that do not
            estimate it.
        weights: Weights of the search that found the order; None where there was no such search.
    """

    order: Order
    confidence: float
    scores: tuple[float, ...] | None = None
    before: NDArray[np.float64] | None = field(default=None, compare=False, repr=False)
    next: NDArray[np.float64] | None = field(default=None, compare=False, repr=False)
    weights: HeadWeights | None = None


@dataclass(frozen=True, repr=False)
class Ordering(Decision):
    """The order found for one document: a `Decision` with the sentences it is about.

    `len(ordering)` is the number of sentences, and iterating over an ordering gives them in the
    order found.

    Attributes:
        sentences: The sentences, in the order found.
        truncated: The sentences that were too long for the model to read whole, by their number in
            the input.

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
        """Put the sentences of a puzzle in the order that was decided.

        Args:
            puzzle: The puzzle, as the backend was given it.
            decision: The answer to it.
            truncated: The sentences that the model did not read whole, by their number in `puzzle`.
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
        order, sentences = SHORT.repr(self.order), SHORT.repr(list(self.sentences))
        confidence = f"{self.confidence:.3g}"
        return f"Ordering(order={order}, confidence={confidence}, sentences={sentences})"

    def to_dict(self) -> dict[str, Any]:
        """Return a dictionary that `json.dumps` accepts.

        Its keys are `sentences`, `order`, `scores`, `confidence` and `truncated`. `sentences` are
        in the order found. In the JSONL that `bert4so order` writes they stay as they were given,
        and only `order` says how to read them. `before` is left out: it has n x n numbers.
        """
        return {
            "sentences": list(self.sentences),
            "order": [int(i) for i in self.order],
            "scores": None if self.scores is None else [float(score) for score in self.scores],
            "confidence": float(self.confidence),
            "truncated": [int(i) for i in self.truncated],
        }


def inverse(order: Order) -> list[int]:
    """The place of each sentence in an order; and the order that has these places."""
    place = [0] * len(order)
    for k, sentence in enumerate(order):
        place[sentence] = k
    return place


def check_order(order: object, n: int) -> None:
    """Refuse what is not an order of n sentences."""
    whole = isinstance(order, list) and all(type(i) is int for i in order)
    if not whole or sorted(order) != list(range(n)):  # type: ignore[call-overload]
        wanted = f"it must hold each of 0 to {n - 1} once" if n else "there is nothing to order"
        raise UserError(f"{quote(order)} is not an order: {wanted}")


def as_sentences(value: object) -> tuple[str, ...]:
    """The sentences of a list, a tuple or anything else that has them in an order; checked."""
    if isinstance(value, str):
        raise UserError(f"{quote(value)} is one string: wanted a list of sentences")
    if not isinstance(value, Iterable) or isinstance(value, bytes | Mapping | Set):
        raise UserError(f"wanted a list of sentences (got {type(value).__name__}: {quote(value)})")
    sentences = tuple(value)
    check_sentences(sentences)
    return sentences


def check_sentences(sentences: Sequence[object]) -> None:
    """Refuse what is not one or more strings with something in them."""
    if not sentences:
        raise UserError("no sentences: a document needs at least one")
    for i, sentence in enumerate(sentences):
        if not isinstance(sentence, str):
            raise UserError(f"sentence {i} is {quote(sentence)}: wanted a string")
        if len(sentence) > MAX_SENTENCE_CHARACTERS:
            raise UserError(
                f"sentence {i} is longer than {MAX_SENTENCE_CHARACTERS:,} characters: "
                f"{quote(sentence)}"
            )
        if not sentence or sentence.isspace():
            raise UserError(f"sentence {i} is {quote(sentence)}: wanted some text")
