"""Strengths out of pairs: how early each sentence is, where few of all pairs have been looked at.

Bradley and Terry (1952): i is read before j with probability 1 / (1 + exp(s_j - s_i)). The
strengths s are those by which what was said of the pairs is the most likely, a little drawn to 0:

    sum over pairs of  p log q + (1 - p) log(1 - q)  -  RIDGE / 2 * sum of s^2,   q that probability
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RIDGE = 0.02
"""So that a sentence that is before all others has a strength too."""

STEPS = 50
"""Of Newton's method, at most: about ten are taken."""

FARTHEST = 2.0
"""No strength changes by more in a step: far from its end, Newton's method steps too far."""

CLOSE = 1e-6
"""The strengths are found when none changes by more."""

Vector = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Pairs:
    """What was said of some pairs; one may be there several times.

    first, second: the sentences, by their numbers.
    share:         the probability that the first is read before the second.
    """

    first: Numbers
    second: Numbers
    share: Vector


def strengths(pairs: Pairs, start: Vector) -> Vector:
    """The strength of each sentence, higher the earlier, found from a guess.

    Newton's method, each step by conjugate gradients: the cost grows as the number of pairs does.
    """
    found = start
    for _ in range(STEPS):
        before = 1 / (1 + np.exp(found[pairs.second] - found[pairs.first]))
        slope = _sums(pairs, pairs.share - before, len(found)) - RIDGE * found
        step = _newton_step(pairs, before * (1 - before), slope)
        found = found + np.clip(step, -FARTHEST, FARTHEST)
        if np.abs(step).max() < CLOSE:
            break
    return found


def _sums(pairs: Pairs, values: Vector, n: int) -> Vector:
    """For each sentence the values of its pairs, added where it is the first, else subtracted."""
    plus, minus = np.bincount(pairs.first, values, n), np.bincount(pairs.second, values, n)
    return np.asarray(plus - minus)


def _newton_step(pairs: Pairs, weights: Vector, slope: Vector) -> Vector:
    """x where H x = slope, by conjugate gradients; H is the curvature, its diagonal their guide."""
    n = len(slope)

    def curved(x: Vector) -> Vector:
        return _sums(pairs, weights * (x[pairs.first] - x[pairs.second]), n) + RIDGE * x

    diagonal = np.bincount(pairs.first, weights, n) + np.bincount(pairs.second, weights, n) + RIDGE
    x, left = np.zeros(n), slope
    guided = left / diagonal
    direction, size = guided, left @ guided
    enough = CLOSE**2 * size
    for _ in range(n):
        if size <= enough:
            break
        bent = curved(direction)
        far = size / (direction @ bent)
        x, left = x + far * direction, left - far * bent
        guided = left / diagonal
        size, before = left @ guided, size
        direction = guided + size / before * direction
    return x
