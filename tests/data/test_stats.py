"""What is counted and what is found in a corpus."""

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from bert4so.data.check import NUMBERED, ORDINAL, changed, findings, shared
from bert4so.data.prepare import prepare
from bert4so.data.readers.raw_document import RawDocument
from bert4so.data.stats import PaperStatistics, compared, statistics
from bert4so.document import Document
from bert4so.io.on_error import stop


@pytest.fixture
def words():
    """A tokenizer for which every word is a piece."""
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer


def test_counts(words):
    splits = {
        "train": [Document("a", ("one two", "three")), Document("b", ("four",))],
        "test": [Document("c", ("five six seven", "eight nine", "ten"))],
    }
    found = statistics(splits, words)
    assert found.documents == {"train": 2, "test": 1}
    assert found.sentences == (2, 3)
    assert found.pieces == (10 / 3, 6)
    assert found.tokens == (22 / 3, 6 + 2 * 3)
    (row,) = compared("mine", found, None)
    assert row == ["mine", "2", "0", "1", "2.00", "3", "3.33", "6", "7.33", "12"]
    sind = PaperStatistics({"train": 40155, "valid": 4990, "test": 5055}, (58.61, 288))
    _, paper, difference = compared("sind", found, sind)
    assert paper[:4] == ["  the paper's", "40,155", "4,990", "5,055"]
    assert difference[:4] == ["  difference", "-40,153", "-4,990", "-5,054"]
    assert difference[6:8] == [f"{10 / 3 - 58.61:+.2f}", "-282"]


@pytest.mark.parametrize(
    "text", ["1) we", "(2) we", "3. We", "iv) we", "[5] we", "b) we", "1 ) we", "(ii) We", "2: so"]
)
def test_numbers_that_give_the_order_away(text):
    assert NUMBERED.match(text)


@pytest.mark.parametrize(
    "text", ["First, we", "secondly we", "Finally, it", "Third we", "Next, we"]
)
def test_words_that_give_the_order_away(text):
    assert ORDINAL.match(text)


@pytest.mark.parametrize(
    "text", ["1000 people", "We 1)", "A dog", "I went", "It. is", "3.5 million"]
)
def test_what_only_looks_like_it(text):
    assert not NUMBERED.match(text)
    assert not ORDINAL.match(text)


def test_everything_that_is_to_be_found_is_found(words):
    documents = [
        Document("single", ("alone",)),
        Document("list", ("1) wake up", "2) eat")),
        Document("chance", ("1) wake up", "eat")),
        Document("words", ("First, wake up", "Then eat", "Finally, sleep")),
        Document("long", ("w " * 600, "short")),
        Document("many", tuple("w " * 20 for _ in range(60))),
    ]
    found = {one.what: one.ids for one in findings(("c", "test"), documents, words)}
    assert found == {
        "c/test: of one sentence": ["single"],
        'c/test: with numbered sentences ("1)")': ["list"],
        'c/test: with ordinal words ("First,")': ["words"],
        "c/test: with sentences cut to fit 512 word pieces": ["long"],
        "c/test: with too many sentences for that": ["many"],
    }


def test_what_is_shared_is_named_by_its_places():
    places = {
        ("one", "train"): [Document("a", ("x", "y")), Document("b", ("x", "y", "z"))],
        ("one", "test"): [Document("c", ("X", "Y."))],
    }
    found = {one.what: one.ids for one in shared(places)}
    assert found["one/train: also in one/test, whole"] == ["a"]
    assert found["one/train: also in one/test, two sentences or more"] == ["b"]
    assert found["one/train: again in the same split, two sentences or more"] == ["a", "b"]


def test_a_split_that_was_changed_is_found(tmp_path):
    some = [RawDocument("", f"d{k}", ("a", "b"), split=s) for k, s in enumerate(["train", "test"])]
    prepare(some, tmp_path / "out", "jsonl", "x", 0, stop)
    assert list(changed("mine", tmp_path / "out")) == []
    with (tmp_path / "out" / "test.jsonl").open("a") as file:
        file.write("\n")
    (found,) = changed("mine", tmp_path / "out")
    assert found.what == "mine/test: not what the data card says"
