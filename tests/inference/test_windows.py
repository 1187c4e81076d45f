"""Long documents: every sentence occurs once, and more rounds improve the order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bert4so import Orderer, Ordering, Puzzle
from bert4so.evaluation.metrics import kendall_tau
from bert4so.inference.windows import MAX_ROUNDS, Windows
from bert4so.modeling.encoder import load_config, load_packer
from bert4so.ranking.bradley_terry import RIDGE
from bert4so.ranking.plackett_luce import ranked


@pytest.fixture(scope="module")
def packer(encoder):
    return load_packer(str(encoder), load_config(str(encoder)))


class Knows:
    """Knows the order of numbered sentences, with less confidence for close ones."""

    def __init__(self, packer):
        self.packer = packer
        self.shown = []

    def check(self, puzzle):
        self.packer.pack(puzzle.sentences)

    def order(self, puzzles):
        for puzzle in puzzles:
            self.check(puzzle)
        self.shown.append([puzzle.sentences for puzzle in puzzles])
        return [
            Ordering.of(
                puzzle,
                ranked(np.array([-number(s) / 3 for s in puzzle.sentences])),
                np.flatnonzero(self.packer.pack(puzzle.sentences).cut).tolist(),
            )
            for puzzle in puzzles
        ]


def number(sentence):
    return int(sentence.split()[0])


def text(n, words=3):
    """Numbered sentences in random order, and their true order."""
    numbers = np.random.default_rng(n).permutation(n)
    sentences = tuple(f"{k:03} {'bread ' * words}".strip() for k in numbers)
    return sentences, np.argsort(numbers).tolist()


def solved(packer, n, rounds=MAX_ROUNDS, words=3):
    backend = Knows(packer)
    sentences, truth = text(n, words)
    (ordering,) = Windows(backend, packer, rounds).order([Puzzle(sentences)])
    return ordering, truth, backend


@pytest.mark.parametrize("n", [50, 100, 300])
def test_more_rounds_improve_the_order(packer, n):
    taus = []
    for rounds in (1, 2, MAX_ROUNDS):
        ordering, truth, _ = solved(packer, n, rounds)
        taus.append(kendall_tau(ordering.order, truth))
    assert taus[0] < taus[1] <= taus[2]
    assert taus[2] > 0.97


def test_the_cost_is_linear_in_the_length_of_the_document(packer):
    for n in (40, 400):
        _, _, backend = solved(packer, n)
        read = sum(len(sentences) for windows in backend.shown for sentences in windows)
        # Twice in each later round, plus the overlap of the last two windows of a round.
        assert read < 1.5 * n * (1 + 2 * (MAX_ROUNDS - 1))
        assert len(backend.shown) <= MAX_ROUNDS


def test_every_window_fits_and_every_sentence_is_read(packer):
    ordering, _, backend = solved(packer, 100)
    for windows in backend.shown:
        assert {number(s) for sentences in windows for s in sentences} == set(range(100))
    assert sorted(ordering.order) == list(range(100))
    assert ordering.truncated == ()


def test_documents_that_fit_into_a_row_go_to_the_backend_unchanged(packer):
    backend = Knows(packer)
    short, long = Puzzle(("002 go", "001 eat")), Puzzle(text(50)[0])
    first, _, last = Windows(backend, packer).order([short, long, short])
    assert first == last == backend.order([short])[0]


def test_the_result_does_not_depend_on_the_input_order(packer):
    orderer = Orderer(Knows(packer), packer)
    sentences, _ = text(80)
    assert orderer.order(sentences[::-1]).sentences == orderer.order(sentences).sentences


def test_sentences_longer_than_a_row_are_truncated_and_reported(packer):
    ordering, truth, _ = solved(packer, 12, words=200)
    assert sorted(ordering.order) == list(range(12))
    assert ordering.truncated == tuple(range(12))
    assert kendall_tau(ordering.order, truth) > 0.8


def test_confidence_is_the_product_over_neighbors(packer):
    ordering, _, _ = solved(packer, 60)
    product = 1.0
    for first, second in zip(ordering.order, ordering.order[1:], strict=False):
        product *= 1 / (1 + np.exp(ordering.scores[second] - ordering.scores[first]))
    assert ordering.confidence == pytest.approx(product, rel=1e-6)
    assert ordering.before is None


def test_the_scores_are_the_strengths_fitted_to_the_pairs_of_all_rounds(packer):
    ordering, _, backend = solved(packer, 60)
    strength = dict(zip(text(60)[0], ordering.scores, strict=True))
    # The gradient of the penalized log-likelihood: 0 at its maximum.
    slope = {s: -RIDGE * strength[s] for s in strength}
    for windows in backend.shown:
        for sentences in windows:
            for a in sentences:
                for b in sentences:
                    before = 1 / (1 + np.exp((number(a) - number(b)) / 3))
                    slope[a] += before - 1 / (1 + np.exp(strength[b] - strength[a]))
    assert len(backend.shown) > 1
    assert list(slope.values()) == pytest.approx([0] * 60, abs=1e-4)


@settings(max_examples=40)
@given(st.lists(st.integers(0, 999), min_size=1, max_size=90), st.integers(0, 60))
def test_every_sentence_occurs_once(packer, numbers, words):
    sentences = tuple(f"{k:03} {'go ' * (words if k % 7 == 0 else 2)}".strip() for k in numbers)
    (ordering,) = Windows(Knows(packer), packer).order([Puzzle(sentences)])
    assert sorted(ordering.order) == list(range(len(sentences)))
    assert ordering.sentences == tuple(sentences[i] for i in ordering.order)
