import doctest
import json

import numpy as np
import pytest

import bert4so.document
from bert4so import Decision, Document, Ordering, Puzzle, UserError
from bert4so.document import inverse


def test_the_inverse_of_an_order_gives_places():
    order = [2, 0, 3, 1]
    assert [order[place] for place in inverse(order)] == [0, 1, 2, 3]
    assert inverse(inverse(order)) == order


@pytest.mark.parametrize("order", [[0, 1, 1], [0, 1], [0, 1, 3], [0.0, 1, 2], [True, 0, 2]])
def test_what_is_no_order_is_refused(order):
    with pytest.raises(UserError, match="is not an order: it must hold each of 0 to 2 once"):
        Puzzle(("a", "b", "c"), order)


def test_a_document_needs_sentences():
    with pytest.raises(UserError, match="at least one"):
        Document("empty", ())
    with pytest.raises(UserError, match="sentence 1 is 3: wanted a string"):
        Document("number", ("a", 3))


def test_an_ordering_holds_the_sentences_in_its_order():
    ordering = Ordering.of(Puzzle(("b", "c", "a")), Decision([2, 0, 1], 0.5), truncated=[1])
    assert ordering.sentences == ("a", "b", "c")
    assert ordering.truncated == (1,)


ORDERING = Ordering.of(
    Puzzle(("b", "c", "a")), Decision([2, 0, 1], 0.5, scores=(1.0, 0.0, 2.0)), truncated=[1]
)


def test_an_ordering_is_a_dictionary_for_json():
    values = ORDERING.to_dict()
    assert json.loads(json.dumps(values)) == values
    assert values == {
        "sentences": ["a", "b", "c"],
        "order": [2, 0, 1],
        "scores": [1.0, 0.0, 2.0],
        "confidence": 0.5,
        "truncated": [1],
    }


def test_numbers_of_numpy_are_written_as_json():
    order, scores = list(np.array([1, 0])), tuple(np.array([0.5, 1], np.float32))
    decision = Decision(order, np.float32(0.25), scores, before=np.eye(2))
    values = Ordering.of(Puzzle(("b", "a")), decision, list(np.array([0]))).to_dict()
    assert json.loads(json.dumps(values)) == {
        "sentences": ["a", "b"],
        "order": [1, 0],
        "scores": [0.5, 1.0],
        "confidence": 0.25,
        "truncated": [0],
    }
    assert Ordering([0], 1.0, sentences=("a",)).to_dict()["scores"] is None


def test_an_ordering_has_a_length_and_gives_its_sentences():
    assert len(ORDERING) == 3
    assert list(ORDERING) == ["a", "b", "c"]


def test_the_repr_of_an_ordering_is_short_enough_to_read():
    assert repr(ORDERING) == "Ordering(order=[2, 0, 1], confidence=0.5, sentences=['a', 'b', 'c'])"
    many = tuple(f"a long sentence {'x' * 1000} with the number {i}" for i in range(1000))
    assert len(repr(Ordering(list(range(1000)), 1 / 3, sentences=many))) < 800


def test_the_examples_of_the_docstrings_are_right():
    assert doctest.testmod(bert4so.document).failed == 0


def test_the_sentences_of_a_document_are_given_in_any_ordered_form():
    documents = [
        Document("a", form) for form in (["x", "y"], ("x", "y"), iter("xy"), np.array(["x", "y"]))
    ]
    assert all(document == Document("a", ("x", "y")) for document in documents)
    assert len({hash(document) for document in documents}) == 1


@pytest.mark.parametrize("value", [None, 3, {"a": 1}, {"a", "b"}, frozenset("a"), b"ab", {}.keys()])
def test_what_has_no_order_is_refused(value):
    kind = type(value).__name__
    with pytest.raises(UserError, match=rf"^wanted a list of sentences \(got {kind}: "):
        Document("a", value)


def test_one_string_is_refused():
    with pytest.raises(UserError, match="'x y' is one string: wanted a list of sentences"):
        Document("a", "x y")


def test_some_sentences_of_a_puzzle_are_a_puzzle():
    puzzle = Puzzle(("b", "c", "a"), [2, 0, 1])
    assert puzzle.select([2, 0]) == Puzzle(("a", "b"))
    assert puzzle.without_answer() == Puzzle(("b", "c", "a"))
