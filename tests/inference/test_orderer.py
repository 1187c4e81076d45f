import time

import pytest

from bert4so import Decision, Orderer, Ordering, UserError
from bert4so.inference.attempts import MAX_WAIT_SECONDS
from bert4so.inference.backend import MAX_SENTENCES
from bert4so.inference.orderer import BUFFER_SENTENCES
from bert4so.inference.passes import Passes
from bert4so.text.packing import Packer
from bert4so.training.checkpoint import save_model

TESTED_SYSTEMS = ["bert4so"]  # these tests do not depend on the system


class Alphabet:
    """A backend that sorts, and records the number of sentences per call."""

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


def test_orderings_come_in_the_order_of_the_documents():
    documents = [[f"{i}b", f"{i}a"] for i in range(2000)]
    orderings = list(Orderer(Alphabet()).order_all(documents, progress=True))
    expected = [(f"{i}a", f"{i}b") for i in range(2000)]
    assert [ordering.sentences for ordering in orderings] == expected


def test_an_endless_source_is_ordered_as_it_is_read():
    def endless():
        while True:
            yield ["b", "a"]

    backend = Alphabet()
    orderings = Orderer(backend).order_all(endless())
    assert [next(orderings).order for _ in range(10_000)] == [[1, 0]] * 10_000
    assert max(backend.given) <= BUFFER_SENTENCES


def test_more_passes_do_not_enlarge_the_buffer():
    backend = Alphabet()
    documents = [[f"{i}b", f"{i}a"] for i in range(2000)]
    assert len(list(Orderer(backend).order_all(documents, passes=8))) == 2000
    assert max(backend.given) <= BUFFER_SENTENCES


@pytest.mark.parametrize("bad", [RuntimeError("gone"), []])
def test_documents_before_an_error_are_ordered(bad):
    def broken():
        yield from [["b", "a"]] * 50
        if bad:
            raise bad
        yield bad

    orderings = Orderer(Alphabet()).order_all(broken())
    assert [next(orderings).order for _ in range(50)] == [[1, 0]] * 50
    with pytest.raises((RuntimeError, UserError)):
        next(orderings)


def test_a_slow_source_is_not_read_until_the_buffer_is_full():
    read = []

    def slow():
        while True:
            read.append(["b", "a"])
            yield read[-1]
            time.sleep(0.6 * MAX_WAIT_SECONDS)

    next(Orderer(Alphabet()).order_all(slow()))
    assert len(read) < 5


def test_a_document_can_be_a_generator_of_sentences():
    assert Orderer(Alphabet()).order(letter for letter in "ba").sentences == ("a", "b")


def test_a_string_is_not_a_list_of_sentences():
    with pytest.raises(UserError, match="is a single string: pass a list of sentences"):
        Orderer(Alphabet()).order("One. Two.")


def test_no_sentences_are_refused():
    with pytest.raises(UserError, match="a document needs at least one"):
        Orderer(Alphabet()).order([])


def test_too_many_sentences_are_refused():
    longest, longer = (["a"] * n for n in (MAX_SENTENCES, MAX_SENTENCES + 1))
    orderings = Orderer(Alphabet()).order_all([["b", "a"], longest, longer])
    assert next(orderings).order == [1, 0]
    assert len(next(orderings).order) == MAX_SENTENCES
    with pytest.raises(UserError, match="of 10,001 sentences is too long: at most 10,000: split"):
        next(orderings)


def test_a_saved_model_is_loaded(run, model, puzzles, tmp_path):
    save_model(tmp_path / "run", run, model)
    orderer = Orderer.from_pretrained(tmp_path / "run")
    shown = [puzzle.sentences for puzzle in puzzles]
    assert list(orderer.order_all(shown)) == Passes(model, 1).order(puzzles)


def test_a_folder_without_a_model_is_refused(tmp_path):
    with pytest.raises(UserError, match="no model here: must be a folder that"):
        Orderer.from_pretrained(tmp_path)


def attempted(documents, **options):
    """The orders of the documents, and the message of the error after them."""
    orders = []
    try:
        for ordering in Orderer(Picky()).order_all(documents, **options):
            orders.append(None if ordering is None else ordering.order)
    except UserError as error:
        return orders, str(error)
    return orders, None


