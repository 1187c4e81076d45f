import math
from itertools import permutations

import numpy as np
import pytest

from bert4so.ranking import aggregation
from bert4so.ranking.aggregation import (
    borda,
    copeland,
    decided,
    likelihood,
    most_likely,
    ranked_pairs,
    topological,
)

INDEX_FREE = [borda, copeland, ranked_pairs, most_likely]
ALL = [*INDEX_FREE, topological]


def drawn(n, seed):
    """Pair probabilities at random, with many a cycle in them."""
    gaps = np.random.default_rng(seed).normal(size=(n, n))
    return 1 / (1 + np.exp(gaps.T - gaps))


def table(n, **chances):
    """Pair probabilities by hand: p01=0.9 says that 0 is read before 1 with 0.9; others are 0.5."""
    before = np.full((n, n), 0.5)
    for pair, chance in chances.items():
        i, j = int(pair[1]), int(pair[2])
        before[i, j], before[j, i] = chance, 1 - chance
    return before


def by_hand(before, order):
    """The log-likelihood, one pair at a time."""
    total = 0.0
    for k, i in enumerate(order):
        for j in order[k + 1 :]:
            total += math.log(before[i, j])
    return total


CYCLE = table(4, p01=0.9, p12=0.8, p20=0.6, p03=0.7, p13=0.7, p23=0.45)
"""0 before 1, 1 before 2, 2 before 0; and 3 before 2 only."""


def test_likelihood_is_that_of_all_pairs():
    for order in permutations(range(5)):
        before = drawn(5, 1)
        assert likelihood(before, list(order)) == pytest.approx(by_hand(before, order))


def test_borda_sorts_by_the_sum_of_the_probabilities():
    # Sums, with 0.5 for itself: 0.9+0.4+0.7, 0.1+0.8+0.7, 0.6+0.2+0.45, 0.3+0.3+0.55.
    assert borda(CYCLE) == [0, 1, 2, 3]
    # 0 wins every pair by little, 1 loses one by little and wins the other by much.
    assert borda(table(3, p01=0.51, p02=0.51, p12=0.99)) == [1, 0, 2]


def test_copeland_sorts_by_pairs_won_and_equals_by_borda():
    assert copeland(table(3, p01=0.51, p02=0.51, p12=0.99)) == [0, 1, 2]
    # 0 and 1 win two pairs each, 2 and 3 one each; by Borda 1 > 0 and 3 > 2.
    before = table(4, p01=0.6, p12=0.9, p20=0.6, p03=0.7, p13=0.9, p23=0.2)
    assert copeland(before) == [1, 0, 3, 2]
    # A pair at 0.5 is half a win: 3 has three, 0 has one and a half, 1 has one, 2 has a half.
    before = table(4, p01=0.51, p02=0.5, p12=0.99, p30=0.55, p31=0.51, p32=0.6)
    assert copeland(before) == [3, 0, 1, 2]
    assert borda(before) == [1, 3, 0, 2]


def test_ranked_pairs_leave_out_what_closes_a_cycle():
    # 0.9: 0 1. 0.8: 1 2. 0.7: 0 3, 1 3. 0.6: 2 0 closes a cycle. 0.55: 3 2.
    assert ranked_pairs(CYCLE) == [0, 1, 3, 2]
    # The same with the weakest pair of the cycle elsewhere: 0.9: 2 0. 0.8: 1 2; 0 1 closes one.
    assert ranked_pairs(table(3, p20=0.9, p12=0.8, p01=0.6)) == [1, 2, 0]


@pytest.mark.parametrize("n", range(1, 7))
def test_the_most_likely_order_is_found(n):
    for seed in range(8):
        before = drawn(n, seed)
        best = max(permutations(range(n)), key=lambda order: by_hand(before, order))
        assert most_likely(before) == list(best)


@pytest.mark.parametrize("n", range(1, 7))
def test_confidence_is_the_share_of_all_orders(n):
    before = drawn(n, 3)
    orders = list(permutations(range(n)))
    total = sum(math.exp(by_hand(before, order)) for order in orders)
    found = [decided(before, list(order)).confidence for order in orders]
    expected = [math.exp(by_hand(before, order)) / total for order in orders]
    assert found == pytest.approx(expected)
    assert sum(found) == pytest.approx(1)


def moved(order):
    """The order, and all in which one sentence stands elsewhere."""
    near = {tuple(order)}
    for sentence in order:
        rest = [i for i in order if i != sentence]
        near |= {(*rest[:k], sentence, *rest[k:]) for k in range(len(order))}
    return near


