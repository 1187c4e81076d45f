"""How right an order is: plain functions of two orders, with no tensors.

A document of one sentence is in order whatever a system does. It is left out of every average
here, unless `count_single=True` asks for the habit of some public systems, which count it as right.
"""

from bisect import bisect, insort
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from bert4so.document import Order, inverse
from bert4so.errors import UserError


def kendall_tau(predicted: Order, true: Order) -> float:
    """1 - 2 * (pairs the wrong way round) / (pairs): 1 for the true order, -1 for its reverse.

    1 for a document of one sentence, which has no pair.
    """
    n = len(true)
    if n < 2:
        return 1.0
    place = inverse(true)
    wrong, seen = 0, list[int]()
    for sentence in predicted:
        # Of the sentences read so far, those that should have come later.
        wrong += len(seen) - bisect(seen, place[sentence])
        insort(seen, place[sentence])
    return 1 - 4 * wrong / (n * (n - 1))


def places_right(predicted: Order, true: Order) -> int:
    """How many sentences are read at their true place."""
    return sum(p == t for p, t in zip(predicted, true, strict=True))


def interchange(predicted: Order, true: Order, sentences: Sequence[str]) -> Order:
    """The predicted order, identical sentences swapped so that they stand as in the true order.

    The text that a reader sees is the same, so no metric may tell the two apart. (Some NeurIPS and
    NSF documents repeat a sentence.) `sentences` are in the order of the puzzle.
    """
    copies = defaultdict[str, list[int]](list)
    for i in true:
        copies[sentences[i]].append(i)
    given = {sentence: iter(indices) for sentence, indices in copies.items()}
    return [next(given[sentences[i]]) for i in predicted]


@dataclass(frozen=True)
class Metrics:
    """Averages over documents.

    tau:       Kendall's tau, the mean over documents.
    pmr:       perfect match ratio, the share of documents whose whole order is right.
    accuracy:  the share of sentences, over all documents, at their true place.
    documents: how many documents the averages are over.
    left_out:  how many documents of one sentence were left out of them.
    """

    tau: float
    pmr: float
    accuracy: float
    documents: int
    left_out: int

    def __str__(self) -> str:
        line = (
            f"tau {self.tau:.4f}  pmr {100 * self.pmr:.2f}  accuracy {100 * self.accuracy:.2f}"
            f"  documents {self.documents}"
        )
        return line + (f"  (left out: {self.left_out} of one sentence)" if self.left_out else "")


def average(pairs: Iterable[tuple[Order, Order]], count_single: bool = False) -> Metrics:
    """The metrics of (predicted, true) orders."""
    every = list(pairs)
    counted = [pair for pair in every if count_single or len(pair[1]) > 1]
    if not counted:
        raise UserError("nothing to measure: no document has more than one sentence")
    return Metrics(
        tau=sum(kendall_tau(*pair) for pair in counted) / len(counted),
        pmr=sum(predicted == true for predicted, true in counted) / len(counted),
        accuracy=sum(places_right(*pair) for pair in counted) / sum(len(t) for _, t in counted),
        documents=len(counted),
        left_out=len(every) - len(counted),
    )
