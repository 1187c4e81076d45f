"""Whether a confidence means what it says: of orders that are 0.7 sure, seven in ten are right.

A confidence is a system's probability of the whole order it gives, so an order counts as right
where all of it is. Documents of one sentence cannot be wrong: the caller leaves them out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

EXTREME = 100.0
"""Temperatures are sought from 1 / EXTREME to EXTREME."""


@dataclass(frozen=True)
class Bin:
    """Documents of about the same confidence.

    confidence: the mean of their confidences.
    right:      the share of them whose order is exactly right.
    documents:  how many they are.
    """

    confidence: float
    right: float
    documents: int


def calibration_bins(
    confidences: Sequence[float], right: Sequence[bool], bins: int = 10
) -> list[Bin]:
    """The documents in bins of equal width; bins without documents are left out.

    The k-th bin holds k / bins <= confidence < (k + 1) / bins; the last one holds 1 as well.
    """
    sure, hit = np.array(confidences), np.array(right)
    number = np.minimum((sure * bins).astype(int), bins - 1)
    return [
        Bin(float(sure[here].mean()), float(hit[here].mean()), int(here.sum()))
        for here in (number == k for k in range(bins))
        if here.any()
    ]


def expected_calibration_error(bins: Sequence[Bin]) -> float:
    """sum_b documents_b / documents * |right_b - confidence_b|: 0 where confidence is share right.

    Naeini et al. (2015); in the form of Guo et al. (2017), section 2.
    """
    documents = sum(one.documents for one in bins)
    return sum(one.documents * abs(one.right - one.confidence) for one in bins) / documents


def tempered(confidence: float, temperature: float) -> float:
    """confidence ** (1 / temperature), for systems with scores and systems without.

    Above 1 the temperature makes a system surer of the order it gives, below 1 less sure. (This is
    the probability of one order by itself: the orders not given are unknown, so the powers are not
    made to sum to 1 as those of Guo et al. are.)
    """
    return float(confidence ** (1 / temperature))


def temperature(confidences: Sequence[float], right: Sequence[bool]) -> float:
    """The T for which c ** (1 / T) best tells which of some orders are exactly right.

    It minimizes the negative log-likelihood of what came out,
    -sum_(right) log c^(1/T) - sum_(wrong) log(1 - c^(1/T)), which is convex in 1 / T and so has one
    minimum. Where all orders are right, or all wrong, that is near an end of the range.
    """
    # A confidence of 0 or 1 rules an outcome out: had it come out, the likelihood would be 0.
    double = np.finfo(np.float64)
    log_sure = np.log(np.clip(confidences, double.tiny, 1 - double.epsneg))
    hit = np.array(right)

    def loss(log_temperature: float) -> float:
        log_right = log_sure * np.exp(-log_temperature)
        return -float(np.where(hit, log_right, np.log(-np.expm1(log_right))).sum())

    ends = (-np.log(EXTREME), np.log(EXTREME))
    return float(np.exp(minimize_scalar(loss, bounds=ends, method="bounded").x))
