import itertools
import random
import sys
from dataclasses import fields

import pytest
from scipy.stats import kendalltau

from bert4so.document import inverse
from bert4so.errors import UserError
from bert4so.evaluation.metrics import (
    METRICS,
    Metrics,
    accuracy,
    average,
    common_subsequence,
    consistency,
    interchange,
    kendall_tau,
)


@pytest.mark.parametrize(
    "predicted, tau",
    [([0, 1, 2], 1), ([2, 1, 0], -1), ([1, 0, 2], 1 / 3), ([0], 1), ([1, 2, 3, 0], 0)],
)
def test_tau_of_small_orders(predicted, tau):
    assert kendall_tau(predicted, sorted(predicted)) == pytest.approx(tau)


@pytest.mark.parametrize("n", [2, 3, 5, 8, 40])
def test_tau_matches_pair_counting_and_scipy(n):
    rng = random.Random(n)
    for _ in range(20):
        predicted, true = rng.sample(range(n), n), rng.sample(range(n), n)
        places = inverse(predicted), inverse(true)
        pairs = list(itertools.combinations(range(n), 2))
        wrong = sum(
            (places[0][i] < places[0][j]) != (places[1][i] < places[1][j]) for i, j in pairs
        )
        tau = kendall_tau(predicted, true)
        assert tau == pytest.approx(1 - 2 * wrong / len(pairs))
        assert tau == pytest.approx(kendalltau(*places).statistic)


def test_tau_of_ten_thousand_sentences_matches_scipy():
    n = 10_000
    order = random.Random(0).sample(range(n), n)
    assert kendall_tau(order, list(range(n))) == pytest.approx(kendalltau(order, range(n))[0])


def lines_run(function, *args):
    """The number of lines that Python runs in a call, which is the same on every machine."""
    lines = 0

    def trace(frame, event, arg):
        nonlocal lines
        lines += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        function(*args)
    finally:
        sys.settrace(before)
    return lines


def test_tau_takes_n_log_n_steps():
    rng = random.Random(0)
    few, many = (
        lines_run(kendall_tau, rng.sample(range(n), n), list(range(n))) for n in (500, 2000)
    )
    assert many < 6 * few  # n log n: 4.9 times; over all pairs: 16 times


def by_hand(name, predicted, true):
    """Each metric of one document from its definition, in loops."""
    n = len(true)
    place = {s: k for k, s in enumerate(predicted)}
    true_place = {s: k for k, s in enumerate(true)}
    pairs = list(itertools.combinations(range(n), 2))
    right_pairs = sum((place[i] < place[j]) == (true_place[i] < true_place[j]) for i, j in pairs)
    if name.startswith("within_"):
        return sum(abs(place[s] - true_place[s]) <= int(name[-1]) for s in range(n)) / n
    return {
        "tau": 2 * right_pairs / len(pairs) - 1,
        "pmr": float(all(place[s] == true_place[s] for s in range(n))),
        "accuracy": sum(place[s] == true_place[s] for s in range(n)) / n,
        "accuracy_by_document": sum(place[s] == true_place[s] for s in range(n)) / n,
        "rouge_s": right_pairs / len(pairs),
        "lcs": longest_common(predicted, true) / n,
        "first": float(place[true[0]] == 0),
        "last": float(place[true[-1]] == n - 1),
    }[name]


def longest_common(one, other):
    """By trying all subsequences."""
    for size in range(len(one), 0, -1):
        ours = set(itertools.combinations(one, size))
        if ours & set(itertools.combinations(other, size)):
            return size
    return 0


@pytest.mark.parametrize("name", METRICS)
def test_each_metric_matches_its_definition(name):
    rng = random.Random(name)
    pairs = [(rng.sample(range(n), n), rng.sample(range(n), n)) for n in (2, 3, 4, 6, 8, 8)]
    pairs.append(([3, 0, 1, 2], [3, 0, 1, 2]))
    values = [by_hand(name, *pair) for pair in pairs]
    assert [METRICS[name].of(*pair) for pair in pairs] == pytest.approx(values)
    weights = [len(t) for _, t in pairs] if METRICS[name].by == "sentence" else [1] * len(pairs)
    mean = sum(w * v for w, v in zip(weights, values, strict=True)) / sum(weights)
    assert getattr(average(pairs), name) == pytest.approx(mean)


def test_every_metric_is_averaged():
    assert {field.name for field in fields(Metrics)} == {*METRICS, "documents", "left_out"}


def test_the_longest_common_subsequence_of_one_moved_sentence_is_the_rest():
    assert common_subsequence([1, 2, 3, 4, 0], [0, 1, 2, 3, 4]) == 4 / 5


def test_consistency_is_the_share_of_equal_pairs():
    assert consistency([[0, 1], [0, 1], [1, 0]]) == 1 / 3
    assert consistency([[0, 1], [0, 1]]) == 1


def test_an_order_and_its_inverse_differ():
    # For up to three sentences most permutations are their own inverse; a 4-cycle is not.
    order = [1, 2, 3, 0]
    assert accuracy(inverse(order), order) == 0
    assert average([(order, order)]).pmr == 1
    assert average([(inverse(order), order)]).pmr == 0


def test_averages():
    pairs = [([0, 1], [0, 1]), ([1, 0, 2], [0, 1, 2])]
    metrics = average(pairs)
    assert metrics.tau == pytest.approx((1 + 1 / 3) / 2)
    assert metrics.pmr == 0.5
    assert metrics.accuracy == pytest.approx(3 / 5)  # over sentences, not over documents
    assert (metrics.documents, metrics.left_out) == (2, 0)


def test_a_document_of_one_sentence_counts_only_on_request():
    pairs = [([1, 0], [0, 1]), ([0], [0])]
    assert average(pairs).tau == -1
    assert average(pairs).left_out == 1
    with_single = average(pairs, count_single=True)
    assert (with_single.tau, with_single.pmr, with_single.accuracy) == (
        0,
        0.5,
        pytest.approx(1 / 3),
    )
    assert (with_single.documents, with_single.left_out) == (2, 0)


def test_averages_need_a_document_of_two_sentences():
    with pytest.raises(UserError, match="no document has more than one sentence"):
        average([([0], [0])])


def test_identical_sentences_are_interchangeable():
    sentences = ["so", "it", "so", "is"]
    true = [0, 1, 2, 3]  # so it so is
    assert interchange([2, 1, 0, 3], true, sentences) == true
    # "it so so is": the second "so" of the text may be either.
    assert interchange([1, 2, 0, 3], true, sentences) == [1, 0, 2, 3]


def test_interchange_gives_the_best_equivalent_order():
    rng = random.Random(0)
    for _ in range(50):
        sentences = [rng.choice("ab") for _ in range(5)]
        predicted, true = rng.sample(range(5), 5), rng.sample(range(5), 5)
        text = [sentences[i] for i in predicted]
        same_text = [
            list(order)
            for order in itertools.permutations(range(5))
            if [sentences[i] for i in order] == text
        ]
        best = max(kendall_tau(order, true) for order in same_text)
        interchanged = interchange(predicted, true, sentences)
        assert [sentences[i] for i in interchanged] == text
        assert kendall_tau(interchanged, true) == pytest.approx(best)
