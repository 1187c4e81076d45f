"""Any form in, one form out: the splits, their ids, and the card that says what they are."""

import hashlib
import os
import subprocess
import sys

import pytest

from bert4so.data import sentences
from bert4so.data.card import read_card
from bert4so.data.corpus import read_split, read_splits
from bert4so.data.prepare import divide, prepare
from bert4so.data.readers.raw_document import RawDocument
from bert4so.data.sentences import split_text, with_sentences
from bert4so.data.shuffle import shuffle
from bert4so.errors import UserError
from bert4so.io.on_error import Skipping, stop


def found(number, split=None, name=None):
    return RawDocument(
        f"file:{number}", name or f"d{number}", (f"one {number}", "two"), split=split
    )


def prepared(some, folder, seed=0, on_bad=stop):
    return prepare(some, folder, "jsonl", "somewhere", seed, on_bad)


def test_what_the_source_divides_stays_so(tmp_path):
    some = [found(1, "train"), found(2, "test"), found(3, "train"), found(4, "valid")]
    card = prepared(some, tmp_path / "out")
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        "train.jsonl", "valid.jsonl", "test.jsonl", "corpus.json",
    }  # fmt: skip
    assert [d.id for d in read_split(tmp_path / "out", "train")] == ["d1", "d3"]
    assert card.divided == "as in the source"
    assert card == read_card(tmp_path / "out")


