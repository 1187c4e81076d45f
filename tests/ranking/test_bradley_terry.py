"""Strengths out of pairs, against the formula in loops."""

from math import exp, log

import numpy as np
import pytest

from bert4so.ranking.bradley_terry import RIDGE, Pairs, strengths


def likelihood(pairs, found):
    total = -RIDGE / 2 * sum(s**2 for s in found)
    for i, j, p in zip(pairs.first, pairs.second, pairs.share, strict=True):
        q = 1 / (1 + exp(found[j] - found[i]))
        total += p * log(q) + (1 - p) * log(1 - q)
    return total


def drawn(n, number, seed):
    """Pairs at random, some of them more than once, and what is said of them."""
    draw = np.random.default_rng(seed)
    first = draw.integers(0, n, number)
    second = (first + draw.integers(1, n, number)) % n
    return Pairs(first, second, draw.random(number))


@pytest.mark.parametrize("n, number", [(2, 1), (5, 7), (20, 60), (40, 30)])
def test_no_other_strengths_are_likelier(n, number):
    pairs = drawn(n, number, seed=n)
    found = strengths(pairs, np.zeros(n))
    best = likelihood(pairs, found)
    for i in range(n):
        for change in (-0.01, 0.01):
            other = found.copy()
            other[i] += change
            assert likelihood(pairs, other) < best


def test_the_strengths_that_made_the_pairs_are_found():
    true = np.linspace(3, -3, 12)
    i, j = np.triu_indices(12, 1)
    found = strengths(Pairs(i, j, 1 / (1 + np.exp(true[j] - true[i]))), np.zeros(12))
    assert np.abs(found - true).max() < 0.2  # a little drawn to 0
    assert (np.diff(found) < 0).all()


def test_where_one_begins_does_not_matter():
    pairs = drawn(30, 200, seed=1)
    far = np.random.default_rng(2).normal(0, 10, 30)
    assert strengths(pairs, far) == pytest.approx(strengths(pairs, np.zeros(30)), abs=1e-4)


def test_certain_pairs_have_an_end():
    n = 50
    found = strengths(Pairs(np.arange(n - 1), np.arange(1, n), np.ones(n - 1)), np.zeros(n))
    assert np.isfinite(found).all()
    assert (np.diff(found) < 0).all()
