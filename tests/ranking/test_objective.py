"""The log-likelihood of an order, by its formula in loops."""

import math
from itertools import permutations

import numpy as np
import pytest

from bert4so import Decision
from bert4so.document import HeadWeights
from bert4so.ranking.aggregation import likelihood
from bert4so.ranking.objective import MIN_PROBABILITY, Objective
from bert4so.ranking.plackett_luce import ranked

WEIGHTS = HeadWeights(scores=0.7, before=0.4, next=1.3)


def random_decision(n, seed, weights=WEIGHTS):
    """A random decision on n sentences; its order is meaningless."""
    rng = np.random.default_rng([n, seed])
    scores, logits = rng.normal(0, 2, n), np.triu(rng.normal(0, 2, (n, n)), 1)
    before = 1 / (1 + np.exp(logits.T - logits))
    after = rng.normal(0, 2, (n + 1, n + 1))
    np.fill_diagonal(after, -np.inf)
    with np.errstate(divide="ignore"):
        after -= np.log(np.exp(after).sum(1, keepdims=True))
    return Decision(list(range(n)), 1.0, tuple(scores), before, after, weights)


def by_hand(decision, order):
    """The formula of `bert4so.ranking.objective`, term by term."""
    n, weights, total = len(order), decision.weights, 0.0
    for k, i in enumerate(order):
        unread = sum(math.exp(decision.scores[j]) for j in order[k:])
        total += weights.scores * (decision.scores[i] - math.log(unread))
        for j in order[k + 1 :]:
            total += weights.before * math.log(max(decision.before[i, j], MIN_PROBABILITY))
    last = n
    for i in [*order, n]:
        total += weights.next * max(decision.next[last, i], math.log(MIN_PROBABILITY))
        last = i
    return total


@pytest.mark.parametrize("n", [1, 2, 3, 5, 9])
def test_the_log_likelihood_is_its_formula(n):
    for seed in range(5):
        decision = random_decision(n, seed)
        order = np.random.default_rng(seed).permutation(n).tolist()
        found = Objective.of(decision).log_likelihood(order)
        assert found == pytest.approx(by_hand(decision, order), rel=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_moves_have_the_log_likelihoods_of_the_orders_they_make(n):
    for seed in range(4):
        decision = random_decision(n, seed)
        order = np.random.default_rng(seed).permutation(n).tolist()
        moves = Objective.of(decision).of_moves(order)
        for k in range(n):
            for place in range(n):
                moved = order[:k] + order[k + 1 :]
                moved.insert(place, order[k])
                assert moves[k, place] == pytest.approx(by_hand(decision, moved), rel=1e-9)


def test_nearly_impossible_orders_have_a_finite_log_likelihood():
    decision = random_decision(3, 0)
    decision.before[0, 1], decision.before[1, 0] = 1, 0
    decision.next[2, 0] = -np.inf
    for order in permutations(range(3)):
        found = Objective.of(decision).log_likelihood(list(order))
        assert found == pytest.approx(by_hand(decision, list(order)), rel=1e-9)


def test_scores_that_are_far_apart_do_not_overflow():
    decision = random_decision(3, 0)
    objective = Objective.weighted(
        np.array([1000.0, -1000.0, 0.0]), decision.before, decision.next, HeadWeights(1, 0, 0)
    )
    assert objective.log_likelihood([0, 2, 1]) == pytest.approx(0)
    assert objective.log_likelihood([1, 2, 0]) == pytest.approx(-3000)
    assert np.isfinite(objective.of_moves([0, 1, 2])).all()


def test_with_scores_alone_the_log_likelihood_is_the_log_of_the_confidence():
    decision = ranked(np.array([0.3, -1.0, 2.0, 0.5]))
    found = Objective.of(decision).log_likelihood(decision.order)
    assert found == pytest.approx(math.log(decision.confidence))


def test_with_pairs_alone_the_log_likelihood_is_that_of_the_pairs():
    before = random_decision(5, 0).before
    objective = Objective.of(Decision([3, 1, 0, 4, 2], 1.0, before=before))
    for order in permutations(range(5)):
        assert objective.log_likelihood(list(order)) == pytest.approx(
            likelihood(before, list(order))
        )
