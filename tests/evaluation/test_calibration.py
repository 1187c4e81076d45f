import math
import random

import pytest

from bert4so.evaluation.calibration import (
    Bin,
    apply_temperature,
    calibration_bins,
    expected_calibration_error,
    temperature,
)


def simulated(true_temperature: float, documents: int) -> tuple[list[float], list[bool]]:
    """Confidences distorted by a known temperature, and whether each order is right."""
    chance = random.Random(0)
    calibrated = [chance.random() for _ in range(documents)]
    right = [chance.random() < p for p in calibrated]
    return [p**true_temperature for p in calibrated], right


def negative_log_likelihood(confidences, right, temperature) -> float:
    loss = 0.0
    for confidence, correct in zip(confidences, right, strict=True):
        p = confidence ** (1 / temperature)
        loss -= math.log(p) if correct else math.log(1 - p)
    return loss


def error_by_hand(confidences, right, bins) -> float:
    error = 0.0
    for k in range(bins):
        members = [
            (confidence, correct)
            for confidence, correct in zip(confidences, right, strict=True)
            if k / bins <= confidence < (k + 1) / bins or (k == bins - 1 and confidence == 1)
        ]
        if members:
            share = sum(correct for _, correct in members) / len(members)
            mean = sum(confidence for confidence, _ in members) / len(members)
            error += len(members) / len(confidences) * abs(share - mean)
    return error


@pytest.mark.parametrize("bins", [1, 4, 10])
def test_calibration_error_matches_the_formula(bins):
    confidences, right = simulated(3.0, 200)
    confidences, right = [*confidences, 0.0, 1.0], [*right, True, False]
    error = expected_calibration_error(calibration_bins(confidences, right, bins))
    assert error == pytest.approx(error_by_hand(confidences, right, bins))


def test_bins_include_their_lower_end_and_the_last_bin_includes_one():
    right = [True, False, True, False]
    assert calibration_bins([0.0, 0.25, 0.75, 1.0], right, 4) == [
        Bin(0.0, 1.0, 1),
        Bin(0.25, 0.0, 1),
        Bin(0.875, 0.5, 2),
    ]


def test_perfect_calibration_has_no_error():
    bins = calibration_bins([0.25] * 4 + [0.5] * 2, [True, False, False, False, True, False])
    assert expected_calibration_error(bins) == 0


@pytest.mark.parametrize("true", [0.4, 1.0, 2.5])
def test_temperature_minimizes_the_loss(true):
    confidences, right = simulated(true, 300)
    fitted = temperature(confidences, right)
    grid = [math.exp(k / 200) for k in range(-900, 901)]
    best = min(grid, key=lambda t: negative_log_likelihood(confidences, right, t))
    assert math.log(fitted) == pytest.approx(math.log(best), abs=1 / 200)


@pytest.mark.parametrize("true", [0.4, 1.0, 2.5])
def test_a_known_temperature_is_recovered_and_calibrates_the_confidences(true):
    confidences, right = simulated(true, 20_000)
    fitted = temperature(confidences, right)
    assert fitted == pytest.approx(true, rel=0.03)
    scaled = [apply_temperature(confidence, fitted) for confidence in confidences]
    assert expected_calibration_error(calibration_bins(scaled, right)) < 0.02
    if true != 1.0:
        assert expected_calibration_error(calibration_bins(confidences, right)) > 0.1


def test_a_temperature_is_a_power():
    assert apply_temperature(0.25, 2.0) == 0.5
    assert apply_temperature(0.5, 0.5) == 0.25
    assert [apply_temperature(c, 3.0) for c in (0.0, 1.0)] == [0, 1]


def test_temperature_is_at_a_bound_if_all_orders_are_right_or_wrong():
    assert 90 < temperature([0.2, 0.5], [True, True]) <= 100
    assert 0.01 <= temperature([0.2, 0.5], [False, False]) < 0.02


def test_temperature_handles_confidences_of_zero_and_one():
    confidences, right = simulated(2.0, 1000)
    fitted = temperature([*confidences, 0.0, 1.0], [*right, False, True])
    assert fitted == pytest.approx(temperature(confidences, right), rel=1e-3)
    assert 0.01 <= temperature([0.0, 1.0, 1e-300], [True, False, False]) <= 100
