import pytest

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
