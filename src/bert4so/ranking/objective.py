"""The log-likelihood of an order from scores, pair probabilities and successor probabilities.

With weights w, scores z, probabilities b of pairs and log-probabilities s of successors,

    log p(order) = w_scores * sum_k  z_k - log sum_(l >= k) exp(z_l)       (Plackett-Luce)
                 + w_before * sum_(k < l)  log b_kl
                 + w_next   * sum_k  s_(k-1, k)       (the start before all, the end after all)
                 - log Z

with the sentences numbered in that order. Z makes the probabilities of all orders sum to 1; it is
the same for every order of a document. `bert4so.ranking.search` computes it.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from bert4so.document import Decision, HeadWeights, Order
from bert4so.ranking.aggregation import gains_of_moves

MIN_PROBABILITY = 1e-12
"""Lower bound of all probabilities, so that every order has a finite log-likelihood."""

MAX_WEIGHT = 10.0
"""Upper limit of a head's weight: larger ones could make an order's probability underflow."""

SCORES_ALONE = HeadWeights(scores=1.0, before=0.0, next=0.0)
PAIRS_ALONE = HeadWeights(scores=0.0, before=1.0, next=0.0)
"""The weights of systems that have only scores, or only pair probabilities."""

Table = NDArray[np.float64]


@dataclass(frozen=True)
class Objective:
    """The log-likelihood of every order of n sentences, which is log p without log Z.

    weight: weight of the scores.
    scores: (n,) not weighted; only their differences matter.
    before: (n, n) weighted log-probability that i comes before j; 0 where i = j.
    next:   (n + 1, n + 1) weighted log-probability that j follows i; row n: start, column n: end.
    """

    weight: float
    scores: Table
    before: Table
    next: Table

    @classmethod
    def of(cls, decision: Decision) -> Self:
        """The objective of any system's decision on a document."""
        alone = PAIRS_ALONE if decision.scores is None else SCORES_ALONE
        n, weights = len(decision.order), decision.weights or alone
        scores = np.zeros(n) if decision.scores is None else np.array(decision.scores)
        before = np.full((n, n), 0.5) if decision.before is None else decision.before
        after = np.zeros((n + 1, n + 1)) if decision.next is None else decision.next
        return cls.weighted(scores, before, after, weights)

    @classmethod
    def weighted(cls, scores: Table, before: Table, next: Table, weights: HeadWeights) -> Self:
        """The objective of scores, pair probabilities and successor log-probabilities."""
        pairs = np.log(np.clip(before, MIN_PROBABILITY, 1))
        np.fill_diagonal(pairs, 0)
        links = np.maximum(next, np.log(MIN_PROBABILITY))
        return cls(weights.scores, scores, weights.before * pairs, weights.next * links)

    def __len__(self) -> int:
        """The number of sentences."""
        return len(self.scores)

    def log_likelihood(self, order: Order) -> float:
        """The log-likelihood of an order."""
        drawn = self.scores[order]
        unread = np.logaddexp.accumulate(drawn[::-1])[::-1]
        pairs = np.triu(self.before[np.ix_(order, order)], 1)
        path = np.array([len(order), *order, len(order)])
        links = self.next[path[:-1], path[1:]]
        return float(self.weight * (drawn - unread).sum() + pairs.sum() + links.sum())

    def of_moves(self, order: Order) -> Table:
        """(n, n) at [k, l], the log-likelihood after moving the k-th sentence to place l.

        The diagonal has the log-likelihood of the order itself.
        """
        path = [*order, len(order)]
        pairs = np.triu(self.before[np.ix_(order, order)], 1).sum()
        pairs_moved = pairs + gains_of_moves(self.before, order)
        scores_moved = self.weight * _plackett_luce_of_moves(self.scores[order])
        links_moved = _links_of_moves(self.next[np.ix_(path, path)])
        return np.asarray(scores_moved + pairs_moved + links_moved)


def _plackett_luce_of_moves(scores: Table) -> Table:
    """(n, n) at [k, l], the log-probability of the scores after moving the k-th to place l."""
    n = len(scores)
    k, p = np.arange(n)[:, None], np.arange(n)[None, :]
    # Without sentence k: at each place of the others, the log of the summed exp-scores to the end.
    others = np.where(k == p, -np.inf, scores)
    without = np.logaddexp.accumulate(others[:, ::-1], axis=1)[:, ::-1]
    together = np.logaddexp(without, scores[:, None])
    # The sentences before place l: those at places 0 to `ahead` - 1, without k.
    ahead = np.where(p <= k, p, p + 1)
    unread_together = _sums_up_to(np.where(k == p, 0, together), ahead)
    unread_without = _sums_up_to(np.where(k == p, 0, without), ahead)
    total_without = np.where(k == p, 0, without).sum(1, keepdims=True)
    own = np.concatenate([together, scores[:, None]], axis=1)[k, ahead]
    return np.asarray(scores.sum() - unread_together - total_without + unread_without - own)


def _sums_up_to(table: Table, ends: NDArray[np.int64]) -> Table:
    """(n, n) at [k, l], the sum of the first ends[k, l] values of row k."""
    sums = np.concatenate([np.zeros((len(table), 1)), table.cumsum(1)], axis=1)
    return np.asarray(np.take_along_axis(sums, ends, axis=1))


def _links_of_moves(links: Table) -> Table:
    """(n, n) at [k, l], the sum of a path's links after moving its k-th sentence to place l.

    links: (n + 1, n + 1) in the order of the path; row n is the start, column n the end.
    """
    n = len(links) - 1
    k, place = np.arange(n)[:, None], np.arange(n)[None, :]
    left = np.where(place <= k, place - 1, place)  # the neighbor before place l, without k
    right = np.where(place < k, place, place + 1)
    path = np.arange(-1, n + 1)  # -1 is the last row: the start
    total = links[path[:-1], path[1:]].sum()
    removed = links[k - 1, k + 1] - links[k - 1, k] - links[k, k + 1]
    inserted = links[left, k] + links[k, right] - links[left, right]
    return np.asarray(total + removed + inserted)