def test_what_it_does_not_divide_is_divided_eight_to_one_to_one(tmp_path):
    card = prepared((found(k) for k in range(98_161 // 100)), tmp_path / "out")
    assert {s: p.documents for s, p in card.parts.items()} == {
        "train": 785, "valid": 98, "test": 98,
    }  # fmt: skip
    again = prepared((found(k) for k in reversed(range(981))), tmp_path / "again")
    other = prepared((found(k) for k in range(981)), tmp_path / "other", seed=1)
    ids = [
        {d.id for d in read_split(tmp_path / name, "test")} for name in ("out", "again", "other")
    ]
    assert ids[0] == ids[1]  # whatever order they come in
    assert ids[0] != ids[2]
    assert (again.seed, other.seed) == (0, 1)


def test_the_division_is_the_same_on_every_machine():
    ids = [f"story-{k}" for k in range(40)]
    drawn = sorted(ids, key=lambda name: hashlib.sha256(f"split\0007\0{name}".encode()).digest())
    found = divide(ids, 7)
    assert [name for name in drawn if found[name] == "test"] == drawn[:4]
    assert [name for name in drawn if found[name] == "valid"] == drawn[4:8]


def test_ids_that_are_taken_are_repaired_and_counted(tmp_path):
    names = ["a", "b", "a", "a#2", "a", "b"]
    some = [found(k, "test", name) for k, name in enumerate(names)]
    card = prepared(some, tmp_path / "out")
    ids = [d.id for d in read_split(tmp_path / "out", "test")]
    assert ids == ["a", "b", "a#2", "a#2#2", "a#3", "b#2"]
    assert len(set(ids)) == 6
    assert card.repaired == 4


def test_the_card_counts_and_hashes(tmp_path):
    card = prepared([found(1, "train"), found(2, "train")], tmp_path / "out")
    part = card.parts["train"]
    assert (part.documents, part.sentences) == (2, 4)
    content = (tmp_path / "out" / "train.jsonl").read_bytes()
    assert part.sha256 == hashlib.sha256(content).hexdigest()


def test_the_shuffles_are_those_of_the_card(tmp_path):
    some = [RawDocument("", f"d{k}", tuple("abcdef"), split="test") for k in range(50)]
    for seed in (0, 5):
        prepared([*some, found(1, "train"), found(2, "valid")], tmp_path / str(seed), seed)
    splits = [read_splits(tmp_path / str(seed)) for seed in (0, 5)]
    assert [one.seed for one in splits] == [0, 5]
    shown = [[shuffle(d, one.seed).sentences for d in one.test] for one in splits]
    assert shown[0] != shown[1]
    # A pure function of seed and id, spelled out.
    key = lambda i: hashlib.sha256(f"5\0d0\0{i}".encode()).digest()  # noqa: E731
    assert shown[1][0] == tuple("abcdef"[i] for i in sorted(range(6), key=key))


def test_what_cannot_be_used_is_named_or_counted(tmp_path):
    some = [
        found(1, "train"),
        RawDocument("file:2", "x", ("a", " "), split="train"),
        found(3, "train"),
    ]
    with pytest.raises(UserError, match=r"file:2: sentence 1 must contain text \(got ' '\)"):
        prepared(some, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []
    card = prepared(some, tmp_path / "out", on_bad=Skipping())
    assert (card.skipped, card.parts["train"].documents) == (1, 2)


def test_nothing_is_overwritten_and_nothing_is_not_a_corpus(tmp_path):
    (tmp_path / "mine").write_text("")
    with pytest.raises(UserError, match="not empty: name another folder with --out"):
        prepared([found(1)], tmp_path)
    with pytest.raises(UserError, match="somewhere: no documents in it"):
        prepared([], tmp_path / "out")


@pytest.mark.parametrize("text", ["[]", "{", '{"form": 1}', '{"form": 1, "seed": 0, "x": 1}'])
def test_a_card_that_is_none_is_named(tmp_path, text):
    (tmp_path / "corpus.json").write_text(text)
    with pytest.raises(UserError, match=r"corpus\.json: not a data card"):
        read_card(tmp_path)
    (tmp_path / "corpus.json").write_text('{"form": 2}')
    with pytest.raises(UserError, match="of another form"):
        read_card(tmp_path)


TEXT = "Dr. Smith went to Washington, D.C. in Jan. 2020. He met 3.5 million people!  Did he? Yes."


def test_running_text_is_split_at_the_ends_of_sentences():
    assert split_text(TEXT) == (
        "Dr. Smith went to Washington, D.C. in Jan. 2020.",
        "He met 3.5 million people!",
        "Did he?",
        "Yes.",
    )


def test_running_text_is_split_in_the_order_given():
    some = [RawDocument("", str(k), text=f"This is {k}. That is {k}.") for k in range(30)]
    some[7] = RawDocument("", "7", ("whole", "already"))
    split = list(with_sentences(some, jobs=2))
    assert [one.id for one in split] == [str(k) for k in range(30)]
    assert split[7].sentences == ("whole", "already")
    assert split[29].sentences == ("This is 29.", "That is 29.")


def test_a_list_of_no_sentences_is_not_running_text(monkeypatch):
    monkeypatch.setattr(sentences, "_segmenter", lambda: pytest.fail("nothing is to be split"))
    assert list(with_sentences([RawDocument("", "a", ())])) == [RawDocument("", "a", ())]


def test_memory_does_not_grow_with_the_corpus(tmp_path):
    """Fifty thousand documents of a kilobyte each; what is kept of each is its id."""
    code = """
import re, sys
from pathlib import Path
from bert4so.data.prepare import prepare
from bert4so.io.on_error import stop
from bert4so.data.readers.raw_document import RawDocument
def most():  # not ru_maxrss, which a child has from its parent
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
def some(n):
    for k in range(n):
        yield RawDocument("", f"d{k}", tuple(f"{'word ' * 50}{k} {i}" for i in range(4)))
prepare(some(100), Path(sys.argv[1]) / "few", "jsonl", "x", 0, stop)
before = most()
prepare(some(50_000), Path(sys.argv[1]) / "many", "jsonl", "x", 0, stop)
print((most() - before) // 1024)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True
    )
    assert os.path.getsize(tmp_path / "many" / "train.jsonl") > 40e6
    assert int(done.stdout) < 40  # megabytes
