"""The nouns of the package: a document, the puzzle made of it, and the ordering that solves it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bert4so.errors import UserError, quote

MAX_SENTENCE_CHARACTERS = 1_000_000

Order = list[int]
"""order[k] is the sentence to read k-th, so `[sentences[i] for i in order]` is the text.

Its inverse is always called `place`: place[i] is where sentence i is read.
"""


@dataclass(frozen=True)
class Document:
    """A text whose sentences stand in their true order. Systems never see one: see `Puzzle`."""

    id: str
    sentences: tuple[str, ...]

    def __post_init__(self) -> None:
        check_sentences(self.sentences)


@dataclass(frozen=True)
class Puzzle:
    """Sentences as a system sees them, and the order that solves them where it is known."""

    sentences: tuple[str, ...]
    order: Order | None = None

    def __post_init__(self) -> None:
        check_sentences(self.sentences)
        if self.order is not None:
            check_order(self.order, len(self.sentences))

    def without_answer(self) -> Self:
        """The same sentences, the order unknown."""
        return type(self)(self.sentences)


@dataclass(frozen=True)
class HeadWeights:
    """What the log-probabilities of each part of a decision are multiplied by in the search."""

    scores: float
    before: float
    next: float


@dataclass(frozen=True)
class Decision:
    """What a decoder says of one document. All numbers are by the sentence's place in the puzzle.

    order:      the order in which to read the sentences.
    confidence: the system's probability of that order.
    scores:     a number a sentence, the higher the earlier it is read; None where there are none.
    before:     (n, n) the probability that sentence i is read before sentence j; 0.5 where i = j;
                None where a system does not say.
    next:       (n + 1, n + 1) the log-probability that sentence j is read right after sentence i;
                row n is the start, column n the end; None where a system does not say.
    weights:    those of the search that found the order; None where there was no such search.
    """

    order: Order
    confidence: float
    scores: tuple[float, ...] | None = None
    before: NDArray[np.float64] | None = field(default=None, compare=False, repr=False)
    next: NDArray[np.float64] | None = field(default=None, compare=False, repr=False)
    weights: HeadWeights | None = None


@dataclass(frozen=True)
class Ordering(Decision):
    """What a user gets back for one document: the decision, and what it was made on.

    sentences: the sentences in the order found.
    truncated: the sentences (by their place in the input) that did not fit the model whole.
    """

    sentences: tuple[str, ...] = ()
    truncated: tuple[int, ...] = ()

    @classmethod
    def of(cls, puzzle: Puzzle, decision: Decision, truncated: Sequence[int]) -> Self:
        """The decision, together with the sentences of the puzzle it is about."""
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
