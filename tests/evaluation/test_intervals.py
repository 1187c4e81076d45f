"""Intervals and summaries against their statistical properties."""

import random

import numpy as np
import pytest

from bert4so.evaluation.intervals import intervals
from bert4so.evaluation.metrics import METRICS, average
from bert4so.evaluation.summary import mean_consistency, summarize, table


def pairs_of(n, documents, seed=0):
    """(predicted, true) orders; the predicted one is right with probability 0.4, else random."""
    rng = random.Random(seed)
    true = [rng.sample(range(n), n) for _ in range(documents)]
    return [(t if rng.random() < 0.4 else rng.sample(range(n), n), t) for t in true]


def test_an_interval_is_about_two_standard_errors_on_each_side():
    pairs = pairs_of(5, 2000)
    low, high = intervals(pairs)["tau"]
    taus = [METRICS["tau"].of(*pair) for pair in pairs]
    error = np.std(taus) / len(taus) ** 0.5
    assert low == pytest.approx(np.mean(taus) - 1.96 * error, abs=0.3 * error)
    assert high == pytest.approx(np.mean(taus) + 1.96 * error, abs=0.3 * error)


def test_whole_documents_are_drawn_and_weighted_by_sentences():
    # Half the sentences are in one long document that is right, so accuracy depends on its draws.
    pairs = [(list(range(40)), list(range(40)))] + [([1, 0], [0, 1])] * 20
    ends = intervals(pairs)
    assert ends["accuracy"][0] == 0
    assert ends["accuracy"][1] > 0.6
    assert ends["accuracy_by_document"][1] < 0.2


def test_intervals_contain_the_average_and_are_reproducible():
    pairs = [*pairs_of(5, 200), ([0], [0])]
    once = intervals(pairs)
    assert once == intervals(pairs)
    for name, (low, high) in once.items():
        assert low <= getattr(average(pairs), name) <= high
    assert intervals(pairs, seed=1) != once
    assert intervals(pairs, count_single=True)["pmr"] != once["pmr"]


def test_several_shuffles_are_summarized():
    rounds = [pairs_of(4, 50, seed) for seed in range(3)]
    summary = summarize(rounds)
    assert summary.metrics == average(rounds[0])
    taus = [average(pairs).tau for pairs in rounds]
    assert summary.shuffles.mean["tau"] == pytest.approx(np.mean(taus))
    assert summary.shuffles.spread["tau"] == pytest.approx(np.std(taus, ddof=1))
    assert "3 shuffles" in table(summary)


def test_consistency_compares_the_text_and_not_the_indices():
    # The text a b c, shuffled as (c a b) and as (b c a), and both times ordered as b a c.
    first = ([2, 1, 0], [1, 2, 0])
    second = ([0, 2, 1], [2, 0, 1])
    assert mean_consistency([[first], [second]]) == 1
    other = ([2, 0, 1], [2, 0, 1])
    assert mean_consistency([[first], [other]]) == 0
    assert mean_consistency([[first], [second], [other]]) == pytest.approx(1 / 3)
