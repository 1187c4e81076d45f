"""Intervals and summaries, against what statistics says of them."""

import random

import numpy as np
import pytest

from bert4so.evaluation.intervals import intervals
from bert4so.evaluation.metrics import METRICS, average
from bert4so.evaluation.summary import consistent, summarize, table


def pairs_of(n, documents, seed=0):
    """Orders that are right four times in ten, else shuffled."""
    rng = random.Random(seed)
    true = [rng.sample(range(n), n) for _ in range(documents)]
    return [(t if rng.random() < 0.4 else rng.sample(range(n), n), t) for t in true]


def test_an_interval_is_about_two_standard_errors_each_way():
    pairs = pairs_of(5, 2000)
    low, high = intervals(pairs)["tau"]
    taus = [METRICS["tau"].of(*pair) for pair in pairs]
    error = np.std(taus) / len(taus) ** 0.5
    assert low == pytest.approx(np.mean(taus) - 1.96 * error, abs=0.3 * error)
    assert high == pytest.approx(np.mean(taus) + 1.96 * error, abs=0.3 * error)


def test_documents_are_drawn_whole_and_weigh_by_their_sentences():
    # Half the sentences are in one long document that is right, so accuracy swings with it.
    pairs = [(list(range(40)), list(range(40)))] + [([1, 0], [0, 1])] * 20
    between = intervals(pairs)
    assert between["accuracy"][0] == 0
    assert between["accuracy"][1] > 0.6
    assert between["accuracy_by_document"][1] < 0.2


def test_intervals_hold_the_average_and_can_be_repeated():
    pairs = [*pairs_of(5, 200), ([0], [0])]
    once = intervals(pairs)
    assert once == intervals(pairs)
    for name, (low, high) in once.items():
        assert low <= getattr(average(pairs), name) <= high
    assert intervals(pairs, seed=1) != once
    assert intervals(pairs, count_single=True)["pmr"] != once["pmr"]


def test_several_shuffles_are_averaged_and_compared():
    rounds = [pairs_of(4, 50, seed) for seed in range(3)]
    found = summarize(rounds)
    assert found.metrics == average(rounds[0])
    taus = [average(pairs).tau for pairs in rounds]
    assert found.shuffles.mean["tau"] == pytest.approx(np.mean(taus))
    assert found.shuffles.spread["tau"] == pytest.approx(np.std(taus, ddof=1))
    assert "3 shuffles" in table(found)


def test_what_is_read_alike_is_told_by_the_text_not_by_the_numbers():
    # The text a b c, shown as (c a b) and as (b c a), and each time read as b a c.
    first = ([2, 1, 0], [1, 2, 0])
    second = ([0, 2, 1], [2, 0, 1])
    assert consistent([[first], [second]]) == 1
    other = ([2, 0, 1], [2, 0, 1])
    assert consistent([[first], [other]]) == 0
    assert consistent([[first], [second], [other]]) == pytest.approx(1 / 3)
