"""Exact search over all orders of a few sentences, by dynamic programming over sets of sentences.

What an order gains by placing sentence j next depends only on the set of sentences placed before it
and on the last of them, not on the order of the others. So all orders of a set that end with the
same sentence share one value: n * 2 ** n values instead of n! orders (Held and Karp, 1962).

All functions take documents with the same number of sentences, n. Sets are bit masks: bit j is
sentence j.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from bert4so.document import Order
from bert4so.ranking.objective import Objective, Table

MAX_EXACT_SENTENCES = 11
"""Maximum number of sentences for the exact search: 12 would take three times as long."""

MAX_LAYER_VALUES = 1 << 14
"""Maximum number of values of a layer, over documents, to compute at once: fits a core's cache."""

TOLERANCE = 1e-9
"""Log-likelihoods that differ by less count as equal: they are rounded sums."""

Join = Callable[[Table, Table], Table]
"""Combines, over the last sentence i, the values of the orders of each set, (documents, sets, n),
with the links from i to j, (documents, n, n): the values with j next, (documents, sets, n)."""


@dataclass(frozen=True)
class _Layer:
    """The sets of one size, and all ways to add a sentence to one of them.

    sets:   (sets,) the sets.
    source: flat indices into (sets, n): a set and a sentence to add.
    target: flat indices into (2 ** n, n): the larger set and the same sentence as its last.
    """

    sets: NDArray[np.int64]
    source: NDArray[np.int64]
    target: NDArray[np.int64]


def best_orders(objectives: Sequence[Objective]) -> list[Order]:
    """The most likely order of each document; among equals, the one that puts high indices last."""
    return [order for tables in _chunks(objectives) for order in _best_orders(tables)]


def log_totals(objectives: Sequence[Objective]) -> list[float]:
    """The log of the summed likelihood of all orders of each document: log Z."""
    return [total for tables in _chunks(objectives) for total in _log_totals(tables)]


def best_orders_and_log_totals(objectives: Sequence[Objective]) -> list[tuple[Order, float]]:
    """Both results, faster than separately."""
    return [
        result
        for tables in _chunks(objectives)
        for result in zip(_best_orders(tables), _log_totals(tables), strict=True)
    ]


def _best_orders(tables: "_Tables") -> list[Order]:
    links, n = tables.links, tables.n
    values = _values(tables, _most)
    documents, left = np.arange(len(links)), np.full(len(links), 2**n - 1)
    following, backwards = np.full(len(links), n), []
    for _ in range(n):
        ways = values[documents, left] + links[documents, :n, following]
        good = ways >= ways.max(1, keepdims=True) - TOLERANCE
        following = n - 1 - good[:, ::-1].argmax(1)
        left = left ^ (1 << following)
        backwards.append(following)
    orders: list[Order] = np.stack(backwards[::-1], axis=1).tolist()
    return orders


def _log_totals(tables: "_Tables") -> list[float]:
    last = _values(tables, _sum)[:, -1] + tables.links[:, : tables.n, tables.n]
    totals: list[float] = np.logaddexp.reduce(last, axis=1).tolist()
    return totals


@dataclass(frozen=True)
class _Tables:
    """The objectives of several documents of n sentences, as tables.

    links: (documents, n + 1, n + 1) weighted log-probabilities of successors.
    gains: (documents, 2 ** n, n) the gain of placing a sentence after a set, without its link.
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
    """(documents, 2 ** n, n) the joined value of all orders of a set that end with a sentence."""
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
    """(2 ** n, n) the gain in log-likelihood of placing a sentence after a set, without its link.

    The sentence then comes before all that are left.
    """
    left = ~_inside(len(objective))
    left[-1] = True  # nothing comes after the complete set: any finite value will do
    scores = np.where(left, objective.scores, -np.inf)
    top = scores.max(1, keepdims=True)
    unread = top + np.log(np.exp(scores - top).sum(1, keepdims=True))
    ahead = left.astype(np.float64) @ objective.before.T
    return np.asarray(objective.weight * (objective.scores - unread) + ahead)


def _most(values: Table, links: Table) -> Table:
    """The value of the best order that leads to each next sentence."""
    best = values[..., 0, None] + links[:, None, 0]
    for i in range(1, links.shape[1]):
        np.maximum(best, values[..., i, None] + links[:, None, i], out=best)
    return best


def _sum(values: Table, links: Table) -> Table:
    """The log of the summed likelihood of all orders that lead to each next sentence.

    Computed as a matrix product: a link is at least `MIN_PROBABILITY` to the power of its weight,
    and orders that underflow, exp(745) times less likely than the best, do not change the sum.
    """
    top = values.max(2, keepdims=True)
    return np.asarray(top + np.log(np.exp(values - top) @ np.exp(links)))


@lru_cache(MAX_EXACT_SENTENCES)
def _inside(n: int) -> NDArray[np.bool_]:
    """(2 ** n, n) whether a sentence is in a set."""
    return (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(bool)


@lru_cache(MAX_EXACT_SENTENCES)
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
    """Split documents so that the layer with the most sets has at most `MAX_LAYER_VALUES`."""
    n = len(objectives[0])
    largest = max([len(layer.sets) for layer in _layers(n)], default=1)
    step = max(1, MAX_LAYER_VALUES // (largest * n))
    for start in range(0, len(objectives), step):
        yield _Tables.of(objectives[start : start + step])
