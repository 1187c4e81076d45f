"""Answers that depend on which sentences are given, not on the order in which they are.

BERT4SO reads the sentences as one row, so that what it says of them depends a little on how they
were shuffled before. Shuffled by their own words, the same sentences always make the same rows.

Several readings are averaged: scores, each less the mean of its reading; or pair probabilities. Of
a system that says more (`Decision.next`), scores, logits of pairs and log-probabilities of
successors are averaged, these are normalized again, and the order is searched for once more.
"""

from collections.abc import Sequence

import numpy as np

from bert4so.common.stable_hash import stable_hash
from bert4so.document import Decision, Ordering, Puzzle
from bert4so.inference.backend import Backend, check_length
from bert4so.ranking.aggregation import borda, decided
from bert4so.ranking.objective import LEAST, Table
from bert4so.ranking.plackett_luce import ranked
from bert4so.ranking.search import Reading, decide


class Passes:
    """A backend that asks another one so many times, each time with the sentences in another order
    that follows from them alone, and averages. It is a `Backend`.
    """

    def __init__(self, backend: Backend, passes: int) -> None:
        assert passes >= 1, "an answer needs a question"
        self.backend = backend
        self.passes = passes

    def check(self, puzzle: Puzzle) -> None:
        """Raise `UserError` for a puzzle that the backend cannot order."""
        check_length(puzzle)
        self.backend.check(puzzle)

    def order(self, puzzles: Sequence[Puzzle]) -> list[Ordering]:
        """One ordering a puzzle; the same sentences are always put in the same order."""
        views = [
            shuffled_by_words(puzzle.sentences, k) for puzzle in puzzles for k in range(self.passes)
        ]
        shown = [puzzles[v // self.passes].select(view) for v, view in enumerate(views)]
        answers = self.backend.order(shown)
        found = []
        for p, puzzle in enumerate(puzzles):
            own = slice(p * self.passes, (p + 1) * self.passes)
            found.append(_averaged(puzzle, views[own], answers[own]))
        return found


def shuffled_by_words(sentences: Sequence[str], number: int) -> list[int]:
    """A shuffle of the sentences that does not depend on the order they are given in."""
    return sorted(range(len(sentences)), key=lambda i: stable_hash("pass", number, sentences[i]))


def _averaged(puzzle: Puzzle, views: Sequence[list[int]], answers: Sequence[Ordering]) -> Ordering:
    """One answer out of several; view[k] is the sentence that was shown k-th."""
    truncated = {
        view[k] for view, answer in zip(views, answers, strict=True) for k in answer.truncated
    }
    return Ordering.of(puzzle, _decision(views, answers), sorted(truncated))


def _decision(views: Sequence[list[int]], answers: Sequence[Decision]) -> Decision:
    if len(answers) == 1:
        return _as_given(views[0], answers[0])
    answers = [_as_given(view, answer) for view, answer in zip(views, answers, strict=True)]
    if answers[0].weights is not None:
        reading = Reading(_scores(answers), _logits(answers), _successors(answers))
        return decide([reading], answers[0].weights)[0]
    if answers[0].scores is not None:
        return ranked(_scores(answers))
    before = np.mean(_tables([answer.before for answer in answers]), axis=0)
    return decided(before, borda(before))


def _scores(answers: Sequence[Decision]) -> Table:
    """The mean score of each sentence."""
    scores = np.array([answer.scores for answer in answers])
    # How high they are means nothing but within one answer.
    return np.asarray((scores - scores.mean(1, keepdims=True)).mean(0))


def _logits(answers: Sequence[Decision]) -> Table:
    """(n, n) the mean logit of each pair."""
    before = np.clip(_tables([answer.before for answer in answers]), LEAST, 1 - LEAST)
    return np.asarray((np.log(before) - np.log1p(-before)).mean(0))


def _successors(answers: Sequence[Decision]) -> Table:
    """(n + 1, n + 1) the mean log-probability of each successor."""
    logs = np.maximum(_tables([answer.next for answer in answers]), np.log(LEAST))
    return np.asarray(logs.mean(0))


def _tables(tables: Sequence[Table | None]) -> Table:
    """(passes, ...) the tables of all answers."""
    given = [table for table in tables if table is not None]
    assert len(given) == len(tables), "a system says the same things in every answer"
    return np.stack(given)


def _as_given(view: list[int], answer: Decision) -> Decision:
    """An answer to the sentences as they were shown, for the sentences as they were given."""
    shown = np.argsort(view)  # where each sentence was shown
    ends = np.append(shown, len(view))
    return Decision(
        order=[view[k] for k in answer.order],
        confidence=answer.confidence,
        scores=None if answer.scores is None else tuple(np.array(answer.scores)[shown].tolist()),
        before=None if answer.before is None else answer.before[np.ix_(shown, shown)],
        next=None if answer.next is None else answer.next[np.ix_(ends, ends)],
        weights=answer.weights,
    )
