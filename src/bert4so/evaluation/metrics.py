"""Metrics: plain functions of a predicted and a true order, without tensors.

A document of one sentence is always in order. Averages leave it out, unless `count_single=True`
counts it as correct, as some public systems do (NSEG, ATTOrderNet, ConstraintGraph and NAON;
B-TSort and STaCK leave it out).
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from bert4so.document import Order, inverse
from bert4so.errors import UserError


def kendall_tau(predicted: Order, true: Order) -> float:
    """1 - 2 * (pairs in the wrong order) / (pairs): 1 for the true order, -1 for its reverse.

    1 for a document of one sentence, which has no pairs. O(n log n).
    """
    n = len(true)
    if n < 2:
        return 1.0
    place = inverse(true)
    # A Fenwick tree over true places: the number of sentences so far up to each place.
    tree = [0] * (n + 1)
    wrong = 0
    for read, sentence in enumerate(predicted):
        earlier, node = 0, place[sentence]
        while node > 0:
            earlier += tree[node]
            node &= node - 1
        wrong += read - earlier  # sentences predicted before it that belong after it
        node = place[sentence] + 1
        while node <= n:
            tree[node] += 1
            node += node & -node
    return 1 - 4 * wrong / (n * (n - 1))


def exact(predicted: Order, true: Order) -> float:
    """1 if the whole order is correct, otherwise 0; its mean is the perfect match ratio."""
    return float(predicted == true)


def accuracy(predicted: Order, true: Order) -> float:
    """(sentences at their true place) / n.

    Public systems average it over all sentences (B-TSort, Re-BART, NSEG) or over documents (NAON,
    ATTOrderNet, ConstraintGraph): `accuracy` and `accuracy_by_document` in `METRICS`.
    """
    return sum(p == t for p, t in zip(predicted, true, strict=True)) / len(true)


def rouge_s(predicted: Order, true: Order) -> float:
    """The share of pairs in the right order (skip-bigrams): (tau + 1) / 2.

    B-TSort counts the edges of its graph instead, before they become an order.
    """
    return (kendall_tau(predicted, true) + 1) / 2


def common_subsequence(predicted: Order, true: Order) -> float:
    """(length of the longest common subsequence) / n.

    Averaged over documents; some public systems weight documents by their number of sentences.
    """
    place = inverse(true)
    # ends[k] is the earliest place at which a common subsequence of k + 1 sentences can end.
    ends = list[int]()
    for sentence in predicted:
        k = bisect_left(ends, place[sentence])
        ends[k : k + 1] = [place[sentence]]
    return len(ends) / len(true)


def first(predicted: Order, true: Order) -> float:
    """1 if the first sentence is correct (ConstraintGraph and STaCK report its mean)."""
    return float(predicted[0] == true[0])


def last(predicted: Order, true: Order) -> float:
    """1 if the last sentence is correct."""
    return float(predicted[-1] == true[-1])


def within(places: int) -> Callable[[Order, Order], float]:
    """(sentences at most `places` places from their true place) / n: B-TSort's displacement."""

    def share(predicted: Order, true: Order) -> float:
        place = inverse(true)
        near = sum(abs(place[sentence] - k) <= places for k, sentence in enumerate(predicted))
        return near / len(true)

    return share


def consistency(readings: Sequence[Sequence[int]]) -> float:
    """The share of pairs of shuffles of one document that get the same order.

    A reading is the predicted order as true places, which does not depend on the shuffle. A system
    whose result does not depend on the input order has consistency 1.
    """
    pairs = list(combinations(readings, 2))
    return sum(one == other for one, other in pairs) / len(pairs)


@dataclass(frozen=True)
class Metric:
    """A metric of one document, how it is averaged, and its meaning in a few words."""

    of: Callable[[Order, Order], float]
    by: Literal["document", "sentence"]
    meaning: str


METRICS = {
    "tau": Metric(kendall_tau, "document", "Kendall's tau"),
    "pmr": Metric(exact, "document", "documents whose whole order is correct"),
    "accuracy": Metric(accuracy, "sentence", "sentences at their true place"),
    "accuracy_by_document": Metric(accuracy, "document", "the same, averaged over documents"),
    "rouge_s": Metric(rouge_s, "document", "pairs of sentences in the correct order"),
    "lcs": Metric(common_subsequence, "document", "sentences in the longest common subsequence"),
    "first": Metric(first, "document", "documents whose first sentence is correct"),
    "last": Metric(last, "document", "documents whose last sentence is correct"),
    "within_1": Metric(within(1), "sentence", "sentences at most 1 place from their true place"),
    "within_2": Metric(within(2), "sentence", "sentences at most 2 places from their true place"),
    "within_3": Metric(within(3), "sentence", "sentences at most 3 places from their true place"),
}
"""All metrics: averaged over documents, or over documents weighted by number of sentences."""


@dataclass(frozen=True)
class Metrics:
    """The averages of `METRICS`, all except tau as shares of 1.

    documents: number of documents that the averages cover.
    left_out:  number of documents of one sentence that they do not cover.
    """

    tau: float
    pmr: float
    accuracy: float
    accuracy_by_document: float
    rouge_s: float
    lcs: float
    first: float
    last: float
    within_1: float
    within_2: float
    within_3: float
    documents: int
    left_out: int

    def __str__(self) -> str:
        line = (
            f"tau {self.tau:.4f}  pmr {100 * self.pmr:.2f}  accuracy {100 * self.accuracy:.2f}"
            f"  documents {self.documents}"
        )
        return line + (f"  (left out: {self.left_out} of one sentence)" if self.left_out else "")


def interchange(predicted: Order, true: Order, sentences: Sequence[str]) -> Order:
    """The predicted order with identical sentences swapped into the sequence of the true order.

    The text is the same, so no metric may distinguish the two. (Some NeurIPS and NSF documents
    repeat a sentence.) `sentences` are in the order of the puzzle.
    """
    copies = defaultdict[str, list[int]](list)
    for i in true:
        copies[sentences[i]].append(i)
    unused = {sentence: iter(indices) for sentence, indices in copies.items()}
    return [next(unused[sentences[i]]) for i in predicted]


def scored_pairs(
    pairs: Iterable[tuple[Order, Order]], count_single: bool = False
) -> tuple[list[tuple[Order, Order]], int]:
    """The (predicted, true) orders that averages cover, and the number of those left out."""
    every = list(pairs)
    scored = [pair for pair in every if count_single or len(pair[1]) > 1]
    if not scored:
        raise UserError("cannot compute metrics: no document has more than one sentence")
    return scored, len(every) - len(scored)


def average(pairs: Iterable[tuple[Order, Order]], count_single: bool = False) -> Metrics:
    """The metrics of (predicted, true) orders."""
    scored, left_out = scored_pairs(pairs, count_single)
    means = {}
    for name, metric in METRICS.items():
        weights = [1 if metric.by == "document" else len(true) for _, true in scored]
        values = [metric.of(*pair) for pair in scored]
        total = sum(w * v for w, v in zip(weights, values, strict=True))
        means[name] = total / sum(weights)
    return Metrics(**means, documents=len(scored), left_out=left_out)
