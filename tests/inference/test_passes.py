"""Results depend on the sentences only, not on their input order."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert4so import Decision, Orderer, Ordering, Puzzle, UserError
from bert4so.inference.passes import Passes, shuffled_by_words
from bert4so.ranking.aggregation import borda, decided
from bert4so.ranking.plackett_luce import ranked

SENTENCES = ("a", "bb", "ccc", "dddd")


class Swayed:
    """Scores a sentence by its length and its place in the row; truncates the last one."""

    def __init__(self):
        self.shown = []

    def check(self, puzzle):
        if len(puzzle.sentences) > 50:
            raise UserError("too many")

    def scores(self, sentences):
        return np.array([-len(s) + 0.9 * np.cos(7 * k) for k, s in enumerate(sentences)])

    def order(self, puzzles):
        self.shown += [puzzle.sentences for puzzle in puzzles]
        return [
            Ordering.of(p, ranked(self.scores(p.sentences)), [len(p.sentences) - 1])
            for p in puzzles
        ]


class Pairs(Swayed):
    """Has pair probabilities, but no scores."""

    def order(self, puzzles):
        return [
            Ordering.of(p, Decision(list(range(len(p.sentences))), 1.0, None, self.before(p)), [])
            for p in puzzles
        ]

    def before(self, puzzle):
        return ranked(self.scores(puzzle.sentences)).before


@pytest.mark.parametrize("passes", [1, 2, 5])
@pytest.mark.parametrize("backend", [Swayed, Pairs])
def test_the_result_does_not_depend_on_the_input_order(backend, passes):
    averaged = Passes(backend(), passes)
    results = {}
    for shuffled in permutations(SENTENCES):
        ordering = averaged.order([Puzzle(shuffled)])[0]
        assert ordering.sentences == tuple(shuffled[i] for i in ordering.order)
        before = ordering.before[np.ix_(ordering.order, ordering.order)]
        assert before == pytest.approx(results.setdefault(ordering.sentences, before))
    assert len(results) == 1


class Sure:
    """Has pair probabilities that do not depend on the shuffle."""

    def check(self, puzzle):
        pass

    def order(self, puzzles):
        orderings = []
        for puzzle in puzzles:
            lengths = np.array([len(s) for s in puzzle.sentences])
            before = 1 / (1 + np.exp(0.7 * (lengths[:, None] - lengths)))
            orderings.append(Ordering.of(puzzle, decided(before, borda(before)), []))
        return orderings


def test_more_passes_do_not_change_a_result_that_ignores_the_shuffle():
    one, many = (Passes(Sure(), passes).order([Puzzle(SENTENCES)])[0] for passes in (1, 4))
    assert many.order == one.order
    assert many.confidence == pytest.approx(one.confidence)
    assert many.before == pytest.approx(one.before)


def test_scores_are_averaged():
    backend, passes = Swayed(), 3
    ordering = Passes(backend, passes).order([Puzzle(SENTENCES)])[0]
    assert len(set(backend.shown)) == passes
    for i, sentence in enumerate(SENTENCES):
        total = 0.0
        for shown in backend.shown:
            scores = backend.scores(shown)
            total += scores[shown.index(sentence)] - sum(scores) / len(scores)
        assert ordering.scores[i] == pytest.approx(total / passes)


def test_pair_probabilities_are_averaged_if_there_are_no_scores():
    backend = Pairs()
    ordering = Passes(backend, 4).order([Puzzle(SENTENCES)])[0]
    for i, first in enumerate(SENTENCES):
        for j, second in enumerate(SENTENCES):
            total = 0.0
            for k in range(4):
                shown = [SENTENCES[v] for v in shuffled_by_words(SENTENCES, k)]
                total += backend.before(Puzzle(tuple(shown)))[
                    shown.index(first), shown.index(second)
                ]
            assert ordering.before[i, j] == pytest.approx(total / 4)
    assert ordering.order == np.argsort(-ordering.before.sum(1)).tolist()


def test_truncated_sentences_are_numbered_as_in_the_input():
    backend = Swayed()
    ordering = Passes(backend, 6).order([Puzzle(SENTENCES)])[0]
    last = {shown[-1] for shown in backend.shown}
    assert {SENTENCES[i] for i in ordering.truncated} == last


@given(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=8), st.integers(1, 3))
def test_duplicate_sentences_are_kept(sentences, passes):
    ordering = Passes(Swayed(), passes).order([Puzzle(tuple(sentences))])[0]
    assert sorted(ordering.order) == list(range(len(sentences)))
    reversed_input = Passes(Swayed(), passes).order([Puzzle(tuple(sentences[::-1]))])[0]
    assert reversed_input.sentences == ordering.sentences


def test_the_result_does_not_depend_on_the_other_puzzles():
    puzzles = [Puzzle(SENTENCES[k:] + SENTENCES[:k]) for k in range(4)] + [Puzzle(("x", "yy"))]
    averaged = Passes(Swayed(), 3)
    assert averaged.order(puzzles) == [averaged.order([puzzle])[0] for puzzle in puzzles]


def test_check_raises_the_error_of_the_backend():
    with pytest.raises(UserError, match="too many"):
        Passes(Swayed(), 1).check(Puzzle(("a",) * 51))


@pytest.mark.parametrize("passes", [0, 65])
def test_passes_outside_the_range_are_refused(passes):
    with pytest.raises(UserError, match=rf"from 1 to 64 \(got {passes}\)"):
        Orderer(Swayed()).order_all([["a"]], passes=passes)
