"""All orders of a few sentences at once, by dynamic programming over sets of sentences.

What an order gains by reading sentence j next depends on which sentences have been read, and on
which was the last, not on how those before it were ordered. So all orders of a set that end with
the same sentence are taken together: n * 2 ** n values instead of n! orders (Held and Karp, 1962).

All functions take documents of the same number of sentences, n. Sets are integers: bit j is
sentence j.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from bert4so.document import Order
from bert4so.ranking.objective import Objective, Table

EXACT = 11
"""The most sentences whose orders are all considered: with 12 it would take three times as long."""

CELLS = 1 << 14
"""Values of a layer, over documents, that are computed at once: what fits the cache of a core."""

CLOSE = 1e-9
"""Log-likelihoods that differ by less are equal: they are sums, and sums are rounded."""

Join = Callable[[Table, Table], Table]
"""From (documents, sets, n), what the orders of each set come to by their last sentence i, and
(documents, n, n), the links from i to j: (documents, sets, n), what they come to with j next."""


@dataclass(frozen=True)
class _Layer:
    """The sets of one size, and how they grow by a sentence.

    sets:   (sets,) the sets.
    source: where in (sets, n), flat, a sentence is that can be read next.
    target: where in (2 ** n, n), flat, it is then the last of the larger set.
    """

    sets: NDArray[np.int64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]


def best_orders(objectives: Sequence[Objective]) -> list[Order]:
    """The most likely order of each document.

    Of equally likely orders, the one that reads high numbers last.
    """
    return [order for tables in _chunks(objectives) for order in _best_orders(tables)]


def log_totals(objectives: Sequence[Objective]) -> list[float]:
    """The log of the summed likelihood of all orders of each document: log Z."""
    return [total for tables in _chunks(objectives) for total in _log_totals(tables)]


def best_orders_and_log_totals(objectives: Sequence[Objective]) -> list[tuple[Order, float]]:
    """Both, in less time than one after the other."""
    return [
        found
        for tables in _chunks(objectives)
        for found in zip(_best_orders(tables), _log_totals(tables), strict=True)
    ]


def _best_orders(tables: "_Tables") -> list[Order]:
    links, n = tables.links, tables.n
    values = _values(tables, _most)
    documents, left = np.arange(len(links)), np.full(len(links), 2**n - 1)
    following, found = np.full(len(links), n), []
    for _ in range(n):
        ways = values[documents, left] + links[documents, :n, following]
        good = ways >= ways.max(1, keepdims=True) - CLOSE
        following = n - 1 - good[:, ::-1].argmax(1)
        left = left ^ (1 << following)
        found.append(following)
    orders: list[Order] = np.stack(found[::-1], axis=1).tolist()
    return orders


def _log_totals(tables: "_Tables") -> list[float]:
    last = _values(tables, _sum)[:, -1] + tables.links[:, : tables.n, tables.n]
    totals: list[float] = np.logaddexp.reduce(last, axis=1).tolist()
    return totals


@dataclass(frozen=True)
class _Tables:
    """What is known of some documents of n sentences.

    links: (documents, n + 1, n + 1) weighted log-probabilities of successors.
    gains: (documents, 2 ** n, n) what else reading a sentence next gains after a set.
    """

    n: int
    links: Table
    gains: Table

    @classmethod
    def of(cls, objectives: Sequence[Objective]) -> "_Tables":
        return cls(
            n=len(objectives[0]),
            links=np.stack([one.next for one in objectives]),
            gains=np.stack([_gains(one) for one in objectives]),
        )


def _values(tables: _Tables, join: Join) -> Table:
    """(documents, 2 ** n, n) what all orders of a set come to that end with a sentence of it."""
    n, links, gains = tables.n, tables.links, tables.gains
    values = np.full(gains.shape, -np.inf)
    first, single = np.arange(n), 1 << np.arange(n)
    values[:, single, first] = gains[:, 0] + links[:, n, :n]
    flat = values.reshape(len(values), -1)
    for layer in _layers(n):
        grown = join(values[:, layer.sets], links[:, :n, :n]) + gains[:, layer.sets]
        flat[:, layer.target] = grown.reshape(len(values), -1)[:, layer.source]
    return values


def _gains(objective: Objective) -> Table:
    """(2 ** n, n) what reading a sentence next gains after a set, but for its link to the last.

    It is then read before all that is left.
    """
    left = ~_inside(len(objective))
    left[-1] = True  # after the last sentence nothing is read: any finite number will do
    scores = np.where(left, objective.scores, -np.inf)
    top = scores.max(1, keepdims=True)
    unread = top + np.log(np.exp(scores - top).sum(1, keepdims=True))
    ahead = left.astype(np.float64) @ objective.before.T
    return np.asarray(objective.weight * (objective.scores - unread) + ahead)


def _most(values: Table, links: Table) -> Table:
    """The best way to each next sentence."""
    best = values[..., 0, None] + links[:, None, 0]
    for i in range(1, links.shape[1]):
        np.maximum(best, values[..., i, None] + links[:, None, i], out=best)
    return best


def _sum(values: Table, links: Table) -> Table:
    """All ways to each next sentence.

    As a product of matrices: no link is less likely than `LEAST` to the power of its weight, and
    what is lost where a way is less likely than the likeliest by more than exp(745) is nothing.
    """
    top = values.max(2, keepdims=True)
    return np.asarray(top + np.log(np.exp(values - top) @ np.exp(links)))


@lru_cache(EXACT)
def _inside(n: int) -> NDArray[np.bool_]:
    """(2 ** n, n) whether a sentence is in a set."""
    return (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(bool)


@lru_cache(EXACT)
def _layers(n: int) -> list[_Layer]:
    """The sets of 1 to n - 1 sentences, by size."""
    inside = _inside(n)
    size, layers = inside.sum(1), []
    for k in range(1, n):
        sets = np.flatnonzero(size == k)
        row, sentence = np.nonzero(~inside[sets])
        target = (sets[row] | 1 << sentence) * n + sentence
        layers.append(_Layer(sets, row * n + sentence, target))
    return layers


def _chunks(objectives: Sequence[Objective]) -> Iterator[_Tables]:
    """As many documents at a time as `CELLS` allows in the layer with the most sets."""
    n = len(objectives[0])
    largest = max([len(layer.sets) for layer in _layers(n)], default=1)
    step = max(1, CELLS // (largest * n))
    for start in range(0, len(objectives), step):
        yield _Tables.of(objectives[start : start + step])
