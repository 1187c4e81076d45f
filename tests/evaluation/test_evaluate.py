import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from bert4so.data.corpus import read_split
from bert4so.document import Decision, Document, Ordering
from bert4so.evaluation.evaluate import measure, prediction_records, solve, truth_records
from bert4so.evaluation.metrics import average
from bert4so.evaluation.predictions import read_pairs
from bert4so.io.jsonl import write_records
from bert4so.ranking.plackett_luce import ranked

SAMPLE = Path(__file__).parents[2] / "data" / "sample"


class Scorer:
    """A backend that scores a sentence by a function of it."""

    def __init__(self, score):
        self.score = score
        self.seen = []

    def order(self, puzzles):
        self.seen += puzzles
        return [
            Ordering.of(puzzle, ranked(np.array([self.score(s) for s in puzzle.sentences])), [])
            for puzzle in puzzles
        ]


@pytest.fixture(scope="module")
def real():
    """A real corpus: all documents of the sample."""
    return [
        document for split in ("train", "valid", "test") for document in read_split(SAMPLE, split)
    ]


def test_equal_scores_give_chance_metrics(real):
    metrics = measure(solve(Scorer(lambda sentence: 0.0), real))
    # The standard deviation of tau by chance is sqrt(2 (2n + 5) / (9 n (n - 1))): 0.37 at n = 5.
    assert abs(metrics.tau) < 4 * 0.4 / len(real) ** 0.5
    chance = np.mean([1 / np.prod(np.arange(1, len(d.sentences) + 1)) for d in real])
    assert metrics.pmr == pytest.approx(chance, abs=4 * (chance / len(real)) ** 0.5)
    assert metrics.documents == len(real)


def test_true_scores_give_perfect_metrics(real):
    place = {(s): -i for document in real for i, s in enumerate(document.sentences)}
    metrics = measure(solve(Scorer(lambda sentence: place[sentence]), real[:50]))
    assert (metrics.tau, metrics.pmr, metrics.accuracy) == (1, 1, 1)


def test_a_backend_does_not_see_the_answer(real):
    backend = Scorer(len)
    solve(backend, real[:50])
    assert all(puzzle.order is None for puzzle in backend.seen)
    shown = [puzzle.sentences for puzzle in backend.seen]
    assert shown != [document.sentences for document in real[:50]]


def test_documents_are_evaluated_in_input_order(real):
    done = []
    predictions = solve(Scorer(len), real[:300], advance=done.append)
    assert [one.id for one in predictions] == [document.id for document in real[:300]]
    assert sum(done) == 300


def test_repeated_sentences_are_interchangeable():
    document = Document("refrain", ("so", "it", "so", "is"))
    for order in itertools.permutations(range(4)):
        (one,) = solve(Fixed(list(order)), [document])
        right = tuple(one.puzzle.sentences[i] for i in order) == document.sentences
        assert (measure([one]).pmr == 1) == right


class Fixed:
    def __init__(self, order):
        self.predicted = order

    def order(self, puzzles):
        return [Ordering.of(puzzle, Decision(self.predicted, 1.0), []) for puzzle in puzzles]


def test_written_predictions_give_the_same_metrics(real, tmp_path):
    documents = [*real[:40], Document("refrain", ("so", "it", "so", "is")), real[0]]
    predictions = solve(Scorer(len), documents)
    write_records(tmp_path / "predictions.jsonl", prediction_records(predictions))
    write_records(tmp_path / "truth.jsonl", truth_records(predictions))
    pairs = read_pairs(tmp_path / "predictions.jsonl", tmp_path / "truth.jsonl")
    assert average(pairs) == measure(predictions)
    first = json.loads((tmp_path / "predictions.jsonl").read_text().splitlines()[0])
    assert first.keys() == {"id", "order", "scores"}
