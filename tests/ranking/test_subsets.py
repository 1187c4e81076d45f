"""The exact search and the sum over all orders, against all orders one by one."""

import math
from dataclasses import replace
from itertools import permutations

import numpy as np
import pytest
from test_objective import by_hand, random_decision

from bert4so.document import HeadWeights
from bert4so.ranking import subsets
from bert4so.ranking.objective import Objective
from bert4so.ranking.subsets import best_orders, log_totals

WEIGHTS = [
    HeadWeights(1, 0, 0),
    HeadWeights(0, 1, 0),
    HeadWeights(0, 0, 1),
    HeadWeights(0.3, 0, 1),
    HeadWeights(0.7, 0.4, 1.3),
]


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
def test_the_best_order_and_the_sum_are_those_of_all_orders(n, weights):
    decisions = [random_decision(n, seed, weights) for seed in range(4)]
    objectives = [Objective.of(decision) for decision in decisions]
    found = zip(decisions, best_orders(objectives), log_totals(objectives), strict=True)
    for decision, order, total in found:
        values = {p: by_hand(decision, list(p)) for p in permutations(range(n))}
        assert by_hand(decision, order) == pytest.approx(max(values.values()), abs=1e-8)
        assert total == pytest.approx(math.log(sum(map(math.exp, values.values()))), abs=1e-8)


def test_ties_keep_the_order_of_the_puzzle():
    for n in (1, 2, 5, 9):
        nothing = random_decision(n, 0)
        flat = replace(
            nothing,
            scores=(0.0,) * n,
            before=np.full((n, n), 0.5),
            next=np.zeros((n + 1, n + 1)),
        )
        assert best_orders([Objective.of(flat)]) == [list(range(n))]


def test_scores_that_are_far_apart_are_summed():
    scores = np.array([1000.0, -1000.0, 0.0, 5.0])
    objective = Objective.weighted(
        scores, np.full((4, 4), 0.5), np.zeros((5, 5)), HeadWeights(1.0, 0.0, 0.0)
    )
    assert best_orders([objective]) == [[0, 3, 2, 1]]
    assert log_totals([objective])[0] == pytest.approx(0, abs=1e-9)  # Plackett-Luce sums to 1


def test_nearly_impossible_links_are_summed():
    decision = random_decision(5, 1, HeadWeights(0, 0, 10))
    decision.next[:, 2] = -np.inf
    values = [by_hand(decision, list(p)) for p in permutations(range(5))]
    top = max(values)
    total = top + math.log(sum(math.exp(value - top) for value in values))
    assert log_totals([Objective.of(decision)])[0] == pytest.approx(total, abs=1e-8)


def test_the_result_does_not_depend_on_the_other_documents(monkeypatch):
    objectives = [Objective.of(random_decision(7, seed)) for seed in range(9)]
    together, totals = best_orders(objectives), log_totals(objectives)
    monkeypatch.setattr(subsets, "MAX_LAYER_VALUES", 1)
    assert best_orders(objectives) == together
    assert log_totals(objectives) == pytest.approx(totals)


@pytest.mark.parametrize("n", [9, subsets.MAX_EXACT_SENTENCES])
def test_no_order_near_the_best_is_better(n):
    for seed in range(3):
        objective = Objective.of(random_decision(n, seed))
        (order,) = best_orders([objective])
        best = objective.log_likelihood(order)
        assert objective.of_moves(order).max() <= best + 1e-8
        assert log_totals([objective])[0] >= best
