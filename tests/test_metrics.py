import itertools
import random

import pytest
from scipy.stats import kendalltau

from bert4so.document import inverse
from bert4so.errors import UserError
from bert4so.metrics import average, interchange, kendall_tau, places_right


@pytest.mark.parametrize(
    "predicted, tau",
    [([0, 1, 2], 1), ([2, 1, 0], -1), ([1, 0, 2], 1 / 3), ([0], 1), ([1, 2, 3, 0], 0)],
)
def test_tau_of_small_orders(predicted, tau):
    assert kendall_tau(predicted, sorted(predicted)) == pytest.approx(tau)


@pytest.mark.parametrize("n", [2, 3, 5, 8, 40])
def test_tau_is_the_share_of_pairs_and_what_scipy_says(n):
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


def test_an_order_is_not_taken_for_its_inverse():
    # For up to three sentences most permutations are their own inverse; a 4-cycle is not.
    order = [1, 2, 3, 0]
    assert places_right(inverse(order), order) == 0
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
    counted = average(pairs, count_single=True)
    assert (counted.tau, counted.pmr, counted.accuracy) == (0, 0.5, pytest.approx(1 / 3))
    assert (counted.documents, counted.left_out) == (2, 0)


def test_nothing_to_measure_is_an_error():
    with pytest.raises(UserError, match="no document has more than one sentence"):
        average([([0], [0])])


def test_identical_sentences_are_interchangeable():
    sentences = ["so", "it", "so", "is"]
    true = [0, 1, 2, 3]  # so it so is
    assert interchange([2, 1, 0, 3], true, sentences) == true
    # "it so so is": the second "so" of the text may be either.
    assert interchange([1, 2, 0, 3], true, sentences) == [1, 0, 2, 3]


def test_interchange_finds_the_best_of_all_namings():
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
        found = interchange(predicted, true, sentences)
        assert [sentences[i] for i in found] == text
        assert kendall_tau(found, true) == pytest.approx(best)
