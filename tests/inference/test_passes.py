"""What an answer depends on: the sentences, not how they are given."""

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
    """Scores a sentence by its length, and by where it is shown; cuts what is shown last."""

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
    """Says of pairs only."""

    def order(self, puzzles):
        return [
            Ordering.of(p, Decision(list(range(len(p.sentences))), 1.0, None, self.before(p)), [])
            for p in puzzles
        ]

    def before(self, puzzle):
        return ranked(self.scores(puzzle.sentences)).before


@pytest.mark.parametrize("passes", [1, 2, 5])
@pytest.mark.parametrize("backend", [Swayed, Pairs])
def test_an_answer_depends_on_the_sentences_alone(backend, passes):
    asked = Passes(backend(), passes)
    answers = {}
    for given_as in permutations(SENTENCES):
        ordering = asked.order([Puzzle(given_as)])[0]
        assert ordering.sentences == tuple(given_as[i] for i in ordering.order)
        before = ordering.before[np.ix_(ordering.order, ordering.order)]
        assert before == pytest.approx(answers.setdefault(ordering.sentences, before))
    assert len(answers) == 1


class Sure:
    """Says the same of pairs however they are shown."""

    def check(self, puzzle):
        pass

    def order(self, puzzles):
        found = []
        for puzzle in puzzles:
            lengths = np.array([len(s) for s in puzzle.sentences])
            before = 1 / (1 + np.exp(0.7 * (lengths[:, None] - lengths)))
            found.append(Ordering.of(puzzle, decided(before, borda(before)), []))
        return found


def test_more_passes_change_nothing_of_what_does_not_depend_on_the_shuffle():
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


def test_pair_probabilities_are_averaged_where_there_are_no_scores():
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


def test_what_was_cut_is_told_of_the_sentence_given():
    backend = Swayed()
    ordering = Passes(backend, 6).order([Puzzle(SENTENCES)])[0]
    last = {shown[-1] for shown in backend.shown}
    assert {SENTENCES[i] for i in ordering.truncated} == last


@given(st.lists(st.sampled_from(SENTENCES), min_size=1, max_size=8), st.integers(1, 3))
def test_sentences_that_are_the_same_are_all_there(sentences, passes):
    ordering = Passes(Swayed(), passes).order([Puzzle(tuple(sentences))])[0]
    assert sorted(ordering.order) == list(range(len(sentences)))
    turned = Passes(Swayed(), passes).order([Puzzle(tuple(sentences[::-1]))])[0]
    assert turned.sentences == ordering.sentences


def test_many_puzzles_at_once_are_answered_as_alone():
    puzzles = [Puzzle(SENTENCES[k:] + SENTENCES[:k]) for k in range(4)] + [Puzzle(("x", "yy"))]
    asked = Passes(Swayed(), 3)
    assert asked.order(puzzles) == [asked.order([puzzle])[0] for puzzle in puzzles]


def test_what_the_backend_refuses_is_refused():
    with pytest.raises(UserError, match="too many"):
        Passes(Swayed(), 1).check(Puzzle(("a",) * 51))


@pytest.mark.parametrize("passes", [0, 65])
def test_no_pass_is_no_answer_and_too_many_are_none(passes):
    with pytest.raises(UserError, match=f"passes = {passes}: wanted 1 to 64"):
        Orderer(Swayed()).order_all([["a"]], passes=passes)
