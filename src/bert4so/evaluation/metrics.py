"""How right an order is: plain functions of two orders, with no tensors.

A document of one sentence is in order whatever a system does. It is left out of every average
here, unless `count_single=True` asks for the habit of some public systems, which count it as right
(NSEG, ATTOrderNet, ConstraintGraph and NAON do; B-TSort and STaCK leave it out).
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
    """1 - 2 * (pairs the wrong way round) / (pairs): 1 for the true order, -1 for its reverse.

    1 for a document of one sentence, which has no pair. O(n log n).
    """
    n = len(true)
    if n < 2:
        return 1.0
    place = inverse(true)
    # A Fenwick tree over places: how many of the sentences read so far stand up to each.
    tree = [0] * (n + 1)
    wrong = 0
    for read, sentence in enumerate(predicted):
        earlier, node = 0, place[sentence]
        while node > 0:
            earlier += tree[node]
            node &= node - 1
        wrong += read - earlier  # those read before it that should have come later
        node = place[sentence] + 1
        while node <= n:
            tree[node] += 1
            node += node & -node
    return 1 - 4 * wrong / (n * (n - 1))


def exact(predicted: Order, true: Order) -> float:
    """1 where the whole order is right, else 0: its mean is the perfect match ratio."""
    return float(predicted == true)


def accuracy(predicted: Order, true: Order) -> float:
    """(sentences at their true place) / n.

    Public systems average it over all sentences (B-TSort, Re-BART, NSEG) or over documents (NAON,
    ATTOrderNet, ConstraintGraph): here it is `accuracy` and `accuracy_by_document`.
    """
    return sum(p == t for p, t in zip(predicted, true, strict=True)) / len(true)


def rouge_s(predicted: Order, true: Order) -> float:
    """The share of pairs in the right order (skip-bigrams): (tau + 1) / 2.

    B-TSort counts the edges of its graph instead, before it makes an order of them.
    """
    return (kendall_tau(predicted, true) + 1) / 2


def common_subsequence(predicted: Order, true: Order) -> float:
    """(the longest common subsequence) / n.

    Here averaged over documents; some public systems weigh documents by their sentences.
    """
    place = inverse(true)
    # ends[k] is the earliest place at which a common subsequence of k + 1 sentences can end.
    ends = list[int]()
    for sentence in predicted:
        k = bisect_left(ends, place[sentence])
        ends[k : k + 1] = [place[sentence]]
    return len(ends) / len(true)


def first(predicted: Order, true: Order) -> float:
    """1 where the first sentence is right (ConstraintGraph and STaCK report its mean)."""
    return float(predicted[0] == true[0])


def last(predicted: Order, true: Order) -> float:
    """1 where the last sentence is right."""
    return float(predicted[-1] == true[-1])


def within(places: int) -> Callable[[Order, Order], float]:
    """(sentences at most so many places from their own) / n: B-TSort's displacement."""

    def share(predicted: Order, true: Order) -> float:
        place = inverse(true)
        near = sum(abs(place[sentence] - k) <= places for k, sentence in enumerate(predicted))
        return near / len(true)

    return share


def consistency(readings: Sequence[Sequence[int]]) -> float:
    """Of one document shuffled several times: the share of pairs of shuffles read alike.

    A reading is the order found, as true places, so that it does not depend on the shuffle: 1 for a
    system whose answer does not depend on how the sentences are given.
    """
    pairs = list(combinations(readings, 2))
    return sum(one == other for one, other in pairs) / len(pairs)


@dataclass(frozen=True)
class Metric:
    """A metric of one document, how it is averaged, and what it is in a few words."""

    of: Callable[[Order, Order], float]
    by: Literal["document", "sentence"]
    meaning: str


METRICS = {
    "tau": Metric(kendall_tau, "document", "Kendall's tau"),
    "pmr": Metric(exact, "document", "documents whose whole order is right"),
    "accuracy": Metric(accuracy, "sentence", "sentences at their true place"),
    "accuracy_by_document": Metric(accuracy, "document", "the same, every document weighing alike"),
    "rouge_s": Metric(rouge_s, "document", "pairs of sentences in the right order"),
    "lcs": Metric(common_subsequence, "document", "longest common subsequence, of all sentences"),
    "first": Metric(first, "document", "documents whose first sentence is right"),
    "last": Metric(last, "document", "documents whose last sentence is right"),
    "within_1": Metric(within(1), "sentence", "sentences at most 1 place from their own"),
    "within_2": Metric(within(2), "sentence", "sentences at most 2 places from their own"),
    "within_3": Metric(within(3), "sentence", "sentences at most 3 places from their own"),
}
"""All metrics. By document: the mean over documents; by sentence: weighed by their sentences."""


@dataclass(frozen=True)
class Metrics:
    """The averages of `METRICS`, all but tau as shares of 1.

    documents: how many documents the averages are over.
    left_out:  how many documents of one sentence were left out of them.
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
    """The predicted order, identical sentences swapped so that they stand as in the true order.

    The text that a reader sees is the same, so no metric may tell the two apart. (Some NeurIPS and
    NSF documents repeat a sentence.) `sentences` are in the order of the puzzle.
    """
    copies = defaultdict[str, list[int]](list)
    for i in true:
        copies[sentences[i]].append(i)
    given = {sentence: iter(indices) for sentence, indices in copies.items()}
    return [next(given[sentences[i]]) for i in predicted]


def counted(
    pairs: Iterable[tuple[Order, Order]], count_single: bool = False
) -> tuple[list[tuple[Order, Order]], int]:
    """The (predicted, true) orders that averages are over, and how many are left out of them."""
    every = list(pairs)
    chosen = [pair for pair in every if count_single or len(pair[1]) > 1]
    if not chosen:
        raise UserError("nothing to measure: no document has more than one sentence")
    return chosen, len(every) - len(chosen)


def average(pairs: Iterable[tuple[Order, Order]], count_single: bool = False) -> Metrics:
    """The metrics of (predicted, true) orders."""
    chosen, left_out = counted(pairs, count_single)
    means = {}
    for name, metric in METRICS.items():
        weights = [1 if metric.by == "document" else len(true) for _, true in chosen]
        values = [metric.of(*pair) for pair in chosen]
        total = sum(w * v for w, v in zip(weights, values, strict=True))
        means[name] = total / sum(weights)
    return Metrics(**means, documents=len(chosen), left_out=left_out)