def test_beyond_what_is_exact_no_move_helps(monkeypatch):
    monkeypatch.setattr(aggregation, "MAX_EXACT_SENTENCES", 3)
    found = []
    for seed in range(30):
        before = drawn(7, seed)
        order = most_likely(before)
        likelihoods = [by_hand(before, near) for near in moved(order)]
        assert max(likelihoods) == pytest.approx(by_hand(before, order))
        for other in (borda, copeland, ranked_pairs):
            assert by_hand(before, order) >= by_hand(before, other(before)) - 1e-9
        exact = max(by_hand(before, one) for one in permutations(range(7)))
        found.append(by_hand(before, order) > exact - 1e-9)
    assert sum(found) > 20  # not always the best, but mostly


def test_beyond_what_is_exact_confidence_is_the_share_of_those_considered(monkeypatch):
    monkeypatch.setattr(aggregation, "MAX_EXACT_SENTENCES", 3)
    for seed in range(10):
        before = drawn(5, seed)
        for order in permutations(range(5)):
            considered = moved(order) | {tuple(most_likely(before))}
            total = sum(math.exp(by_hand(before, one)) for one in considered)
            expected = math.exp(by_hand(before, order)) / total
            assert decided(before, list(order)).confidence == pytest.approx(expected)


def test_a_decision_has_bordas_sums_and_the_pairs():
    before = drawn(4, 0)
    decision = decided(before, [2, 0, 3, 1])
    assert decision.order == [2, 0, 3, 1]
    assert decision.scores is None
    assert (decision.before == before).all()


@pytest.mark.parametrize("method", INDEX_FREE)
@pytest.mark.parametrize("n", [2, 5, 9, 18])
def test_other_numbers_give_the_same_order(method, n):
    for seed in range(5):
        before = drawn(n, seed)
        order = method(before)
        numbers = np.random.default_rng(seed).permutation(n)  # what was numbers[i] is i
        again = method(before[np.ix_(numbers, numbers)])
        assert [int(numbers[i]) for i in again] == order


def test_the_topological_order_depends_on_the_numbers():
    # A cycle of three: each number begins its own.
    before = table(3, p01=0.9, p12=0.8, p20=0.6)
    assert topological(before) == [0, 1, 2]
    numbers = [1, 2, 0]
    again = topological(before[np.ix_(numbers, numbers)])
    assert [numbers[i] for i in again] == [1, 2, 0]


class Graph:
    """The public procedure as it is described, by recursion."""

    def __init__(self, before):
        n = len(before)
        self.edges = {i: [j for j in range(n) if j != i and before[i, j] > 0.5] for i in range(n)}

    def break_cycle(self):
        seen, path = set(), set()

        def search(i):
            seen.add(i)
            path.add(i)
            for j in self.edges[i]:
                if j not in seen:
                    if search(j):
                        return True
                elif j in path:
                    self.edges[i].remove(j)
                    return True
            path.remove(i)
            return False

        return any(search(i) for i in self.edges if i not in seen)

    def sort(self):
        seen, order = set(), []

        def visit(i):
            seen.add(i)
            for j in self.edges[i]:
                if j not in seen:
                    visit(j)
            order.insert(0, i)

        for i in self.edges:
            if i not in seen:
                visit(i)
        return order


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 12])
def test_the_topological_order_is_that_of_the_public_procedure(n):
    for seed in range(30):
        before = drawn(n, seed)
        graph = Graph(before)
        while graph.break_cycle():
            pass
        assert topological(before) == graph.sort()


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("n", [1, 2, 15, 16, 40, 60])
def test_every_length_is_ordered(method, n):
    before = drawn(n, 0)
    order = method(before)
    assert sorted(order) == list(range(n))
    assert all(type(i) is int for i in order)
    assert 0 < decided(before, order).confidence <= 1


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("n", [1, 5, 20])
def test_where_nothing_is_known_the_puzzle_stays_as_it_is(method, n):
    assert method(np.full((n, n), 0.5)) == list(range(n))


@pytest.mark.parametrize("method", [ranked_pairs, most_likely])
def test_what_is_equal_is_decided_by_borda(method):
    # A cycle of which each pair is as sure; only 3 tells them apart, and prefers 2, then 0.
    before = table(4, p01=0.8, p12=0.8, p20=0.8, p03=0.7, p13=0.6, p23=0.9)
    assert borda(before) == [2, 0, 1, 3]
    assert method(before) == [2, 0, 1, 3]


@pytest.mark.parametrize("method", ALL)
@pytest.mark.parametrize("n", [4, 17])
def test_pairs_that_are_certain_are_no_trouble(method, n):
    certain = (drawn(n, 0) > 0.5).astype(np.float64)
    np.fill_diagonal(certain, 0.5)
    order = method(certain)
    assert sorted(order) == list(range(n))
    assert 0 < decided(certain, order).confidence <= 1
    straight = np.triu(np.ones((n, n)), 1) + 0.5 * np.eye(n)
    assert method(straight) == list(range(n))
    assert decided(straight, list(range(n))).confidence == pytest.approx(1)
    assert 0 < decided(straight, list(range(n))[::-1]).confidence < 1e-9
