"""The most likely order under an objective, and its probability among all orders.

For up to `MAX_EXACT_SENTENCES` sentences the order is optimal and its probability exact: see
`bert4so.ranking.subsets`. For longer documents a beam search builds orders from the first sentence
on, and local search then improves the best one: it moves the single sentence that helps most, until
no move helps. The probability is then an upper bound: it is relative to the sum over the orders
that the beam reached, or over those that a single move reaches, whichever is larger.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bert4so.document import Decision, HeadWeights, Order
from bert4so.ranking.objective import Objective, Table
from bert4so.ranking.plackett_luce import check_finite
from bert4so.ranking.subsets import MAX_EXACT_SENTENCES, TOLERANCE, best_orders_and_log_totals

MAX_BEAM_WIDTH = 64
"""Number of prefixes kept for short documents."""

MIN_BEAM_WIDTH = 8
"""Number of prefixes kept for the longest documents."""

MAX_BEAM_TIMES_SENTENCES = 1 << 11
"""Limits prefixes times sentences: longer documents are searched with fewer prefixes."""

CANDIDATES_PER_PREFIX = 4
"""Number of candidates considered for merging, per prefix kept."""

T = TypeVar("T")


@dataclass(frozen=True)
class Solution:
    """The result of a search.

    order:          the most likely order; not guaranteed beyond `MAX_EXACT_SENTENCES` sentences.
    log_likelihood: the log-likelihood of the order.
    log_total:      the log of the summed likelihood of all orders; beyond `MAX_EXACT_SENTENCES`
                    sentences, of the orders considered.
    """

    order: Order
    log_likelihood: float
    log_total: float

    @property
    def exact(self) -> bool:
        """Whether all orders were considered."""
        return len(self.order) <= MAX_EXACT_SENTENCES

    @property
    def probability(self) -> float:
        """The probability of the order; an upper bound if the search is not exact."""
        share = np.exp(min(self.log_likelihood - self.log_total, 0.0))
        return float(max(share, np.finfo(np.float64).tiny))


@dataclass(frozen=True)
class HeadOutputs:
    """The outputs of a model's three heads for one document of n sentences.

    scores: (n,) a higher score means an earlier place.
    before: (n, n) the logit that sentence i comes before j; before[j, i] = -before[i, j].
    next:   (n + 1, n + 1) the log-probability, or logit, that j comes right after i; row n is the
            start, column n the end. `normalized` makes the probabilities of a row sum to 1.
    """

    scores: Table
    before: Table
    next: Table

    @classmethod
    def of_row(cls, tables: Sequence[NDArray[np.float32]], n: int) -> "HeadOutputs":
        """Take the outputs for n sentences from a row of a batch; start and end follow padding."""
        scores, before, next = tables
        own = np.array([*range(n), len(next) - 1])
        return cls(
            scores[:n].astype(np.float64),
            before[:n, :n].astype(np.float64),
            next[np.ix_(own, own)].astype(np.float64),
        )

    def probabilities(self) -> Table:
        """(n, n) the probability that i comes before j."""
        # The sigmoid by tanh, which does not overflow.
        return np.asarray(0.5 + 0.5 * np.tanh(0.5 * self.before))

    def normalized(self) -> Table:
        """`next` as log-probabilities: -inf where j cannot follow i."""
        n = len(self.scores)
        logs = self.next.copy()
        np.fill_diagonal(logs, -np.inf)  # no sentence follows itself, and the end not the start
        logs -= logs.max(1, keepdims=True)
        return np.asarray(logs - np.log(np.exp(logs).sum(1, keepdims=True))).reshape(n + 1, n + 1)


def decide(outputs: Sequence[HeadOutputs], weights: HeadWeights) -> list[Decision]:
    """Find the most likely order of each document under the weights."""
    for one in outputs:
        for values in (one.scores, one.before, one.next[~np.eye(len(one.next), dtype=bool)]):
            check_finite(values)
    documents = [(one.scores, one.probabilities(), one.normalized()) for one in outputs]
    solutions = solve_all([Objective.weighted(*tables, weights) for tables in documents])
    return [
        Decision(
            order=solution.order,
            confidence=solution.probability,
            scores=tuple(scores.tolist()),
            before=before,
            next=after,
            weights=weights,
        )
        for solution, (scores, before, after) in zip(solutions, documents, strict=True)
    ]


def solve_all(objectives: Sequence[Objective]) -> list[Solution]:
    """Solve each document; documents of the same length are searched together."""
    return _by_length(objectives, _solve)


def _solve(objectives: Sequence[Objective]) -> list[Solution]:
    """Solve documents of the same length."""
    if len(objectives[0]) > MAX_EXACT_SENTENCES:
        return [_approximate(objective) for objective in objectives]
    results = zip(objectives, best_orders_and_log_totals(objectives), strict=True)
    return [Solution(order, one.log_likelihood(order), total) for one, (order, total) in results]


def _by_length(
    objectives: Sequence[Objective], solve: Callable[[Sequence[Objective]], list[T]]
) -> list[T]:
    """Call `solve` once per document length; results are in the order of `objectives`."""
    groups: dict[int, list[int]] = {}
    for i, objective in enumerate(objectives):
        groups.setdefault(len(objective), []).append(i)
    results: dict[int, T] = {}
    for group in groups.values():
        results.update(zip(group, solve([objectives[i] for i in group]), strict=True))
    return [results[i] for i in range(len(objectives))]


def _approximate(objective: Objective) -> Solution:
    """Beam search, then local search."""
    order, log_total = beam(objective)
    values = objective.of_moves(order)
    for _ in range(len(order)):  # few moves suffice: this only limits the time
        source, place = divmod(int(values.argmax()), len(order))
        if values[source, place] < values[0, 0] + TOLERANCE:
            break
        order.insert(place, order.pop(source))
        values = objective.of_moves(order)
    return Solution(order, objective.log_likelihood(order), max(log_total, _sum_of_moves(values)))


def _sum_of_moves(values: Table) -> float:
    """The log of the summed likelihood of an order and of all orders a single move away."""
    n = len(values)
    # Count every order once: moving a sentence up by one place moves its neighbor down.
    once = ~np.eye(n, dtype=bool) & ~np.eye(n, k=-1, dtype=bool)
    return float(np.logaddexp.reduce(np.append(values[once], values[0, 0])))


def beam(objective: Objective) -> tuple[Order, float]:
    """Beam search: the best order, and the log of the summed likelihood of all orders reached.

    Prefixes with the same set of sentences and the same last sentence have the same continuations:
    they are merged, and only the most likely order of each is kept. To compare prefixes, the best
    link into each sentence read is subtracted from their log-likelihoods. A complete order links
    into every sentence once, and into the end, so this subtracts the same from all orders.
    """
    n = len(objective)
    best_link = objective.next.max(0)
    guide = replace(objective, next=objective.next - best_link)
    state = _Prefixes.none(guide)
    for _ in range(n):
        state = state.grown(
            guide, max(MIN_BEAM_WIDTH, min(MAX_BEAM_WIDTH, MAX_BEAM_TIMES_SENTENCES // n))
        )
    ends = guide.next[state.last, n]
    order: Order = state.read[_first_best(state.values + ends)].tolist()
    return order, float(np.logaddexp.reduce(state.totals + ends) + best_link.sum())


def _first_best(values: Table) -> int:
    return int((values >= values.max() - TOLERANCE).argmax())


@dataclass(frozen=True)
class _Prefixes:
    """Prefixes of orders, the most likely first.

    read:   (k, t) the sentences placed so far, in order.
    left:   (k, n) True for the sentences not placed yet.
    ahead:  (k, n) weighted log-probability of the pairs of a sentence with all others left.
    last:   (k,) the last sentence placed; n at the start.
    key:    (k,) equal for prefixes with the same set of sentences.
    values: (k,) the log-likelihood so far.
    totals: (k,) the log of the summed likelihood of all prefixes merged into this one.
    """

    read: NDArray[np.int64]
    left: NDArray[np.bool_]
    ahead: Table
    last: NDArray[np.int64]
    key: NDArray[np.uint64]
    values: Table
    totals: Table

    @classmethod
    def none(cls, objective: Objective) -> "_Prefixes":
        """The empty prefix."""
        n = len(objective)
        return cls(
            read=np.zeros((1, 0), np.int64),
            left=np.ones((1, n), np.bool_),
            ahead=objective.before.sum(1)[None],
            last=np.array([n]),
            key=np.zeros(1, np.uint64),
            values=np.zeros(1),
            totals=np.zeros(1),
        )

    def grown(self, objective: Objective, most: int) -> "_Prefixes":
        """The `most` most likely prefixes with one more sentence."""
        parent, chosen = np.nonzero(self.left)
        gains = self._gains(objective)[parent, chosen]
        values, totals = self.values[parent] + gains, self.totals[parent] + gains
        key = self.key[parent] + _keys(len(objective))[chosen]
        best, totals = _merged(key + chosen.astype(np.uint64), values, totals, most)
        parent, chosen = parent[best], chosen[best]
        left = self.left[parent]
        left[np.arange(len(best)), chosen] = False
        return _Prefixes(
            read=np.concatenate([self.read[parent], chosen[:, None]], axis=1),
            left=left,
            ahead=self.ahead[parent] - objective.before[:, chosen].T,
            last=chosen,
            key=key[best],
            values=values[best],
            totals=totals,
        )

    def _gains(self, objective: Objective) -> Table:
        """(k, n) the gain in log-likelihood of each prefix for each next sentence."""
        scores = np.where(self.left, objective.scores, -np.inf)
        top = scores.max(1, keepdims=True)
        unread = top + np.log(np.exp(scores - top).sum(1, keepdims=True))
        links = objective.next[self.last, : len(objective)]
        return np.asarray(objective.weight * (objective.scores - unread) + self.ahead + links)


def _keys(n: int) -> NDArray[np.uint64]:
    """Random multiples of 2 ** 16: the sums of two different sets are almost surely different."""
    rng = np.random.default_rng(0)
    return rng.integers(0, 1 << 48, n, dtype=np.uint64) << np.uint64(16)


def _merged(
    key: NDArray[np.uint64], values: Table, totals: Table, most: int
) -> tuple[NDArray[np.int64], Table]:
    """Merge candidates with equal keys: the index of the best of each key, and its new total.

    Returns at most `most`, the most likely first. Only the most likely candidates are considered.
    """
    # Rounded, so that ties keep the order of the puzzle.
    by_value = np.argsort(-np.rint(values / TOLERANCE), kind="stable")[
        : CANDIDATES_PER_PREFIX * most
    ]
    _, first, group = np.unique(key[by_value], return_index=True, return_inverse=True)
    kept = np.sort(first)[:most]
    shares = np.exp(totals[by_value] - totals[by_value].max())
    sums = np.bincount(group, shares)[group[kept]]
    sums = np.maximum(sums, np.finfo(np.float64).tiny)
    return by_value[kept], np.log(sums) + totals[by_value].max()
