"""Whether one system is better than another, or only luckier: tests paired by document."""

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
    t_test:      the probability of so great a difference, either way, were there none, by the
                 paired t-test (the paper's).
    permutation: the same by flipping at random which system a document's two values belong to: it
                 assumes nothing of how they are spread.
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
    """Every metric that is a mean over documents, of two systems' (predicted, true) orders.

    The two lists are of the same documents, in the same order.
    """
    found = []
    for name, metric in METRICS.items():
        if metric.by == "document":
            one = np.array([metric.of(*pair) for pair in ones])
            other = np.array([metric.of(*pair) for pair in others])
            p_values = t_test(one - other), permutation_test(one - other, seed)
            found.append(Comparison(name, float(one.mean()), float(other.mean()), *p_values))
    return found


def t_test(differences: NDArray[np.float64]) -> float:
    """The p-value of the paired t-test; 1 where no document differs, or there is but one."""
    if not differences.any() or len(differences) < 2:
        return 1.0
    if np.ptp(differences) == 0:
        return 0.0  # all differ by the same: t is without bound
    return float(stats.ttest_1samp(differences, 0).pvalue)


def permutation_test(differences: NDArray[np.float64], seed: int = 0) -> float:
    """The p-value of the paired permutation test: all flips for few documents, else 9,999."""
    if not differences.any():
        return 1.0
    nothing = np.zeros_like(differences)
    tested = stats.permutation_test(
        (differences, nothing),
        lambda one, other, axis: np.mean(one - other, axis=axis),
        permutation_type="samples",
        n_resamples=RESAMPLES,
        batch=500,
        rng=np.random.default_rng(seed),
    )
    return float(tested.pvalue)
