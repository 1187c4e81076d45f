import doctest
import json

import numpy as np
import pytest

import bert4so.document
from bert4so import Decision, Document, Ordering, Puzzle, UserError
from bert4so.document import inverse


def test_inverse_gives_the_place_of_each_sentence():
    order = [2, 0, 3, 1]
    assert [order[place] for place in inverse(order)] == [0, 1, 2, 3]
    assert inverse(inverse(order)) == order


@pytest.mark.parametrize("order", [[0, 1, 1], [0, 1], [0, 1, 3], [0.0, 1, 2], [True, 0, 2]])
def test_puzzle_refuses_an_order_that_is_not_a_permutation(order):
    with pytest.raises(UserError, match="is not an order: it must contain each of 0 to 2 once"):
        Puzzle(("a", "b", "c"), order)


def test_document_refuses_missing_and_non_string_sentences():
    with pytest.raises(UserError, match="at least one"):
        Document("empty", ())
    with pytest.raises(UserError, match=r"sentence 1 must be a string \(got 3\)"):
        Document("number", ("a", 3))


def test_ordering_holds_the_sentences_in_predicted_order():
    ordering = Ordering.of(Puzzle(("b", "c", "a")), Decision([2, 0, 1], 0.5), truncated=[1])
    assert ordering.sentences == ("a", "b", "c")
    assert ordering.truncated == (1,)


ORDERING = Ordering.of(
    Puzzle(("b", "c", "a")), Decision([2, 0, 1], 0.5, scores=(1.0, 0.0, 2.0)), truncated=[1]
)


def test_to_dict_can_be_written_as_json():
    values = ORDERING.to_dict()
    assert json.loads(json.dumps(values)) == values
    assert values == {
        "sentences": ["a", "b", "c"],
        "order": [2, 0, 1],
        "scores": [1.0, 0.0, 2.0],
        "confidence": 0.5,
        "truncated": [1],
    }


def test_to_dict_converts_numpy_numbers():
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


def test_ordering_has_a_length_and_iterates_over_sentences():
    assert len(ORDERING) == 3
    assert list(ORDERING) == ["a", "b", "c"]


def test_repr_of_an_ordering_is_shortened():
    assert repr(ORDERING) == "Ordering(order=[2, 0, 1], confidence=0.5, sentences=['a', 'b', 'c'])"
    many = tuple(f"a long sentence {'x' * 1000} with the number {i}" for i in range(1000))
    assert len(repr(Ordering(list(range(1000)), 1 / 3, sentences=many))) < 800


def test_docstring_examples():
    assert doctest.testmod(bert4so.document).failed == 0


def test_document_accepts_any_ordered_iterable():
    documents = [
        Document("a", sentences)
        for sentences in (["x", "y"], ("x", "y"), iter("xy"), np.array(["x", "y"]))
    ]
    assert all(document == Document("a", ("x", "y")) for document in documents)
    assert len({hash(document) for document in documents}) == 1


@pytest.mark.parametrize("value", [None, 3, {"a": 1}, {"a", "b"}, frozenset("a"), b"ab", {}.keys()])
def test_document_refuses_values_that_are_not_ordered_iterables(value):
    kind = type(value).__name__
    with pytest.raises(UserError, match=rf"^a document must be a list of sentences \(got {kind}: "):
        Document("a", value)


def test_document_refuses_a_single_string():
    with pytest.raises(UserError, match="'x y' is a single string: pass a list of sentences"):
        Document("a", "x y")


def test_select_makes_a_puzzle_without_an_order():
    puzzle = Puzzle(("b", "c", "a"), [2, 0, 1])
    assert puzzle.select([2, 0]) == Puzzle(("a", "b"))
    assert puzzle.without_answer() == Puzzle(("b", "c", "a"))
