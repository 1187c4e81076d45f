"""Significance of the difference between two systems: tests paired by document."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from bert4so.document import Order
from bert4so.evaluation.metrics import METRICS

RESAMPLES = 9999
Pair = tuple[Order, Order]


@dataclass(frozen=True)
class Comparison:
    """One metric of two systems on the same documents.

    one, other:  their means.
    t_test:      two-sided p-value of the paired t-test, which the paper uses.
    permutation: two-sided p-value of the paired permutation test, which randomly swaps the two
                 values of a document and assumes no distribution.
    """

    metric: str
    one: float
    other: float
    t_test: float
    permutation: float

    @property
    def mark(self) -> str:
        """The paper's mark for the t-test: † for p < 0.01, ‡ for p < 0.05."""
        return "†" if self.t_test < 0.01 else "‡" if self.t_test < 0.05 else ""


def compare(ones: Sequence[Pair], others: Sequence[Pair], seed: int = 0) -> list[Comparison]:
    """Compare two systems' (predicted, true) orders on every metric averaged over documents.

    Both lists have the same documents in the same order.
    """
    comparisons = []
    for name, metric in METRICS.items():
        if metric.by == "document":
            one = np.array([metric.of(*pair) for pair in ones])
            other = np.array([metric.of(*pair) for pair in others])
            p_values = t_test(one - other), permutation_test(one - other, seed)
            comparisons.append(Comparison(name, float(one.mean()), float(other.mean()), *p_values))
    return comparisons


def t_test(differences: NDArray[np.float64]) -> float:
    """The p-value of the paired t-test; 1 if no document differs or there is only one."""
    if not differences.any() or len(differences) < 2:
        return 1.0
    if np.ptp(differences) == 0:
        return 0.0  # all documents differ by the same amount: t is infinite
    return float(stats.ttest_1samp(differences, 0).pvalue)


def permutation_test(differences: NDArray[np.float64], seed: int = 0) -> float:
    """The p-value of the paired permutation test, over all swaps if few, otherwise over 9,999."""
    if not differences.any():
        return 1.0
    zeros = np.zeros_like(differences)
    result = stats.permutation_test(
        (differences, zeros),
        lambda one, other, axis: np.mean(one - other, axis=axis),
        permutation_type="samples",
        n_resamples=RESAMPLES,
        batch=500,
        rng=np.random.default_rng(seed),
    )
    return float(result.pvalue)
