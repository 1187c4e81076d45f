import time

import pytest

from bert4so import Decision, Orderer, Ordering, UserError
from bert4so.inference.attempts import PATIENCE
from bert4so.inference.backend import MAX_SENTENCES
from bert4so.inference.orderer import BUFFER
from bert4so.inference.passes import Passes
from bert4so.text.packing import Packer
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
    with pytest.raises(UserError, match="is a single string: pass a list of sentences"):
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


def attempted(documents, **how):
    """The orders of documents, and the error that ended them."""
    found = []
    try:
        for ordering in Orderer(Picky()).order_all(documents, **how):
            found.append(None if ordering is None else ordering.order)
    except UserError as error:
        return found, str(error)
    return found, None


class Picky(Alphabet):
    """A backend that refuses documents with an x, as one refuses what is too long."""

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
    found, error = attempted(documents)
    assert found == [[1, 0]] * 2
    assert error.startswith("document 2: ")
    assert message in error
    assert attempted(documents, on_error="skip") == ([[1, 0], [1, 0], None, [1, 0]], None)


def test_documents_are_numbered_over_all_that_is_read():
    documents = [*[GOOD] * 3 * BUFFER, []]
    found, error = attempted(iter(documents))
    assert len(found) == 3 * BUFFER
    assert error.startswith(f"document {3 * BUFFER}: ")


def test_many_bad_documents_do_not_wait_for_a_good_one():
    def endless():
        while True:
            yield []

    answers = Orderer(Picky()).order_all(endless(), on_error="skip")
    assert [next(answers) for _ in range(3)] == [None] * 3


def test_an_error_of_the_model_is_no_error_of_a_document():
    class Broken(Alphabet):
        def order(self, puzzles):
            raise UserError("its scores are not finite numbers")

        def check(self, puzzle):
            pass

    for on_error in ("raise", "skip"):
        with pytest.raises(UserError, match=r"^its scores are not finite numbers"):
            list(Orderer(Broken()).order_all([GOOD], on_error=on_error))


def test_an_error_of_the_source_is_no_error_of_a_document():
    def source():
        yield GOOD
        raise UserError("file.jsonl:2: not JSON")

    answers = Orderer(Picky()).order_all(source(), on_error="skip")
    assert next(answers).order == [1, 0]
    with pytest.raises(UserError, match=r"^file"):
        next(answers)


def test_another_on_error_is_refused_before_anything_is_read():
    with pytest.raises(UserError, match='on_error must be "raise" or "skip" \\(got \'ignore\'\\)'):
        Orderer(Picky()).order_all([GOOD], on_error="ignore")


@pytest.mark.parametrize("documents", [None, "text", b"text", 3, {"a": GOOD}])
def test_what_is_no_list_of_documents_is_refused(documents):
    with pytest.raises(
        UserError, match=f"wanted a list of documents .got {type(documents).__name__}"
    ):
        Orderer(Picky()).order_all(documents)


@pytest.mark.parametrize("sentences", [None, 3, {"a": "b"}, {"a", "b"}, b"ab"])
def test_what_is_no_list_of_sentences_is_refused(sentences):
    with pytest.raises(
        UserError, match=f"^a document must be a list of sentences .got {type(sentences).__name__}"
    ):
        Orderer(Picky()).order(sentences)


@pytest.mark.parametrize("passes", [0, 65, 1.5, None])
def test_passes_are_a_number_in_a_range(passes):
    with pytest.raises(UserError, match="passes = "):
        Orderer(Picky()).order(GOOD, passes=passes)


def test_the_bundled_model_has_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    sentences = ["Then we ate.", "We cooked."]
    assert Orderer.from_pretrained("bundled").order(sentences).order == [1, 0]


def test_a_sentence_is_tokenized_once_on_its_way(monkeypatch):
    tokenized = []
    tokenize = Packer._tokenize

    def remember(packer, sentences):
        tokenized.extend(sentences)
        return tokenize(packer, sentences)

    monkeypatch.setattr(Packer, "_tokenize", remember)
    short, long = ["We ate.", "We cooked."], [f"On day {i} we ate." for i in range(100)]
    list(Orderer.from_pretrained().order_all([short, long], passes=2))  # the long one by windows
    assert sorted(tokenized) == sorted(short + long)
