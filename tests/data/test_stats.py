"""Statistics and checks of a corpus."""

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers

from bert4so.data.check import NUMBERED, ORDINAL, changed_splits, check_split, find_overlaps
from bert4so.data.prepare import prepare
from bert4so.data.readers.raw_document import RawDocument
from bert4so.data.stats import PaperStatistics, compare_with_paper, statistics
from bert4so.document import Document
from bert4so.io.on_error import stop


@pytest.fixture
def words():
    """A tokenizer with one word piece per word."""
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer


def test_statistics_and_comparison_with_the_paper(words):
    splits = {
        "train": [Document("a", ("one two", "three")), Document("b", ("four",))],
        "test": [Document("c", ("five six seven", "eight nine", "ten"))],
    }
    found = statistics(splits, words)
    assert found.documents == {"train": 2, "test": 1}
    assert found.sentences == (2, 3)
    assert found.pieces == (10 / 3, 6)
    assert found.tokens == (22 / 3, 6 + 2 * 3)
    (row,) = compare_with_paper("mine", found, None)
    assert row == ["mine", "2", "0", "1", "2.00", "3", "3.33", "6", "7.33", "12"]
    sind = PaperStatistics({"train": 40155, "valid": 4990, "test": 5055}, (58.61, 288))
    _, paper, difference = compare_with_paper("sind", found, sind)
    assert paper[:4] == ["  paper", "40,155", "4,990", "5,055"]
    assert difference[:4] == ["  difference", "-40,153", "-4,990", "-5,054"]
    assert difference[6:8] == [f"{10 / 3 - 58.61:+.2f}", "-282"]


@pytest.mark.parametrize(
    "text", ["1) we", "(2) we", "3. We", "iv) we", "[5] we", "b) we", "1 ) we", "(ii) We", "2: so"]
)
def test_numbered_sentences_match(text):
    assert NUMBERED.match(text)


@pytest.mark.parametrize(
    "text", ["First, we", "secondly we", "Finally, it", "Third we", "Next, we"]
)
def test_ordinal_words_match(text):
    assert ORDINAL.match(text)


@pytest.mark.parametrize(
    "text", ["1000 people", "We 1)", "A dog", "I went", "It. is", "3.5 million"]
)
def test_other_sentences_match_neither(text):
    assert not NUMBERED.match(text)
    assert not ORDINAL.match(text)


def test_check_split_finds_every_kind_of_problem(words):
    documents = [
        Document("single", ("alone",)),
        Document("list", ("1) wake up", "2) eat")),
        Document("chance", ("1) wake up", "eat")),
        Document("words", ("First, wake up", "Then eat", "Finally, sleep")),
        Document("long", ("w " * 600, "short")),
        Document("many", tuple("w " * 20 for _ in range(60))),
    ]
    found = {one.problem: one.ids for one in check_split(("c", "test"), documents, words)}
    assert found == {
        "c/test: single-sentence documents": ["single"],
        'c/test: numbered sentences ("1)")': ["list"],
        'c/test: ordinal words ("First,")': ["words"],
        "c/test: sentences truncated to fit 512 tokens": ["long"],
        "c/test: too many sentences for 512 tokens": ["many"],
    }


def test_find_overlaps_names_both_splits():
    places = {
        ("one", "train"): [Document("a", ("x", "y")), Document("b", ("x", "y", "z"))],
        ("one", "test"): [Document("c", ("X", "Y."))],
    }
    found = {one.problem: one.ids for one in find_overlaps(places)}
    assert found["one/train: also in one/test, complete"] == ["a"]
    assert found["one/train: also in one/test, two or more sentences"] == ["b"]
    assert found["one/train: again in the same split, two or more sentences"] == ["a", "b"]


def test_changed_split_is_found(tmp_path):
    some = [RawDocument("", f"d{k}", ("a", "b"), split=s) for k, s in enumerate(["train", "test"])]
    prepare(some, tmp_path / "out", "jsonl", "x", 0, stop)
    assert list(changed_splits("mine", tmp_path / "out")) == []
    with (tmp_path / "out" / "test.jsonl").open("a") as file:
        file.write("\n")
    (finding,) = changed_splits("mine", tmp_path / "out")
    assert finding.problem == "mine/test: does not match the data card"
