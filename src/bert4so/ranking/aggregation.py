"""An order out of pairs: from the probability that i is read before j, for every i and j.

    before: (n, n) before[i, j] is that probability, before[j, i] is 1 - before[i, j], and
            before[i, i] is 0.5.

Only `topological` depends on how the sentences are numbered. In the others what is equal is decided
by Borda's sums, and only then by the place in the puzzle.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bert4so.document import Decision, Order

Before = NDArray[np.float64]
Aggregation = Callable[[Before], Order]

EXACT = 15
"""Up to so many sentences all orders are weighed: 2 ** EXACT sets of sentences are looked at."""

LEAST = 1e-12
"""No pair is held to be less likely: an order against a certain pair has a logarithm too."""

CLOSE = 1e-9
"""Log-likelihoods that differ by less are equal: they are sums, and sums are rounded."""


def borda(before: Before) -> Order:
    """Those first that are read before most others, by the sum of the probabilities."""
    order: Order = np.argsort(-before.sum(1), kind="stable").tolist()
    return order


def copeland(before: Before) -> Order:
    """Those first that win most pairs; a pair at 0.5 is half a win."""
    wins = (before > 0.5).sum(1) + 0.5 * (before == 0.5).sum(1)
    order: Order = np.lexsort((-before.sum(1), -wins)).tolist()
    return order


def ranked_pairs(before: Before) -> Order:
    """Tideman (1987): the surest pairs first, each is heeded unless those before it forbid it."""
    numbers = np.array(borda(before))
    before = before[np.ix_(numbers, numbers)]
    n = len(before)
    i, j = np.triu_indices(n, 1)
    against = before[i, j] < 0.5  # Borda's order: equal ones come after those that are not
    i, j = np.where(against, j, i), np.where(against, i, j)
    leads = np.eye(n, dtype=bool)  # [i, j]: i is j, or is read before it
    for k in np.lexsort((against, -before[i, j])):
        if not leads[j[k], i[k]]:
            leads |= leads[:, i[k], None] & leads[j[k]]
    order: Order = numbers[np.argsort(-leads.sum(1), kind="stable")].tolist()
    return order


def most_likely(before: Before) -> Order:
    """The order of the greatest `likelihood`.

    Exact up to `EXACT` sentences. Beyond, the best that `borda`, `copeland` and `ranked_pairs`
    give, improved: the sentence whose move to another place helps most is moved, until no move of
    a single sentence helps.
    """
    numbers = np.array(borda(before))
    known = before[np.ix_(numbers, numbers)]
    found = _best(known) if len(known) <= EXACT else _improved(known)
    order: Order = numbers[found].tolist()
    return order


def topological(before: Before) -> Order:
    """B-TSort (Prabhumoye et al., 2020), as its public code does it: a sort of a graph.

    The likelier of every two is an edge; exactly 0.5 is one from the lower number (our choice).
    Searching depth-first from sentence 0 upward, an edge to a sentence on the current path is
    deleted, and the search begins anew until there is none. Then the sentences are sorted
    topologically: depth-first again, each put in front of all when it is finished.

    A search begun anew goes the same way, and past the deleted edge; in the sort that edge would
    lead to a sentence already seen. So one search gives the same order.
    """
    leads = (before > 0.5) | np.triu(before == 0.5, 1)
    seen: set[int] = set()
    finished: Order = []
    for root in range(len(before)):
        path = [root] if root not in seen else []
        seen.add(root)
        while path:
            new = next((int(j) for j in np.flatnonzero(leads[path[-1]]) if j not in seen), None)
            if new is None:
                finished.append(path.pop())
            else:
                seen.add(new)
                path.append(new)
    return finished[::-1]


def likelihood(before: Before, order: Order) -> float:
    """The log of the product, over all pairs, of the probability that they are read as in order."""
    return float(np.triu(_logs(before)[np.ix_(order, order)], 1).sum())


def decided(before: Before, order: Order) -> Decision:
    """The order as a decision; it is of pairs, so that no sentence has a score of its own.

    The confidence is the order's share of the likelihood of all orders. Beyond `EXACT` sentences it
    is that of those considered, which is more than its true share: the order itself, all orders
    in which one sentence is moved, and the most likely order.
    """
    assert np.isfinite(before).all(), "a model gave a probability that is not a number"
    total = _sum_of_all(before) if len(order) <= EXACT else _sum_of_near(before, order)
    share = np.exp(min(likelihood(before, order) - total, 0.0))
    return Decision(
        order=order,
        confidence=float(max(share, np.finfo(np.float64).tiny)),
        before=before,
    )


def _logs(before: Before) -> Before:
    return np.log(np.clip(before, LEAST, 1))


def _over_sets(logs: Before, join: Callable[[Before, Before], Before]) -> tuple[Before, Before]:
    """What all orders of each set of sentences come to, joined two by two; sets are bits.

    The last of a set is each of its sentences in turn: all(S) joins all(S - j) + last(j, S - j),
    where last(j, S) is the log-likelihood that j is read after all of S.
    Returns all, (2 ** n,), and last, (n, 2 ** n).
    """
    n = len(logs)
    last, sizes = np.zeros((n, 1)), np.zeros(1, dtype=np.int64)
    for i in range(n):
        last = np.concatenate([last, last + logs[i][:, None]], axis=1)
        sizes = np.concatenate([sizes, sizes + 1])
    every = np.where(sizes == 0, 0.0, -np.inf)
    for size in range(1, n + 1):
        sets = np.flatnonzero(sizes == size)
        for j in range(n):
            having = sets[sets >> j & 1 == 1]
            rest = having ^ (1 << j)
            every[having] = join(every[having], every[rest] + last[j, rest])
    return every, last


def _best(before: Before) -> Order:
    """The most likely order; of equal ones that which puts high numbers last."""
    best, last = _over_sets(_logs(before), np.maximum)
    left, order = len(best) - 1, []
    while left:
        ways = {j: left ^ (1 << j) for j in range(len(before)) if left >> j & 1}
        good = [j for j, rest in ways.items() if best[rest] + last[j, rest] > best[left] - CLOSE]
        order.append(good[-1])
        left = ways[good[-1]]
    return order[::-1]


def _improved(before: Before) -> Order:
    """An order that no move of a single sentence makes likelier."""
    starts = [borda(before), copeland(before), ranked_pairs(before)]
    order = max(starts, key=lambda start: likelihood(before, start))
    while True:
        gains = gains_of_moves(_logs(before), order)
        source, target = divmod(int(gains.argmax()), len(order))
        if gains[source, target] < CLOSE:
            return order
        order.insert(target, order.pop(source))


def gains_of_moves(logs: Before, order: Order) -> Before:
    """(n, n) at [k, l] what the log-likelihood gains when the k-th sentence moves to place l."""
    odds = (logs - logs.T)[np.ix_(order, order)]
    # up_to[k, l]: over the sentences at places 0 to l, the log-odds of k being read first.
    up_to = odds.cumsum(1)
    own = np.diagonal(up_to)[:, None]
    before_l = np.concatenate([np.zeros((len(order), 1)), up_to[:, :-1]], axis=1)
    return own - np.where(np.tri(len(order), k=-1) == 1, before_l, up_to)


def _sum_of_all(before: Before) -> float:
    """The log of the summed likelihood of all orders."""
    return float(_over_sets(_logs(before), np.logaddexp)[0][-1])


def _sum_of_near(before: Before, order: Order) -> float:
    """The log of the summed likelihood of those orders that `decided` considers."""
    n = len(order)
    # Every order once: a move up by one place is the move of its neighbor down.
    once = ~np.eye(n, dtype=bool) & ~np.eye(n, k=-1, dtype=bool)
    moved = gains_of_moves(_logs(before), order)[once]
    near = np.logaddexp.reduce(np.append(moved, 0.0)) + likelihood(before, order)
    best = most_likely(before)
    if any([k for k in best if k != i] == [k for k in order if k != i] for i in order):
        return float(near)
    return float(np.logaddexp(near, likelihood(before, best)))
