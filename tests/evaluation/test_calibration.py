import math
import random

import pytest

from bert4so.evaluation.calibration import (
    Bin,
    calibration_bins,
    expected_calibration_error,
    temperature,
    tempered,
)


def simulated(true_temperature: float, documents: int) -> tuple[list[float], list[bool]]:
    """Confidences that are wrong by a known temperature, and what came out."""
    chance = random.Random(0)
    honest = [chance.random() for _ in range(documents)]
    right = [chance.random() < p for p in honest]
    return [p**true_temperature for p in honest], right


def negative_log_likelihood(confidences, right, heat) -> float:
    loss = 0.0
    for confidence, hit in zip(confidences, right, strict=True):
        p = confidence ** (1 / heat)
        loss -= math.log(p) if hit else math.log(1 - p)
    return loss


def error_by_hand(confidences, right, bins) -> float:
    error = 0.0
    for k in range(bins):
        held = [
            (confidence, hit)
            for confidence, hit in zip(confidences, right, strict=True)
            if k / bins <= confidence < (k + 1) / bins or (k == bins - 1 and confidence == 1)
        ]
        if held:
            share = sum(hit for _, hit in held) / len(held)
            mean = sum(confidence for confidence, _ in held) / len(held)
            error += len(held) / len(confidences) * abs(share - mean)
    return error


@pytest.mark.parametrize("bins", [1, 4, 10])
def test_the_error_is_its_formula(bins):
    confidences, right = simulated(3.0, 200)
    confidences, right = [*confidences, 0.0, 1.0], [*right, True, False]
    found = expected_calibration_error(calibration_bins(confidences, right, bins))
    assert found == pytest.approx(error_by_hand(confidences, right, bins))


def test_bins_hold_their_lower_end_and_the_last_holds_one():
    right = [True, False, True, False]
    assert calibration_bins([0.0, 0.25, 0.75, 1.0], right, 4) == [
        Bin(0.0, 1.0, 1),
        Bin(0.25, 0.0, 1),
        Bin(0.875, 0.5, 2),
    ]


def test_what_is_right_as_often_as_it_says_has_no_error():
    bins = calibration_bins([0.25] * 4 + [0.5] * 2, [True, False, False, False, True, False])
    assert expected_calibration_error(bins) == 0


@pytest.mark.parametrize("true", [0.4, 1.0, 2.5])
def test_the_temperature_is_at_the_least_of_its_loss(true):
    confidences, right = simulated(true, 300)
    found = temperature(confidences, right)
    grid = [math.exp(k / 200) for k in range(-900, 901)]
    best = min(grid, key=lambda heat: negative_log_likelihood(confidences, right, heat))
    assert math.log(found) == pytest.approx(math.log(best), abs=1 / 200)


@pytest.mark.parametrize("true", [0.4, 1.0, 2.5])
def test_a_known_temperature_is_found_and_mends_the_confidences(true):
    confidences, right = simulated(true, 20_000)
    found = temperature(confidences, right)
    assert found == pytest.approx(true, rel=0.03)
    mended = [tempered(confidence, found) for confidence in confidences]
    assert expected_calibration_error(calibration_bins(mended, right)) < 0.02
    if true != 1.0:
        assert expected_calibration_error(calibration_bins(confidences, right)) > 0.1


def test_tempering_is_a_power():
    assert tempered(0.25, 2.0) == 0.5
    assert tempered(0.5, 0.5) == 0.25
    assert [tempered(c, 3.0) for c in (0.0, 1.0)] == [0, 1]


def test_where_all_orders_are_right_or_wrong_the_temperature_is_extreme():
    assert 90 < temperature([0.2, 0.5], [True, True]) <= 100
    assert 0.01 <= temperature([0.2, 0.5], [False, False]) < 0.02


def test_confidences_of_zero_and_one_do_not_break_the_temperature():
    confidences, right = simulated(2.0, 1000)
    found = temperature([*confidences, 0.0, 1.0], [*right, False, True])
    assert found == pytest.approx(temperature(confidences, right), rel=1e-3)
    assert 0.01 <= temperature([0.0, 1.0, 1e-300], [True, False, False]) <= 100
