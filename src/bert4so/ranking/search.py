"""The most likely order under an objective, and how likely it is among all orders.

For up to `EXACT` sentences the order is optimal and its probability exact: see
`bert4so.ranking.subsets`. For longer documents a beam search builds orders from the first sentence
on, and local search then improves the best: it moves the single sentence that helps most, until no
move helps. The probability is then approximate, and never too low: it is relative to the sum over
only those orders that the beam reached, or that a single move reaches, whichever is larger.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bert4so.document import Decision, HeadWeights, Order
from bert4so.ranking.objective import Objective, Table
from bert4so.ranking.plackett_luce import check_finite
from bert4so.ranking.subsets import CLOSE, EXACT, best_orders_and_log_totals

BEAM = 64
"""Beginnings that are kept."""

MIN_BEAM = 8
CELLS = 1 << 11
"""Beginnings times sentences, at most: longer documents are searched with fewer beginnings."""

MERGED = 4
"""Beginnings that are merged, for each that is kept."""

T = TypeVar("T")


@dataclass(frozen=True)
class Solution:
    """What a search found.

    order:          the most likely order; beyond `EXACT` sentences there may be a likelier one.
    log_likelihood: that of the order.
    log_total:      the log of the summed likelihood of all orders; beyond `EXACT` sentences, of
                    those considered.
    """

    order: Order
    log_likelihood: float
    log_total: float

    @property
    def exact(self) -> bool:
        """Whether all orders were considered."""
        return len(self.order) <= EXACT

    @property
    def probability(self) -> float:
        """The probability of the order; where the search is not exact, it is at most this."""
        share = np.exp(min(self.log_likelihood - self.log_total, 0.0))
        return float(max(share, np.finfo(np.float64).tiny))


@dataclass(frozen=True)
class Reading:
    """What a model says of one document of n sentences.

    scores: (n,) the higher, the earlier a sentence is read.
    before: (n, n) the logit that sentence i is read before j; before[j, i] = -before[i, j].
    next:   (n + 1, n + 1) the log-probability that j is read right after i, or logits of it; row n
            is the start, column n the end. `normalized` makes the rows sum to 1.
    """

    scores: Table
    before: Table
    next: Table

    @classmethod
    def of_row(cls, tables: Sequence[NDArray[np.float32]], n: int) -> "Reading":
        """The n sentences of a row of a batch, which may be padded: start and end come last."""
        scores, before, next = tables
        own = np.array([*range(n), len(next) - 1])
        return cls(
            scores[:n].astype(np.float64),
            before[:n, :n].astype(np.float64),
            next[np.ix_(own, own)].astype(np.float64),
        )

    def probabilities(self) -> Table:
        """(n, n) the probability that i is read before j."""
        # The sigmoid by tanh, which does not overflow.
        return np.asarray(0.5 + 0.5 * np.tanh(0.5 * self.before))

    def normalized(self) -> Table:
        """`next` as log-probabilities: -inf where nothing can follow."""
        n = len(self.scores)
        logs = self.next.copy()
        np.fill_diagonal(logs, -np.inf)  # neither follows a sentence itself, nor the end the start
        logs -= logs.max(1, keepdims=True)
        return np.asarray(logs - np.log(np.exp(logs).sum(1, keepdims=True))).reshape(n + 1, n + 1)


def decide(readings: Sequence[Reading], weights: HeadWeights) -> list[Decision]:
    """The decision on each reading: its most likely order under the weights."""
    for one in readings:
        for values in (one.scores, one.before, one.next[~np.eye(len(one.next), dtype=bool)]):
            check_finite(values)
    said = [(one.scores, one.probabilities(), one.normalized()) for one in readings]
    found = solve_all([Objective.weighted(*tables, weights) for tables in said])
    return [
        Decision(
            order=solution.order,
            confidence=solution.probability,
            scores=tuple(scores.tolist()),
            before=before,
            next=after,
            weights=weights,
        )
        for solution, (scores, before, after) in zip(found, said, strict=True)
    ]


def solve_all(objectives: Sequence[Objective]) -> list[Solution]:
    """The solution of each document; those of the same length are searched together."""
    return _by_length(objectives, _solve)


def _solve(objectives: Sequence[Objective]) -> list[Solution]:
    """The solutions of documents of the same length."""
    if len(objectives[0]) > EXACT:
        return [_approximate(objective) for objective in objectives]
    found = zip(objectives, best_orders_and_log_totals(objectives), strict=True)
    return [Solution(order, one.log_likelihood(order), total) for one, (order, total) in found]


def _by_length(
    objectives: Sequence[Objective], solve: Callable[[Sequence[Objective]], list[T]]
) -> list[T]:
    """What `solve` finds of documents of the same length, in the order of all documents."""
    groups: dict[int, list[int]] = {}
    for i, objective in enumerate(objectives):
        groups.setdefault(len(objective), []).append(i)
    found: dict[int, T] = {}
    for group in groups.values():
        found.update(zip(group, solve([objectives[i] for i in group]), strict=True))
    return [found[i] for i in range(len(objectives))]


def _approximate(objective: Objective) -> Solution:
    """The best order of a beam, improved."""
    order, log_total = beam(objective)
    values = objective.of_moves(order)
    for _ in range(len(order)):  # few moves are enough: this only bounds the time
        source, place = divmod(int(values.argmax()), len(order))
        if values[source, place] < values[0, 0] + CLOSE:
            break
        order.insert(place, order.pop(source))
        values = objective.of_moves(order)
    return Solution(order, objective.log_likelihood(order), max(log_total, _sum_of_moves(values)))


def _sum_of_moves(values: Table) -> float:
    """The log of the summed likelihood of an order and of all that a single move makes of it."""
    n = len(values)
    # Every order once: a move up by one place is the move of its neighbor down.
    once = ~np.eye(n, dtype=bool) & ~np.eye(n, k=-1, dtype=bool)
    return float(np.logaddexp.reduce(np.append(values[once], values[0, 0])))


def beam(objective: Objective) -> tuple[Order, float]:
    """The best order of a beam, and the log of the summed likelihood of all orders it reached.

    Of beginnings with the same sentences and the same last one, only the best is kept, which stands
    for all of them: what can follow is the same. Beginnings are compared by how much likelier each
    sentence could have been reached. Every order reaches every sentence once, and the end, so that
    this takes the same from all orders.
    """
    n = len(objective)
    reached = objective.next.max(0)
    guide = replace(objective, next=objective.next - reached)
    state = _Beginnings.none(guide)
    for _ in range(n):
        state = state.grown(guide, max(MIN_BEAM, min(BEAM, CELLS // n)))
    ends = guide.next[state.last, n]
    order: Order = state.read[_first_best(state.values + ends)].tolist()
    return order, float(np.logaddexp.reduce(state.totals + ends) + reached.sum())


def _first_best(values: Table) -> int:
    return int((values >= values.max() - CLOSE).argmax())


@dataclass(frozen=True)
class _Beginnings:
    """Beginnings of orders, the likeliest first.

    read:   (k, t) the sentences read.
    left:   (k, n) True for the others.
    ahead:  (k, n) what reading a sentence before all others that are left says of pairs.
    last:   (k,) the last sentence read; n at the start.
    key:    (k,) the same for the same set of sentences.
    values: (k,) the log-likelihood so far.
    totals: (k,) the log of the summed likelihood of all beginnings that this one stands for.
    """

    read: NDArray[np.int64]
    left: NDArray[np.bool_]
    ahead: Table
    last: NDArray[np.int64]
    key: NDArray[np.uint64]
    values: Table
    totals: Table

    @classmethod
    def none(cls, objective: Objective) -> "_Beginnings":
        """Before the first sentence."""
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

    def grown(self, objective: Objective, most: int) -> "_Beginnings":
        """The likeliest beginnings with one more sentence, at most so many."""
        parent, chosen = np.nonzero(self.left)
        gains = self._gains(objective)[parent, chosen]
        values, totals = self.values[parent] + gains, self.totals[parent] + gains
        key = self.key[parent] + _keys(len(objective))[chosen]
        best, totals = _merged(key + chosen.astype(np.uint64), values, totals, most)
        parent, chosen = parent[best], chosen[best]
        left = self.left[parent]
        left[np.arange(len(best)), chosen] = False
        return _Beginnings(
            read=np.concatenate([self.read[parent], chosen[:, None]], axis=1),
            left=left,
            ahead=self.ahead[parent] - objective.before[:, chosen].T,
            last=chosen,
            key=key[best],
            values=values[best],
            totals=totals,
        )

    def _gains(self, objective: Objective) -> Table:
        """(k, n) what each beginning gains by each next sentence."""
        scores = np.where(self.left, objective.scores, -np.inf)
        top = scores.max(1, keepdims=True)
        unread = top + np.log(np.exp(scores - top).sum(1, keepdims=True))
        links = objective.next[self.last, : len(objective)]
        return np.asarray(objective.weight * (objective.scores - unread) + self.ahead + links)


def _keys(n: int) -> NDArray[np.uint64]:
    """Numbers whose sums differ for different sets, all but certainly; multiples of 2 ** 16."""
    draw = np.random.default_rng(0)
    return draw.integers(0, 1 << 48, n, dtype=np.uint64) << np.uint64(16)


def _merged(
    key: NDArray[np.uint64], values: Table, totals: Table, most: int
) -> tuple[NDArray[np.int64], Table]:
    """The best of each key, the likeliest first and at most so many; and the sums of their keys.

    Only the likeliest few are looked at.
    """
    # Rounded, so that equal ones stay as the puzzle has them.
    by_value = np.argsort(-np.rint(values / CLOSE), kind="stable")[: MERGED * most]
    _, first, group = np.unique(key[by_value], return_index=True, return_inverse=True)
    kept = np.sort(first)[:most]
    shares = np.exp(totals[by_value] - totals[by_value].max())
    sums = np.bincount(group, shares)[group[kept]]
    sums = np.maximum(sums, np.finfo(np.float64).tiny)
    return by_value[kept], np.log(sums) + totals[by_value].max()
