"""Mistakes of published evaluations. Each test fails if the code makes the mistake.

1. Sentence numbers reveal the true position.
2. A shuffle is the identity too often, or differs between systems.
3. Documents are missing from the average: last batches, long documents.
4. The model is selected on the test set.
5. Documents of one sentence count as perfect.
6. An order is confused with its inverse.
"""

import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from bert4so.data.prepare import prepare
from bert4so.data.readers.raw_document import RawDocument
from bert4so.data.shuffle import shuffle
from bert4so.document import Decision, Document, Ordering
from bert4so.evaluation.evaluate import PUZZLES_PER_CALL, measure, solve
from bert4so.io.jsonl import write_records
from bert4so.io.on_error import stop
from bert4so.training.loop import train
from conftest import tiny_run

COMMAND = "bert4so train tiny.toml"


class ConstantBackend:
    """A backend that gives all sentences the same score."""

    def order(self, puzzles):
        return [Ordering.of(p, Decision(list(range(len(p.sentences))), 1.0), []) for p in puzzles]


def write_documents(path, documents):
    write_records(path, ({"id": d.id, "sentences": d.sentences} for d in documents))


def many(n, documents=600):
    return [
        Document(f"d{k}", tuple(f"sentence {i} of {k}" for i in range(n))) for k in range(documents)
    ]


# 1: sentence numbers


def test_constant_scores_give_tau_zero():
    for n in (2, 5, 9):
        metrics = measure(solve(ConstantBackend(), many(n)))
        # Four standard deviations of the mean tau of random orders.
        spread = (2 * (2 * n + 5) / (9 * n * (n - 1)) / 600) ** 0.5
        assert abs(metrics.tau) < 4 * spread


def test_untrained_model_with_equal_scores_gives_tau_zero(model):
    # All weights after the encoders are zero, so that the scores are equal.
    with torch.no_grad():
        for weight in model.decoder.parameters():
            weight.zero_()
    metrics = measure(solve(model, many(5, 300)))
    assert abs(metrics.tau) < 4 * (2 * 15 / (9 * 20) / 300) ** 0.5


# 2: the shuffle


@pytest.mark.parametrize("n", [2, 3, 4])
def test_identity_is_as_likely_as_any_other_order(n):
    documents = many(n, 6000)
    same = sum(shuffle(d, 0).sentences == d.sentences for d in documents)
    chance = len(documents) / np.prod(np.arange(1, n + 1))
    assert abs(same - chance) < 5 * chance**0.5


def test_two_systems_get_the_same_puzzles(encoder, splits, tmp_path):
    """Independent of the system's seed, its batches and the order of documents."""
    sentences_by_id = []
    for seed, documents in ((1, splits), (2, replace(splits, test=splits.test[::-1]))):
        run = tiny_run("bert4so", encoder, tmp_path, train={"epochs": 1, "batch": 3 + seed})
        run = run.model_copy(update={"seed": seed})
        train(run, documents, tmp_path / f"run-{seed}", COMMAND)
        lines = (tmp_path / f"run-{seed}" / "truth.jsonl").read_text().splitlines()
        sentences_by_id.append({r["id"]: r["sentences"] for r in map(json.loads, lines)})
    assert sentences_by_id[0] == sentences_by_id[1]
    assert len(sentences_by_id[0]) == len(splits.test)


def test_seed_of_the_data_card_shuffles_the_puzzles(bert4so, trained, tmp_path):
    for seed in (0, 3):
        some = [
            RawDocument("", d.id, d.sentences, split=s)
            for s in ("train", "valid", "test")
            for d in many(5, 10)
        ]
        prepare(some, tmp_path / str(seed), "jsonl", "x", seed, stop)
        out = tmp_path / f"out-{seed}"
        assert bert4so("evaluate", trained, tmp_path / str(seed), "--out", out)[0] == 0
    sentences_by_id = {}
    for seed in (0, 3):
        lines = (tmp_path / f"out-{seed}" / "truth.jsonl").read_text().splitlines()
        records = [json.loads(line) for line in lines]
        # Duplicate ids across the splits were changed.
        sentences_by_id[seed] = [r["sentences"] for r in records]
        documents = {r["id"]: tuple(r["sentences"][i] for i in r["order"]) for r in records}
        for record in records:
            puzzle = shuffle(Document(record["id"], documents[record["id"]]), seed)
            assert list(puzzle.sentences) == record["sentences"]
    assert sentences_by_id[0] != sentences_by_id[3]


# 3: missing documents


@pytest.mark.parametrize("count", [1, 7, PUZZLES_PER_CALL, PUZZLES_PER_CALL + 1])
def test_every_document_is_evaluated(count):
    metrics = measure(solve(ConstantBackend(), many(4, count)))
    assert metrics.documents == count


