"""An order from pair probabilities: the probability that i comes before j, for every i and j.

    before: (n, n) before[i, j] is that probability, before[j, i] is 1 - before[i, j], and
            before[i, i] is 0.5.

Only `topological` depends on how the sentences are numbered. The others break ties by Borda's sums,
and then by the index in the puzzle.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from bert4so.document import Decision, Order

Before = NDArray[np.float64]
Aggregation = Callable[[Before], Order]

MAX_EXACT_SENTENCES = 15
"""Maximum number of sentences, n, for the exact search: it compares 2 ** n sets of sentences."""

MIN_PROBABILITY = 1e-12
"""Lower bound of pair probabilities, so that every order has a finite log-likelihood."""

TOLERANCE = 1e-9
"""Log-likelihoods that differ by less count as equal: they are rounded sums."""


def borda(before: Before) -> Order:
    """Sort by the sum of the probabilities of coming before each other sentence."""
    order: Order = np.argsort(-before.sum(1), kind="stable").tolist()
    return order


def copeland(before: Before) -> Order:
    """Sort by the number of pairs won; a pair at 0.5 is half a win."""
    wins = (before > 0.5).sum(1) + 0.5 * (before == 0.5).sum(1)
    order: Order = np.lexsort((-before.sum(1), -wins)).tolist()
    return order


def ranked_pairs(before: Before) -> Order:
    """Tideman (1987): accept the most certain pairs first, unless they contradict accepted ones."""
    numbers = np.array(borda(before))
    before = before[np.ix_(numbers, numbers)]
    n = len(before)
    i, j = np.triu_indices(n, 1)
    against = before[i, j] < 0.5  # against Borda's order; sorted behind equally certain others
    i, j = np.where(against, j, i), np.where(against, i, j)
    leads = np.eye(n, dtype=bool)  # [i, j]: i is j, or comes before it
    for k in np.lexsort((against, -before[i, j])):
        if not leads[j[k], i[k]]:
            leads |= leads[:, i[k], None] & leads[j[k]]
    order: Order = numbers[np.argsort(-leads.sum(1), kind="stable")].tolist()
    return order


def most_likely(before: Before) -> Order:
    """The order with the highest `likelihood`.

    Exact up to `MAX_EXACT_SENTENCES` sentences. For more, local search from the best of `borda`,
    `copeland` and `ranked_pairs`: it moves the single sentence that helps most, until no move
    helps.
    """
    numbers = np.array(borda(before))
    known = before[np.ix_(numbers, numbers)]
    best = _best(known) if len(known) <= MAX_EXACT_SENTENCES else _improved(known)
    order: Order = numbers[best].tolist()
    return order


def topological(before: Before) -> Order:
    """B-TSort (Prabhumoye et al., 2020), as its public code does it: a topological sort.

    The more likely direction of each pair is an edge; at exactly 0.5 it starts at the lower index
    (our choice). The public code searches depth-first from sentence 0 upward, deletes an edge to a
    sentence on the current path, and starts again until there is none. Then it sorts topologically:
    depth-first again, each sentence put in front of all others when it is finished.

    A restarted search follows the same path past the deleted edge, and in the sort that edge would
    lead to a sentence already seen. So a single search gives the same order.
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
    """The log of the product, over all pairs, of the probability of their order in `order`."""
    return float(np.triu(_logs(before)[np.ix_(order, order)], 1).sum())


def decided(before: Before, order: Order) -> Decision:
    """The order as a decision. It comes from pairs, so sentences have no scores.

    The confidence is the order's share of the likelihood of all orders. Beyond
    `MAX_EXACT_SENTENCES` sentences it is an upper bound: the share among the order itself, all
    orders in which one sentence is moved, and the most likely order.
    """
    assert np.isfinite(before).all(), "a model gave a probability that is not a number"
    total = (
        _sum_of_all(before) if len(order) <= MAX_EXACT_SENTENCES else _sum_of_near(before, order)
    )
    share = np.exp(min(likelihood(before, order) - total, 0.0))
    return Decision(
        order=order,
        confidence=float(max(share, np.finfo(np.float64).tiny)),
        before=before,
    )


def _logs(before: Before) -> Before:
    return np.log(np.clip(before, MIN_PROBABILITY, 1))


def _over_sets(logs: Before, join: Callable[[Before, Before], Before]) -> tuple[Before, Before]:
    """Combine the log-likelihoods of all orders of each set of sentences; sets are bit masks.

    Dynamic programming over the last sentence of a set: all(S) joins all(S - j) + last(j, S - j)
    over j in S, where last(j, S) is the log-likelihood that j comes after all of S.
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
    """The most likely order; among equals, the one that puts high indices last."""
    best, last = _over_sets(_logs(before), np.maximum)
    left, order = len(best) - 1, []
    while left:
        ways = {j: left ^ (1 << j) for j in range(len(before)) if left >> j & 1}
        good = [
            j for j, rest in ways.items() if best[rest] + last[j, rest] > best[left] - TOLERANCE
        ]
        order.append(good[-1])
        left = ways[good[-1]]
    return order[::-1]


def _improved(before: Before) -> Order:
    """An order that no move of a single sentence makes more likely."""
    starts = [borda(before), copeland(before), ranked_pairs(before)]
    order = max(starts, key=lambda start: likelihood(before, start))
    while True:
        gains = gains_of_moves(_logs(before), order)
        source, target = divmod(int(gains.argmax()), len(order))
        if gains[source, target] < TOLERANCE:
            return order
        order.insert(target, order.pop(source))


def gains_of_moves(logs: Before, order: Order) -> Before:
    """(n, n) at [k, l], the gain in log-likelihood when the k-th sentence moves to place l."""
    odds = (logs - logs.T)[np.ix_(order, order)]
    # up_to[k, l]: summed over the sentences at places 0 to l, the log-odds of k coming first.
    up_to = odds.cumsum(1)
    own = np.diagonal(up_to)[:, None]
    before_l = np.concatenate([np.zeros((len(order), 1)), up_to[:, :-1]], axis=1)
    return own - np.where(np.tri(len(order), k=-1) == 1, before_l, up_to)


def _sum_of_all(before: Before) -> float:
    """The log of the summed likelihood of all orders."""
    return float(_over_sets(_logs(before), np.logaddexp)[0][-1])


def _sum_of_near(before: Before, order: Order) -> float:
    """The log of the summed likelihood of the orders that `decided` considers."""
    n = len(order)
    # Count every order once: moving a sentence up by one place moves its neighbor down.
    once = ~np.eye(n, dtype=bool) & ~np.eye(n, k=-1, dtype=bool)
    moved = gains_of_moves(_logs(before), order)[once]
    near = np.logaddexp.reduce(np.append(moved, 0.0)) + likelihood(before, order)
    best = most_likely(before)
    if any([k for k in best if k != i] == [k for k in order if k != i] for i in order):
        return float(near)
    return float(np.logaddexp(near, likelihood(before, best)))
