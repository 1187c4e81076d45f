import time

import pytest

from bert4so import Decision, Orderer, Ordering, UserError
from bert4so.inference.backend import MAX_SENTENCES
from bert4so.inference.orderer import BUFFER, PATIENCE
from bert4so.inference.passes import Passes
from bert4so.training.checkpoint import save_model

TESTED_SYSTEMS = ["bert4so"]  # what is tested here is no system's own


class Alphabet:
    """A backend that sorts, and remembers how many sentences it was given at once."""

    def __init__(self):
        self.given = []

    def order(self, puzzles):
        self.given.append(sum(len(puzzle.sentences) for puzzle in puzzles))
        return [self.ordering(puzzle) for puzzle in puzzles]

    def ordering(self, puzzle):
        order = sorted(range(len(puzzle.sentences)), key=puzzle.sentences.__getitem__)
        scores = tuple(-float(order.index(i)) for i in range(len(order)))
        return Ordering.of(puzzle, Decision(order, 1.0, scores=scores), [])


def test_one_document():
    assert Orderer(Alphabet()).order(["b", "a"]).sentences == ("a", "b")


def test_many_documents_are_answered_in_the_order_given():
    documents = [[f"{i}b", f"{i}a"] for i in range(2000)]
    found = list(Orderer(Alphabet()).order_all(documents, progress=True))
    assert [ordering.sentences for ordering in found] == [(f"{i}a", f"{i}b") for i in range(2000)]


def test_documents_without_end_are_answered_as_they_come():
    def endless():
        while True:
            yield ["b", "a"]

    backend = Alphabet()
    answers = Orderer(backend).order_all(endless())
    assert [next(answers).order for _ in range(10_000)] == [[1, 0]] * 10_000
    assert max(backend.given) <= BUFFER


def test_more_passes_are_no_more_at_once():
    backend = Alphabet()
    documents = [[f"{i}b", f"{i}a"] for i in range(2000)]
    assert len(list(Orderer(backend).order_all(documents, passes=8))) == 2000
    assert max(backend.given) <= BUFFER


@pytest.mark.parametrize("bad", [RuntimeError("gone"), []])
def test_what_stands_before_a_fault_is_answered(bad):
    def broken():
        yield from [["b", "a"]] * 50
        if bad:
            raise bad
        yield bad

    answers = Orderer(Alphabet()).order_all(broken())
    assert [next(answers).order for _ in range(50)] == [[1, 0]] * 50
    with pytest.raises((RuntimeError, UserError)):
        next(answers)


def test_what_comes_slowly_is_not_waited_for():
    given = []

    def slow():
        while True:
            given.append(["b", "a"])
            yield given[-1]
            time.sleep(0.6 * PATIENCE)

    next(Orderer(Alphabet()).order_all(slow()))
    assert len(given) < 5


def test_a_document_may_come_sentence_by_sentence():
    assert Orderer(Alphabet()).order(letter for letter in "ba").sentences == ("a", "b")


def test_a_string_is_not_a_list_of_sentences():
    with pytest.raises(UserError, match="is one string: wanted a list of sentences"):
        Orderer(Alphabet()).order("One. Two.")


def test_no_sentences_are_refused():
    with pytest.raises(UserError, match="a document needs at least one"):
        Orderer(Alphabet()).order([])


def test_more_sentences_than_can_be_held_are_refused():
    longest, longer = (["a"] * n for n in (MAX_SENTENCES, MAX_SENTENCES + 1))
    answers = Orderer(Alphabet()).order_all([["b", "a"], longest, longer])
    assert next(answers).order == [1, 0]
    assert len(next(answers).order) == MAX_SENTENCES
    with pytest.raises(UserError, match="of 10,001 sentences is too long: at most 10,000: split"):
        next(answers)


def test_a_saved_model_is_found_again(run, model, puzzles, tmp_path):
    save_model(tmp_path / "run", run, model)
    orderer = Orderer.from_pretrained(tmp_path / "run")
    shown = [puzzle.sentences for puzzle in puzzles]
    assert list(orderer.order_all(shown)) == Passes(model, 1).order(puzzles)


def test_a_folder_that_is_no_model_is_refused(tmp_path):
    with pytest.raises(UserError, match="no model here"):
        Orderer.from_pretrained(tmp_path)