def test_evaluate_prints_the_number_of_documents(bert4so, trained, tmp_path):
    long = ("bread " * 200, "sleep", "wake up", "go out", "come home")
    documents = [*many(5, 12), Document("long", long), Document("single", ("alone",))]
    write_records(
        tmp_path / "test.jsonl", ({"id": d.id, "sentences": d.sentences} for d in documents)
    )
    out = bert4so("evaluate", trained, tmp_path)[1]
    assert out.endswith("documents  13 of 14: 1 of one sentence left out\n")


@pytest.mark.parametrize("run", ["bert4so"], indirect=True)
def test_document_that_is_too_long_is_an_error(bert4so, trained, tmp_path):
    documents = [*many(5, 3), Document("endless", ("bread " * 9,) * 20)]
    write_records(
        tmp_path / "test.jsonl", ({"id": d.id, "sentences": d.sentences} for d in documents)
    )
    code, out, err = bert4so("evaluate", trained, tmp_path)
    assert (code, out) == (2, "")
    assert err.startswith("bert4so: endless: ")
    code, out, err = bert4so("evaluate", trained, tmp_path, "--skip-bad")
    assert (code, err.splitlines()[-1]) == (0, "skipped 1 in all")
    assert out.endswith("documents  3\n")


# 4: selection on the test set


def test_selected_model_does_not_depend_on_test_documents(encoder, splits, tmp_path):
    run = tiny_run("bert4so", encoder, tmp_path)
    reversed_ = [Document(d.id, d.sentences[::-1]) for d in splits.test]
    for name, test in (("one", splits.test), ("two", reversed_), ("none", [])):
        train(run, replace(splits, test=test), tmp_path / name, COMMAND)
    weights = [(tmp_path / n / "model.safetensors").read_bytes() for n in ("one", "two", "none")]
    assert weights[0] == weights[1] == weights[2]


def test_selected_model_depends_on_validation_documents(encoder, splits, tmp_path):
    rates = dict.fromkeys(("sentence_encoder", "document_encoder", "decoder"), 0.02)
    run = tiny_run("bert4so", encoder, tmp_path, train={"epochs": 6, "learning_rate": rates})
    backwards = [Document(d.id, d.sentences[::-1]) for d in splits.valid]
    for name, valid in (("one", splits.valid), ("two", backwards)):
        train(run, replace(splits, valid=valid), tmp_path / name, COMMAND)
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "two")]
    assert weights[0] != weights[1]


# 5: documents of one sentence


def test_document_of_one_sentence_does_not_count(bert4so, tmp_path):
    wrong = {"id": "a", "order": [1, 0]}, {"id": "a", "order": [0, 1]}
    single = {"id": "b", "order": [0]}
    for name, record in (("predicted", wrong[0]), ("true", wrong[1])):
        write_records(tmp_path / f"{name}.jsonl", [record, single])
    files = [tmp_path / f"{name}.jsonl" for name in ("predicted", "true")]
    scores = json.loads(bert4so("score", *files, "--json")[1])["metrics"]
    assert (scores["tau"], scores["pmr"], scores["documents"], scores["left_out"]) == (-1, 0, 1, 1)
    counted = json.loads(bert4so("score", *files, "--json", "--count-single")[1])["metrics"]
    assert (counted["tau"], counted["pmr"], counted["documents"]) == (0, 0.5, 2)


# 6: an order and its inverse


class OracleBackend:
    """A backend that knows the text, and answers with its order or with the places of sentences."""

    def __init__(self, text, answer):
        self.text, self.answer = text, answer

    def order(self, puzzles):
        orderings = []
        for puzzle in puzzles:
            order = [puzzle.sentences.index(sentence) for sentence in self.text]
            place = [self.text.index(sentence) for sentence in puzzle.sentences]
            answer = {"order": order, "place": place}[self.answer]
            orderings.append(Ordering.of(puzzle, Decision(answer, 1.0), []))
        return orderings


def test_order_differs_from_its_inverse():
    text = tuple("abcd")
    # Find an id whose shuffle is a 4-cycle, which is not its own inverse.
    cycles = [1, 2, 3, 0], [3, 0, 1, 2]
    name = next(f"d{k}" for k in range(1000) if shuffle(Document(f"d{k}", text), 0).order in cycles)
    document = Document(name, text)
    right = measure(solve(OracleBackend(text, "order"), [document]))
    wrong = measure(solve(OracleBackend(text, "place"), [document]))
    assert (right.tau, right.pmr, right.accuracy) == (1, 1, 1)
    assert (wrong.pmr, wrong.accuracy) == (0, 0)
    (ordering,) = solve(OracleBackend(text, "order"), [document])
    assert ordering.ordering.sentences == text
