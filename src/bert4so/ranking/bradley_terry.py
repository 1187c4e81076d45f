"""Strengths from pairs: how early each sentence is, given the probabilities of some pairs.

Bradley and Terry (1952): i comes before j with probability q = 1 / (1 + exp(s_j - s_i)). The
strengths s maximize the likelihood of the given pair probabilities p, with a small ridge penalty:

    sum over pairs of  p log q + (1 - p) log(1 - q)  -  RIDGE / 2 * sum of s^2
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

RIDGE = 0.02
"""Penalty that keeps the strength of a sentence before all others finite."""

MAX_STEPS = 50
"""Maximum number of Newton steps; about ten are needed."""

MAX_CHANGE = 2.0
"""Maximum change of a strength per step: far from the solution, Newton's method overshoots."""

TOLERANCE = 1e-6
"""Iteration stops when no strength changes by more."""

Vector = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Pairs:
    """Probabilities of some pairs; a pair may occur several times.

    first, second: indices of the sentences.
    share:         probability that the first comes before the second.
    """

    first: Numbers
    second: Numbers
    share: Vector


def strengths(pairs: Pairs, start: Vector) -> Vector:
    """The strength of each sentence; a higher strength means an earlier place.

    Newton's method with conjugate gradients, from the initial guess `start`: the cost is linear in
    the number of pairs.
    """
    strength = start
    for _ in range(MAX_STEPS):
        before = 1 / (1 + np.exp(strength[pairs.second] - strength[pairs.first]))
        slope = _sums(pairs, pairs.share - before, len(strength)) - RIDGE * strength
        step = _newton_step(pairs, before * (1 - before), slope)
        strength = strength + np.clip(step, -MAX_CHANGE, MAX_CHANGE)
        if np.abs(step).max() < TOLERANCE:
            break
    return strength


def _sums(pairs: Pairs, values: Vector, n: int) -> Vector:
    """For each sentence, the sum of its pairs' values; negated where it is the second."""
    plus, minus = np.bincount(pairs.first, values, n), np.bincount(pairs.second, values, n)
    return np.asarray(plus - minus)


def _newton_step(pairs: Pairs, weights: Vector, slope: Vector) -> Vector:
    """Solve H x = slope, H the curvature, by preconditioned conjugate gradients."""
    n = len(slope)

    def curved(x: Vector) -> Vector:
        return _sums(pairs, weights * (x[pairs.first] - x[pairs.second]), n) + RIDGE * x

    diagonal = np.bincount(pairs.first, weights, n) + np.bincount(pairs.second, weights, n) + RIDGE
    x, left = np.zeros(n), slope
    guided = left / diagonal
    direction, size = guided, left @ guided
    enough = TOLERANCE**2 * size
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
