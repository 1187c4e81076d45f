"""Ways in which published evaluations went wrong. Each test fails where the trap is open.

1. Sentence numbers that carry the true position.
2. A shuffle that is the identity too often, or differs between two systems.
3. Documents dropped from the average: last batches, long documents.
4. Choosing on the test set.
5. Documents of one sentence counted as perfect.
6. An order taken for its inverse.
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


class Indifferent:
    """A system to which all sentences are alike."""

    def order(self, puzzles):
        return [Ordering.of(p, Decision(list(range(len(p.sentences))), 1.0), []) for p in puzzles]


def write_documents(path, documents):
    write_records(path, ({"id": d.id, "sentences": d.sentences} for d in documents))


def many(n, documents=600):
    return [
        Document(f"d{k}", tuple(f"sentence {i} of {k}" for i in range(n))) for k in range(documents)
    ]


# 1: numbers that carry the true position


def test_a_system_that_cannot_tell_sentences_apart_learns_nothing_from_their_numbers():
    for n in (2, 5, 9):
        metrics = measure(solve(Indifferent(), many(n)))
        # Four standard deviations of the mean of tau at random.
        spread = (2 * (2 * n + 5) / (9 * n * (n - 1)) / 600) ** 0.5
        assert abs(metrics.tau) < 4 * spread


def test_an_untrained_model_whose_scores_are_all_equal_gets_nothing(model):
    # Every weight of what comes after the encoders is zero: nothing is left to go by.
    with torch.no_grad():
        for weight in model.decoder.parameters():
            weight.zero_()
    metrics = measure(solve(model, many(5, 300)))
    assert abs(metrics.tau) < 4 * (2 * 15 / (9 * 20) / 300) ** 0.5


# 2: the shuffle


@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_identity_is_as_likely_as_any_other_order(n):
    documents = many(n, 6000)
    same = sum(shuffle(d, 0).sentences == d.sentences for d in documents)
    chance = len(documents) / np.prod(np.arange(1, n + 1))
    assert abs(same - chance) < 5 * chance**0.5


def test_two_systems_are_shown_the_same_puzzles(encoder, splits, tmp_path):
    """Whatever the system, its seed, its batches, and the order in which documents come."""
    shown = []
    for seed, documents in ((1, splits), (2, replace(splits, test=splits.test[::-1]))):
        run = tiny_run("bert4so", encoder, tmp_path, train={"epochs": 1, "batch": 3 + seed})
        run = run.model_copy(update={"seed": seed})
        train(run, documents, tmp_path / f"run-{seed}", COMMAND)
        lines = (tmp_path / f"run-{seed}" / "truth.jsonl").read_text().splitlines()
        shown.append({r["id"]: r["sentences"] for r in map(json.loads, lines)})
    assert shown[0] == shown[1]
    assert len(shown[0]) == len(splits.test)


def test_the_seed_of_the_data_card_is_the_seed_of_the_puzzles(bert4so, trained, tmp_path):
    for seed in (0, 3):
        some = [
            RawDocument("", d.id, d.sentences, split=s)
            for s in ("train", "valid", "test")
            for d in many(5, 10)
        ]
        prepare(some, tmp_path / str(seed), "jsonl", "x", seed, stop)
        out = tmp_path / f"out-{seed}"
        assert bert4so("evaluate", trained, tmp_path / str(seed), "--out", out)[0] == 0
    shown = {}
    for seed in (0, 3):
        lines = (tmp_path / f"out-{seed}" / "truth.jsonl").read_text().splitlines()
        records = [json.loads(line) for line in lines]
        # Ids were repaired where three splits had the same.
        shown[seed] = [r["sentences"] for r in records]
        documents = {r["id"]: tuple(r["sentences"][i] for i in r["order"]) for r in records}
        for record in records:
            puzzle = shuffle(Document(record["id"], documents[record["id"]]), seed)
            assert list(puzzle.sentences) == record["sentences"]
    assert shown[0] != shown[3]


# 3: documents dropped


@pytest.mark.parametrize("count", [1, 7, PUZZLES_PER_CALL, PUZZLES_PER_CALL + 1])
def test_every_document_asked_for_is_evaluated(count):
    metrics = measure(solve(Indifferent(), many(4, count)))
    assert metrics.documents == count


def test_the_number_evaluated_is_printed_and_is_what_was_asked_for(bert4so, trained, tmp_path):
    long = ("bread " * 200, "sleep", "wake up", "go out", "come home")
    documents = [*many(5, 12), Document("long", long), Document("single", ("alone",))]
    write_records(
        tmp_path / "test.jsonl", ({"id": d.id, "sentences": d.sentences} for d in documents)
    )
    out = bert4so("evaluate", trained, tmp_path)[1]
    assert out.endswith("documents  13 of 14: 1 of one sentence left out\n")


@pytest.mark.parametrize("run", ["bert4so"], indirect=True)
def test_a_document_too_long_for_a_model_is_an_error_not_an_omission(bert4so, trained, tmp_path):
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


# 4: choosing on the test set


def test_the_model_that_is_kept_does_not_depend_on_the_test_documents(encoder, splits, tmp_path):
    run = tiny_run("bert4so", encoder, tmp_path)
    reversed_ = [Document(d.id, d.sentences[::-1]) for d in splits.test]
    for name, test in (("one", splits.test), ("two", reversed_), ("none", [])):
        train(run, replace(splits, test=test), tmp_path / name, COMMAND)
    weights = [(tmp_path / n / "model.safetensors").read_bytes() for n in ("one", "two", "none")]
    assert weights[0] == weights[1] == weights[2]


def test_it_depends_on_the_validation_documents(encoder, splits, tmp_path):
    rates = dict.fromkeys(("sentence_encoder", "document_encoder", "decoder"), 0.02)
    run = tiny_run("bert4so", encoder, tmp_path, train={"epochs": 6, "learning_rate": rates})
    backwards = [Document(d.id, d.sentences[::-1]) for d in splits.valid]
    for name, valid in (("one", splits.valid), ("two", backwards)):
        train(run, replace(splits, valid=valid), tmp_path / name, COMMAND)
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "two")]
    assert weights[0] != weights[1]


# 5: documents of one sentence


def test_a_document_of_one_sentence_is_no_success(bert4so, tmp_path):
    wrong = {"id": "a", "order": [1, 0]}, {"id": "a", "order": [0, 1]}
    single = {"id": "b", "order": [0]}
    for name, record in (("predicted", wrong[0]), ("true", wrong[1])):
        write_records(tmp_path / f"{name}.jsonl", [record, single])
    files = [tmp_path / f"{name}.jsonl" for name in ("predicted", "true")]
    found = json.loads(bert4so("score", *files, "--json")[1])["metrics"]
    assert (found["tau"], found["pmr"], found["documents"], found["left_out"]) == (-1, 0, 1, 1)
    counted = json.loads(bert4so("score", *files, "--json", "--count-single")[1])["metrics"]
    assert (counted["tau"], counted["pmr"], counted["documents"]) == (0, 0.5, 2)


# 6: an order and its inverse


class Knowing:
    """A system that knows the text, and gives its order or the places of its sentences."""

    def __init__(self, text, answer):
        self.text, self.answer = text, answer

    def order(self, puzzles):
        found = []
        for puzzle in puzzles:
            order = [puzzle.sentences.index(sentence) for sentence in self.text]
            place = [self.text.index(sentence) for sentence in puzzle.sentences]
            answer = {"order": order, "place": place}[self.answer]
            found.append(Ordering.of(puzzle, Decision(answer, 1.0), []))
        return found


def test_an_order_is_told_from_its_inverse():
    text = tuple("abcd")
    # An id whose shuffle is a 4-cycle: no permutation that is its own inverse.
    cycles = [1, 2, 3, 0], [3, 0, 1, 2]
    name = next(f"d{k}" for k in range(1000) if shuffle(Document(f"d{k}", text), 0).order in cycles)
    document = Document(name, text)
    right = measure(solve(Knowing(text, "order"), [document]))
    wrong = measure(solve(Knowing(text, "place"), [document]))
    assert (right.tau, right.pmr, right.accuracy) == (1, 1, 1)
    assert (wrong.pmr, wrong.accuracy) == (0, 0)
    (ordering,) = solve(Knowing(text, "order"), [document])
    assert ordering.ordering.sentences == text
