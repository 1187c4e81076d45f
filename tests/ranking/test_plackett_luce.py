import itertools
import math

import numpy as np
import pytest

from bert4so.ranking.plackett_luce import ranked


def probability(order, scores):
    """Plackett-Luce, one draw at a time."""
    product = 1.0
    for k, i in enumerate(order):
        product *= math.exp(scores[i]) / sum(math.exp(scores[j]) for j in order[k:])
    return product


def test_the_highest_score_is_read_first():
    assert ranked(np.array([0.1, 3.0, -2.0, 1.0])).order == [1, 3, 0, 2]


def test_equal_scores_stay_as_the_puzzle_has_them():
    assert ranked(np.zeros(5)).order == [0, 1, 2, 3, 4]
    assert ranked(np.array([1.0, 2.0, 1.0, 2.0])).order == [1, 3, 0, 2]
    # Many, since sorts that are not stable are so for few.
    assert ranked(np.arange(100) % 2).order == [*range(1, 100, 2), *range(0, 100, 2)]


def test_confidence_is_the_probability_of_the_order():
    scores = [0.3, -1.0, 2.0, 0.5]
    decision = ranked(np.array(scores))
    chances = {order: probability(order, scores) for order in itertools.permutations(range(4))}
    assert sum(chances.values()) == pytest.approx(1)
    assert decision.confidence == pytest.approx(max(chances.values()))
    assert tuple(decision.order) == max(chances, key=chances.get)


def test_before_is_the_probability_of_a_pair():
    scores = [0.3, -1.0, 2.0, 0.5]
    before = ranked(np.array(scores)).before
    chances = {order: probability(order, scores) for order in itertools.permutations(range(4))}
    for i, j in itertools.permutations(range(4), 2):
        first = sum(p for order, p in chances.items() if order.index(i) < order.index(j))
        assert before[i, j] == pytest.approx(first)


def test_far_scores_are_no_trouble():
    decision = ranked(np.array([1000.0, -1000.0, 0.0]))
    assert decision.order == [0, 2, 1]
    assert decision.confidence == pytest.approx(1)
    assert decision.before[1, 0] == 0


def test_one_sentence_is_certain():
    assert ranked(np.array([7.0])).confidence == 1
