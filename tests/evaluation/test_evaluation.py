"""`bert4so.evaluate` with every kind of model and corpus that it accepts."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from bert4so import Corpus, Document, Orderer, Ordering, UserError, evaluate, load_corpus, metrics
from bert4so.io.jsonl import write_records
from bert4so.ranking.plackett_luce import ranked

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "data" / "sample"
TESTED_SYSTEMS = ["bert4so"]  # these tests do not depend on the system


class ByLength:
    """A backend that puts the shortest sentence first and refuses documents with an x."""

    def __init__(self):
        self.given = []

    def order(self, puzzles):
        self.given += puzzles
        lengths = [np.array([-float(len(s)) for s in puzzle.sentences]) for puzzle in puzzles]
        return [Ordering.of(p, ranked(scores)) for p, scores in zip(puzzles, lengths, strict=True)]

    def check(self, puzzle):
        if "x" in puzzle.sentences:
            raise UserError("it has an x")


GROWING = [Document(f"{n}", [i * "a" for i in range(1, n)]) for n in range(3, 9)]
MIXED = [*GROWING, Document("falling", ["aaa", "aa"]), Document("single", ["a"])]


def test_metrics_of_a_backend_match_the_formulas():
    evaluation = evaluate(ByLength(), Corpus(test=MIXED))
    # Growing documents are right, the falling one is reversed, the single one is left out.
    right, documents = len(GROWING), len(GROWING) + 1
    assert evaluation.metrics.tau == pytest.approx((right - 1) / documents)
    assert evaluation.metrics.pmr == pytest.approx(right / documents)
    assert (evaluation.metrics.documents, evaluation.metrics.left_out) == (documents, 1)
    low, high = evaluation.intervals["pmr"]
    assert low <= evaluation.metrics.pmr <= high
    counted = evaluate(ByLength(), Corpus(test=MIXED), count_single=True).metrics
    assert counted.pmr == pytest.approx((right + 1) / (documents + 1))


def test_predictions_have_the_puzzle_and_the_ordering():
    evaluation = evaluate(ByLength(), Corpus(test=MIXED))
    assert [one.id for one in evaluation.predictions] == [document.id for document in MIXED]
    for document, one in zip(MIXED, evaluation.predictions, strict=True):
        assert tuple(one.puzzle.sentences[i] for i in one.puzzle.order) == document.sentences
    taus = [metrics.kendall_tau(*one.orders) for one in evaluation.predictions[:-1]]
    assert np.mean(taus) == pytest.approx(evaluation.metrics.tau)


def test_a_backend_does_not_see_the_answer():
    backend = ByLength()
    evaluate(backend, Corpus(test=MIXED))
    evaluate(backend, Corpus(test=MIXED), passes=2)
    assert len(backend.given) == 3 * len(MIXED)
    assert all(puzzle.order is None for puzzle in backend.given)


def test_each_split_can_be_evaluated():
    corpus = Corpus(train=GROWING[:1], valid=GROWING[:2], test=GROWING[:3])
    for number, split in enumerate(("train", "valid", "test"), start=1):
        assert evaluate(ByLength(), corpus, split=split).metrics.documents == number
    with pytest.raises(UserError, match=r"split must be one of train, valid, test \(got 'dev'\)"):
        evaluate(ByLength(), corpus, split="dev")
    with pytest.raises(UserError, match="in memory: no test documents"):
        evaluate(ByLength(), Corpus(train=GROWING))


def test_several_shuffles_are_summarized():
    evaluation = evaluate(ByLength(), Corpus(test=MIXED), shuffles=3)
    assert evaluation.shuffles.number == 3
    assert evaluation.shuffles.consistency == 1  # the order depends on the sentences only
    assert evaluation.shuffles.mean["pmr"] == pytest.approx(evaluation.metrics.pmr)
    with pytest.raises(UserError, match="shuffles must be at least 1"):
        evaluate(ByLength(), Corpus(test=MIXED), shuffles=0)


def test_to_dict_can_be_serialized_as_json():
    for shuffles in (1, 2):
        values = evaluate(ByLength(), Corpus(test=MIXED), shuffles=shuffles).to_dict()
        assert values.keys() == {"metrics", "intervals", "shuffles"}
        assert json.loads(json.dumps(values))["metrics"] == values["metrics"]


def test_an_invalid_document_is_named_or_skipped(capsys):
    corpus = Corpus(test=[*GROWING, Document("bad one", ["x", "y"])])
    with pytest.raises(UserError, match='document "bad one": it has an x'):
        evaluate(ByLength(), corpus)
    evaluation = evaluate(ByLength(), corpus, on_error="skip")
    assert evaluation.metrics.documents == len(GROWING)
    assert 'skipped: document "bad one": it has an x' in capsys.readouterr().err


def test_a_folder_and_a_loaded_corpus_give_the_same_evaluation():
    folder = evaluate(ByLength(), SAMPLE, split="valid")
    loaded = evaluate(ByLength(), load_corpus(SAMPLE), split="valid")
    assert folder == loaded
    assert evaluate(ByLength(), str(SAMPLE), split="valid") == folder


def test_a_path_and_an_orderer_give_the_same_evaluation(trained, documents):
    corpus = Corpus(test=documents)
    by_path = evaluate(trained, corpus)
    assert evaluate(Orderer.from_pretrained(trained), corpus) == by_path
    by_command = evaluate(str(trained), corpus, passes=1)
    orderer = Orderer.from_pretrained(trained)
    for one in by_command.predictions:
        assert one.ordering.order == orderer.order(one.puzzle.sentences).order


@pytest.mark.parametrize("model", [None, 3, object(), Document("a", ["b"])])
def test_evaluate_refuses_other_types_as_model(model):
    kind = type(model).__name__
    with pytest.raises(
        UserError, match=rf"a Backend, with the methods order and check .got {kind}"
    ):
        evaluate(model, SAMPLE)


WITHOUT_TORCH = f"""
import json, sys
for name in ("torch", "transformers", "pydantic", "scipy", "matplotlib"):
    sys.modules[name] = None  # as if it were not installed
import bert4so
corpus = bert4so.load_corpus({str(SAMPLE)!r})
few = bert4so.Corpus(test=corpus.test[:20], seed=corpus.seed)
print(json.dumps(bert4so.evaluate("bundled", few, passes=1).to_dict()))
for call in (
    lambda: bert4so.train({{"system": "bert4so", "corpus": {str(SAMPLE)!r}}}, out="unused"),
    lambda: bert4so.evaluate(sys.argv[1], few),
):
    try:
        call()
    except bert4so.UserError as error:
        print(error)
"""


def test_the_bundled_model_is_evaluated_without_pytorch(trained):
    command = [sys.executable, "-c", WITHOUT_TORCH, str(trained)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    values, *errors = printed.splitlines()
    assert json.loads(values)["metrics"]["tau"] > 0.5
    assert len(errors) == 2
    assert all(line.endswith("is not installed: pip install 'bert4so[train]'") for line in errors)


def test_the_command_prints_the_same_values(bert4so, trained, documents, tmp_path):
    write_records(
        tmp_path / "test.jsonl", [{"id": d.id, "sentences": d.sentences} for d in documents]
    )
    code, printed, _ = bert4so("evaluate", trained, tmp_path, "--json")
    values = evaluate(trained, tmp_path).to_dict()
    assert code == 0
    assert json.loads(printed) == json.loads(json.dumps(values))
