import pytest

from bert4so import Decision, Orderer, Ordering, UserError
from bert4so.checkpoint import save_model
from bert4so.orderer import BUFFER
from bert4so.passes import Passes

SYSTEMS = ["bert4so"]  # what is tested here is no system's own


class Alphabet:
    """A backend that sorts, and remembers how many sentences it was given at once."""

    def __init__(self):
        self.given = []

    def order(self, puzzles):
        self.given.append(sum(len(puzzle.sentences) for puzzle in puzzles))
        return [
            Ordering.of(
                puzzle,
                Decision(
                    sorted(range(len(puzzle.sentences)), key=puzzle.sentences.__getitem__), 1.0
                ),
                [],
            )
            for puzzle in puzzles
        ]


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


def test_a_string_is_not_a_list_of_sentences():
    with pytest.raises(UserError, match="is one string: wanted a list of sentences"):
        Orderer(Alphabet()).order("One. Two.")


def test_no_sentences_are_refused():
    with pytest.raises(UserError, match="a document needs at least one"):
        Orderer(Alphabet()).order([])


def test_a_saved_model_is_found_again(run, model, puzzles, tmp_path):
    save_model(tmp_path / "run", run, model)
    orderer = Orderer.from_pretrained(tmp_path / "run")
    shown = [puzzle.sentences for puzzle in puzzles]
    assert list(orderer.order_all(shown)) == Passes(model, 1).order(puzzles)


def test_a_folder_that_is_no_model_is_refused(tmp_path):
    with pytest.raises(UserError, match="no model here"):
        Orderer.from_pretrained(tmp_path)
