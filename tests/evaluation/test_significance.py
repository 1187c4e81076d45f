import itertools
import math

import numpy as np
import pytest
from scipy.special import stdtr

from bert4so.evaluation.significance import compare, permutation_test, t_test


def test_t_test_matches_the_formula():
    differences = np.random.default_rng(0).normal(0.1, 1, 50)
    t = differences.mean() / (differences.std(ddof=1) / math.sqrt(50))
    assert t_test(differences) == pytest.approx(2 * stdtr(49, -abs(t)))


def test_permutation_test_of_few_documents_tries_all_swaps():
    differences = np.array([0.3, -0.1, 0.5, 0.2, 0.0, 0.4, -0.2])
    observed = abs(differences.mean())
    means = [abs(np.mean(differences * signs)) for signs in itertools.product([1, -1], repeat=7)]
    share = sum(mean >= observed - 1e-12 for mean in means) / len(means)
    assert permutation_test(differences) == pytest.approx(share)


def test_both_tests_agree_on_many_documents():
    differences = np.random.default_rng(1).normal(0.02, 0.4, 2000)
    assert permutation_test(differences) == pytest.approx(t_test(differences), abs=0.02)
    assert permutation_test(differences) == permutation_test(differences)


def test_p_is_one_without_a_difference():
    zeros = np.zeros(10)
    assert (t_test(zeros), permutation_test(zeros)) == (1, 1)
    assert t_test(np.array([0.2])) == 1  # one document is no evidence


def test_t_test_has_the_nominal_false_positive_rate():
    rng = np.random.default_rng(2)
    ps = [t_test(rng.normal(0, 1, 40)) for _ in range(2000)]
    assert np.mean(np.array(ps) < 0.05) == pytest.approx(0.05, abs=0.015)


def test_the_better_system_gets_the_mark_of_the_paper():
    true = [0, 1, 2, 3]
    good = [(true, true)] * 30 + [([1, 0, 2, 3], true)] * 10
    bad = [([3, 2, 1, 0], true)] * 30 + [(true, true)] * 10
    tau = compare(good, bad)[0]
    assert (tau.metric, tau.mark) == ("tau", "†")
    assert tau.one == pytest.approx((30 + 10 * 2 / 3) / 40)
    assert tau.other == pytest.approx((-30 + 10) / 40)
    assert compare(good, good)[0].mark == ""
    assert compare(good[24:], [*good[24:34], *good[30:36]])[0].t_test > 0.05