class Picky(Alphabet):
    """A backend that refuses documents with a sentence "x"."""

    def order(self, puzzles):
        for puzzle in puzzles:
            self.check(puzzle)
        return super().order(puzzles)

    def check(self, puzzle):
        if "x" in puzzle.sentences:
            raise UserError("it has an x")


GOOD = ["b", "a"]


@pytest.mark.parametrize(
    "bad, message",
    [
        ([], "no sentences"),
        (["a", ""], "sentence 1"),
        (["a", None], "sentence 1"),
        ("a string", "is a single string"),
        (None, "NoneType"),
        (["x", "a"], "it has an x"),
    ],
)
def test_a_bad_document_is_named_or_skipped(bad, message):
    documents = [GOOD, GOOD, bad, GOOD]
    orders, error = attempted(documents)
    assert orders == [[1, 0]] * 2
    assert error.startswith("document 2: ")
    assert message in error
    assert attempted(documents, on_error="skip") == ([[1, 0], [1, 0], None, [1, 0]], None)


def test_document_numbers_continue_across_buffers():
    documents = [*[GOOD] * 3 * BUFFER_SENTENCES, []]
    orders, error = attempted(iter(documents))
    assert len(orders) == 3 * BUFFER_SENTENCES
    assert error.startswith(f"document {3 * BUFFER_SENTENCES}: ")


def test_bad_documents_fill_the_buffer():
    def endless():
        while True:
            yield []

    orderings = Orderer(Picky()).order_all(endless(), on_error="skip")
    assert [next(orderings) for _ in range(3)] == [None] * 3


def test_an_error_of_the_model_is_not_attributed_to_a_document():
    class Broken(Alphabet):
        def order(self, puzzles):
            raise UserError("its scores are not finite numbers")

        def check(self, puzzle):
            pass

    for on_error in ("raise", "skip"):
        with pytest.raises(UserError, match=r"^its scores are not finite numbers"):
            list(Orderer(Broken()).order_all([GOOD], on_error=on_error))


def test_an_error_of_the_source_is_not_attributed_to_a_document():
    def source():
        yield GOOD
        raise UserError("file.jsonl:2: not JSON")

    orderings = Orderer(Picky()).order_all(source(), on_error="skip")
    assert next(orderings).order == [1, 0]
    with pytest.raises(UserError, match=r"^file"):
        next(orderings)


def test_an_unknown_on_error_is_refused_before_reading():
    with pytest.raises(UserError, match='on_error must be "raise" or "skip" \\(got \'ignore\'\\)'):
        Orderer(Picky()).order_all([GOOD], on_error="ignore")


@pytest.mark.parametrize("documents", [None, "text", b"text", 3, {"a": GOOD}])
def test_documents_must_be_a_list(documents):
    name = type(documents).__name__
    with pytest.raises(UserError, match=f"must be a list of lists of sentences .got {name}"):
        Orderer(Picky()).order_all(documents)


@pytest.mark.parametrize("sentences", [None, 3, {"a": "b"}, {"a", "b"}, b"ab"])
def test_sentences_must_be_a_list(sentences):
    with pytest.raises(
        UserError, match=f"^a document must be a list of sentences .got {type(sentences).__name__}"
    ):
        Orderer(Picky()).order(sentences)


@pytest.mark.parametrize("passes", [0, 65, 1.5, None])
def test_passes_outside_the_range_are_refused(passes):
    with pytest.raises(UserError, match=rf"passes must be an integer from 1 to 64 \(got {passes}"):
        Orderer(Picky()).order(GOOD, passes=passes)


def test_the_bundled_model_can_be_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sentences = ["Then we ate.", "We cooked."]
    assert Orderer.from_pretrained("bundled").order(sentences).order == [1, 0]


def test_every_sentence_is_tokenized_once(monkeypatch):
    tokenized = []
    tokenize = Packer._tokenize

    def record(packer, sentences):
        tokenized.extend(sentences)
        return tokenize(packer, sentences)

    monkeypatch.setattr(Packer, "_tokenize", record)
    short, long = ["We ate.", "We cooked."], [f"On day {i} we ate." for i in range(100)]
    list(Orderer.from_pretrained().order_all([short, long], passes=2))  # `long` needs windows
    assert sorted(tokenized) == sorted(short + long)
