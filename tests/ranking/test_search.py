"""The beam and its improvement, against the exact search; probabilities of whole orders."""

import math
from itertools import permutations

import numpy as np
import pytest
from test_objective import by_hand, random_decision

from bert4so import Decision
from bert4so.document import HeadWeights
from bert4so.ranking import search
from bert4so.ranking.objective import Objective
from bert4so.ranking.search import Solution, beam, solve_all
from bert4so.ranking.subsets import MAX_EXACT_SENTENCES, best_orders, log_totals

WEIGHTS = [HeadWeights(0, 1, 0.3), HeadWeights(0.3, 0, 1), HeadWeights(0.7, 0.4, 1.3)]


def noisy_decision(n, seed, weights, noise=1.5):
    """A plausible decision: the true order plus noise."""
    rng = np.random.default_rng([n, seed])
    place = rng.permutation(n)
    at = np.append(place, -1)  # the start, as a row
    logits = 0.7 * (place - place[:, None]) + rng.normal(0, noise, (n, n))
    logits = np.triu(logits, 1) - np.triu(logits, 1).T
    gaps = np.append(place, n) - at[:, None] - 1
    after = np.where(gaps == 0, 3.0, -0.5 * np.abs(gaps)) + rng.normal(0, noise, gaps.shape)
    np.fill_diagonal(after, -np.inf)
    after -= np.log(np.exp(after).sum(1, keepdims=True))
    scores = -place + rng.normal(0, noise, n)
    return Decision(
        np.argsort(place).tolist(), 1.0, tuple(scores), 1 / (1 + np.exp(-logits)), after, weights
    )


@pytest.fixture
def approximately(monkeypatch):
    """Use the approximate search for documents of any length."""
    monkeypatch.setattr(search, "MAX_EXACT_SENTENCES", 0)


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
def test_the_beam_finds_what_the_exact_search_finds(weights, approximately):
    missed, cases = 0, 0
    for n in (1, 2, 3, 6, 9, MAX_EXACT_SENTENCES):
        decisions = [noisy_decision(n, seed, weights) for seed in range(6)]
        objectives = [Objective.of(decision) for decision in decisions]
        best = best_orders(objectives)
        for objective, order, found in zip(objectives, best, solve_all(objectives), strict=True):
            cases += 1
            missed += found.log_likelihood < objective.log_likelihood(order) - 1e-8
            assert found.log_likelihood == pytest.approx(objective.log_likelihood(found.order))
    assert missed <= 0.05 * cases


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
def test_the_beam_is_exact_if_no_prefix_is_dropped(weights):
    # Five sentences have at most 30 prefixes that differ in their set or their last sentence.
    for seed in range(8):
        objective = Objective.of(random_decision(5, seed, weights))
        order, total = beam(objective)
        assert order == best_orders([objective])[0]
        assert total == pytest.approx(log_totals([objective])[0], abs=1e-8)


@pytest.mark.parametrize("n", [6, 11])
def test_the_approximate_sum_is_never_too_large(n, approximately):
    for seed in range(6):
        for decision in (random_decision(n, seed), noisy_decision(n, seed, WEIGHTS[2])):
            objective = Objective.of(decision)
            (solution,) = solve_all([objective])
            (total,) = log_totals([objective])
            assert solution.log_likelihood <= solution.log_total <= total + 1e-8


def test_no_single_move_improves_the_solution():
    for seed in range(3):
        objective = Objective.of(noisy_decision(30, seed, WEIGHTS[2]))
        (solution,) = solve_all([objective])
        assert not solution.exact
        assert objective.of_moves(solution.order).max() <= solution.log_likelihood + 1e-8


@pytest.mark.parametrize("weights", WEIGHTS, ids=str)
def test_the_probability_is_the_share_of_all_orders(weights):
    for n in (1, 2, 5):
        decision = random_decision(n, 3, weights)
        (solution,) = solve_all([Objective.of(decision)])
        shares = {p: math.exp(by_hand(decision, list(p))) for p in permutations(range(n))}
        wanted = shares[tuple(solution.order)] / sum(shares.values())
        assert solution.exact
        assert solution.probability == pytest.approx(wanted, rel=1e-7)
        assert max(shares, key=shares.get) == tuple(solution.order)


@pytest.mark.parametrize("n", [5, 20, 60])
def test_ties_keep_the_order_of_the_puzzle(n):
    objective = Objective.weighted(
        np.zeros(n), np.full((n, n), 0.5), np.zeros((n + 1, n + 1)), HeadWeights(1, 1, 1)
    )
    (solution,) = solve_all([objective])
    assert solution.order == list(range(n))


def test_documents_of_different_lengths_are_searched_together():
    objectives = [
        Objective.of(noisy_decision(n, n, WEIGHTS[1])) for n in (5, 20, 5, 1, 13, 12, 20, 2)
    ]
    together = solve_all(objectives)
    assert together == [solve_all([objective])[0] for objective in objectives]


def test_a_long_document_is_searched():
    objective = Objective.of(noisy_decision(200, 0, WEIGHTS[0], noise=0.5))
    (solution,) = solve_all([objective])
    assert sorted(solution.order) == list(range(200))
    assert 0 < solution.probability <= 1


def test_scores_that_are_far_apart_are_searched():
    n = 20
    scores = 1000.0 * np.arange(n)[::-1]
    objective = Objective.weighted(
        scores, np.full((n, n), 0.5), np.zeros((n + 1, n + 1)), HeadWeights(1, 0, 0)
    )
    (solution,) = solve_all([objective])
    assert solution.order == list(range(n))
    assert solution.probability == pytest.approx(1)


def test_a_probability_too_small_for_a_float_is_not_zero():
    assert Solution([0], -2000.0, 0.0).probability > 0


def test_local_search_improves_the_order_of_a_narrow_beam(monkeypatch):
    monkeypatch.setattr(search, "MAX_BEAM_WIDTH", 1)
    monkeypatch.setattr(search, "MIN_BEAM_WIDTH", 1)
    gains = []
    for seed in range(5):
        objective = Objective.of(random_decision(20, seed))
        order, _ = beam(objective)
        (solution,) = solve_all([objective])
        gains.append(solution.log_likelihood - objective.log_likelihood(order))
        assert objective.of_moves(solution.order).max() <= solution.log_likelihood + 1e-8
    assert min(gains) >= 0
    assert max(gains) > 1
