"""Calibration of confidences: 70 % of the orders with confidence 0.7 should be correct.

A confidence is a system's probability of the whole order it predicts, so an order counts as correct
only if it is correct as a whole. Documents of one sentence are always correct: the caller leaves
them out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize_scalar

MAX_TEMPERATURE = 100.0
"""Temperatures are searched between 1 / MAX_TEMPERATURE and MAX_TEMPERATURE."""


@dataclass(frozen=True)
class Bin:
    """Documents with similar confidence.

    confidence: their mean confidence.
    right:      share of the documents whose whole order is correct.
    documents:  number of documents.
    """

    confidence: float
    right: float
    documents: int


def calibration_bins(
    confidences: Sequence[float], right: Sequence[bool], bins: int = 10
) -> list[Bin]:
    """Group documents into bins of equal width; empty bins are left out.

    Bin k, counted from 0, holds k / bins <= confidence < (k + 1) / bins; the last one also holds 1.
    """
    confidence, correct = np.array(confidences), np.array(right)
    number = np.minimum((confidence * bins).astype(int), bins - 1)
    return [
        Bin(float(confidence[members].mean()), float(correct[members].mean()), int(members.sum()))
        for members in (number == k for k in range(bins))
        if members.any()
    ]


def expected_calibration_error(bins: Sequence[Bin]) -> float:
    """sum_b documents_b / documents * |right_b - confidence_b|; 0 is perfect calibration.

    Naeini et al. (2015); in the form of Guo et al. (2017), section 2.
    """
    documents = sum(one.documents for one in bins)
    return sum(one.documents * abs(one.right - one.confidence) for one in bins) / documents


def apply_temperature(confidence: float, temperature: float) -> float:
    """confidence ** (1 / temperature), for systems with scores and systems without.

    A temperature above 1 raises the confidence, one below 1 lowers it. (Only the probability of the
    predicted order is known, not those of the other orders, so the powers are not normalized to sum
    to 1 as in Guo et al.)
    """
    return float(confidence ** (1 / temperature))


def temperature(confidences: Sequence[float], right: Sequence[bool]) -> float:
    """The T for which c ** (1 / T) best predicts which orders are correct as a whole.

    Minimizes the negative log-likelihood of the outcomes,
    -sum_(right) log c^(1/T) - sum_(wrong) log(1 - c^(1/T)), which is convex in 1 / T and so has one
    minimum. If all orders are right, or all wrong, it lies near an end of the range.
    """
    # A confidence of exactly 0 or 1 could make the likelihood 0.
    double = np.finfo(np.float64)
    log_confidence = np.log(np.clip(confidences, double.tiny, 1 - double.epsneg))
    correct = np.array(right)

    def loss(log_temperature: float) -> float:
        log_right = log_confidence * np.exp(-log_temperature)
        return -float(np.where(correct, log_right, np.log(-np.expm1(log_right))).sum())

    bounds = (-np.log(MAX_TEMPERATURE), np.log(MAX_TEMPERATURE))
    return float(np.exp(minimize_scalar(loss, bounds=bounds, method="bounded").x))
