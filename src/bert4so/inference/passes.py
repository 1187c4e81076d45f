"""Make results independent of the input order of the sentences, and average several passes.

BERT4SO reads the sentences as one row, so its scores depend slightly on the order in the row. Here
the sentences are shuffled by a hash of their words, so the same sentences always give the same row.

Passes are averaged by what the system outputs: scores, centered per pass; or pair probabilities. Of
a system with a search (`Decision.next`), scores, pair logits and successor log-probabilities are
averaged, the successors are normalized again, and the search is repeated.
"""

from collections.abc import Sequence

import numpy as np

from bert4so.common.stable_hash import stable_hash
from bert4so.document import Decision, Ordering, Puzzle
from bert4so.inference.backend import Backend, check_length
from bert4so.ranking.aggregation import borda, decided
from bert4so.ranking.objective import MIN_PROBABILITY, Table
from bert4so.ranking.plackett_luce import ranked
from bert4so.ranking.search import HeadOutputs, decide


class Passes:
    """A `Backend` that averages another backend over several deterministic shuffles."""

    def __init__(self, backend: Backend, passes: int) -> None:
        assert passes >= 1, "at least one pass is needed"
        self.backend = backend
        self.passes = passes

    def check(self, puzzle: Puzzle) -> None:
        """Raise `UserError` for a puzzle that the backend cannot order."""
        check_length(puzzle)
        self.backend.check(puzzle)

    def order(self, puzzles: Sequence[Puzzle]) -> list[Ordering]:
        """Return one ordering per puzzle; the same sentences always get the same order."""
        shuffles = [
            shuffled_by_words(puzzle.sentences, k) for puzzle in puzzles for k in range(self.passes)
        ]
        shuffled = [puzzles[s // self.passes].select(shuffle) for s, shuffle in enumerate(shuffles)]
        passes = self.backend.order(shuffled)
        orderings = []
        for p, puzzle in enumerate(puzzles):
            own = slice(p * self.passes, (p + 1) * self.passes)
            orderings.append(_averaged(puzzle, shuffles[own], passes[own]))
        return orderings


def shuffled_by_words(sentences: Sequence[str], number: int) -> list[int]:
    """A shuffle of the sentences that does not depend on their input order."""
    return sorted(range(len(sentences)), key=lambda i: stable_hash("pass", number, sentences[i]))


def _averaged(
    puzzle: Puzzle, shuffles: Sequence[list[int]], passes: Sequence[Ordering]
) -> Ordering:
    """Average the passes over one puzzle; shuffle[k] is the k-th sentence that was shown."""
    truncated = {
        shuffle[k] for shuffle, one in zip(shuffles, passes, strict=True) for k in one.truncated
    }
    return Ordering.of(puzzle, _decision(shuffles, passes), sorted(truncated))


def _decision(shuffles: Sequence[list[int]], passes: Sequence[Decision]) -> Decision:
    if len(passes) == 1:
        return _unshuffled(shuffles[0], passes[0])
    passes = [_unshuffled(shuffle, one) for shuffle, one in zip(shuffles, passes, strict=True)]
    if passes[0].weights is not None:
        outputs = HeadOutputs(_scores(passes), _logits(passes), _successors(passes))
        return decide([outputs], passes[0].weights)[0]
    if passes[0].scores is not None:
        return ranked(_scores(passes))
    before = np.mean(_tables([one.before for one in passes]), axis=0)
    return decided(before, borda(before))


def _scores(passes: Sequence[Decision]) -> Table:
    """The mean score of each sentence."""
    scores = np.array([one.scores for one in passes])
    # Centered: only differences within a pass are meaningful.
    return np.asarray((scores - scores.mean(1, keepdims=True)).mean(0))


def _logits(passes: Sequence[Decision]) -> Table:
    """(n, n) the mean logit of each pair."""
    before = np.clip(_tables([one.before for one in passes]), MIN_PROBABILITY, 1 - MIN_PROBABILITY)
    return np.asarray((np.log(before) - np.log1p(-before)).mean(0))


def _successors(passes: Sequence[Decision]) -> Table:
    """(n + 1, n + 1) the mean log-probability of each successor."""
    logs = np.maximum(_tables([one.next for one in passes]), np.log(MIN_PROBABILITY))
    return np.asarray(logs.mean(0))


def _tables(tables: Sequence[Table | None]) -> Table:
    """(passes, ...) the tables of all passes."""
    present = [table for table in tables if table is not None]
    assert len(present) == len(tables), "a system has the same outputs in every pass"
    return np.stack(present)


def _unshuffled(shuffle: list[int], decision: Decision) -> Decision:
    """Renumber a decision on shuffled sentences by their numbers in the input."""
    shown = np.argsort(shuffle)  # the place of each sentence in the shuffle
    ends = np.append(shown, len(shuffle))
    scores = decision.scores
    return Decision(
        order=[shuffle[k] for k in decision.order],
        confidence=decision.confidence,
        scores=None if scores is None else tuple(np.array(scores)[shown].tolist()),
        before=None if decision.before is None else decision.before[np.ix_(shown, shown)],
        next=None if decision.next is None else decision.next[np.ix_(ends, ends)],
        weights=decision.weights,
    )
