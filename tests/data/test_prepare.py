"""Preparing a corpus: its splits, ids and data card."""

import hashlib
import os
import subprocess
import sys

import pytest

from bert4so.data import sentences
from bert4so.data.card import read_card
from bert4so.data.corpus import read_split, read_splits
from bert4so.data.prepare import assign_splits, prepare
from bert4so.data.readers.raw_document import RawDocument
from bert4so.data.sentences import split_running_text, split_text
from bert4so.data.shuffle import shuffle
from bert4so.errors import UserError
from bert4so.io.on_error import Skipping, stop


def document(number, split=None, name=None):
    return RawDocument(
        f"file:{number}", name or f"d{number}", (f"one {number}", "two"), split=split
    )


def run_prepare(documents, folder, seed=0, on_bad=stop):
    return prepare(documents, folder, "jsonl", "somewhere", seed, on_bad)


def test_splits_of_the_source_are_kept(tmp_path):
    documents = [
        document(1, "train"),
        document(2, "test"),
        document(3, "train"),
        document(4, "valid"),
    ]
    card = run_prepare(documents, tmp_path / "out")
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        "train.jsonl", "valid.jsonl", "test.jsonl", "corpus.json",
    }  # fmt: skip
    assert [d.id for d in read_split(tmp_path / "out", "train")] == ["d1", "d3"]
    assert card.divided == "as in the source"
    assert card == read_card(tmp_path / "out")


def test_documents_without_a_split_are_divided_8_1_1(tmp_path):
    card = run_prepare((document(k) for k in range(98_161 // 100)), tmp_path / "out")
    assert {s: p.documents for s, p in card.parts.items()} == {
        "train": 785, "valid": 98, "test": 98,
    }  # fmt: skip
    again = run_prepare((document(k) for k in reversed(range(981))), tmp_path / "again")
    other = run_prepare((document(k) for k in range(981)), tmp_path / "other", seed=1)
    ids = [
        {d.id for d in read_split(tmp_path / name, "test")} for name in ("out", "again", "other")
    ]
    assert ids[0] == ids[1]  # independent of the order of the documents
    assert ids[0] != ids[2]
    assert (again.seed, other.seed) == (0, 1)


def test_assign_splits_is_the_same_on_every_machine():
    ids = [f"story-{k}" for k in range(40)]
    shuffled = sorted(ids, key=lambda name: hashlib.sha256(f"split\0007\0{name}".encode()).digest())
    splits = assign_splits(ids, 7)
    assert [name for name in shuffled if splits[name] == "test"] == shuffled[:4]
    assert [name for name in shuffled if splits[name] == "valid"] == shuffled[4:8]


def test_duplicate_ids_are_changed_and_counted(tmp_path):
    names = ["a", "b", "a", "a#2", "a", "b"]
    documents = [document(k, "test", name) for k, name in enumerate(names)]
    card = run_prepare(documents, tmp_path / "out")
    ids = [d.id for d in read_split(tmp_path / "out", "test")]
    assert ids == ["a", "b", "a#2", "a#2#2", "a#3", "b#2"]
    assert len(set(ids)) == 6
    assert card.repaired == 4


def test_card_has_counts_and_hashes(tmp_path):
    card = run_prepare([document(1, "train"), document(2, "train")], tmp_path / "out")
    part = card.parts["train"]
    assert (part.documents, part.sentences) == (2, 4)
    content = (tmp_path / "out" / "train.jsonl").read_bytes()
    assert part.sha256 == hashlib.sha256(content).hexdigest()


def test_seed_of_the_card_determines_the_shuffles(tmp_path):
    documents = [RawDocument("", f"d{k}", tuple("abcdef"), split="test") for k in range(50)]
    for seed in (0, 5):
        run_prepare(
            [*documents, document(1, "train"), document(2, "valid")], tmp_path / str(seed), seed
        )
    splits = [read_splits(tmp_path / str(seed)) for seed in (0, 5)]
    assert [one.seed for one in splits] == [0, 5]
    shown = [[shuffle(d, one.seed).sentences for d in one.test] for one in splits]
    assert shown[0] != shown[1]
    # Computed by hand from the seed and the id.
    key = lambda i: hashlib.sha256(f"5\0d0\0{i}".encode()).digest()  # noqa: E731
    assert shown[1][0] == tuple("abcdef"[i] for i in sorted(range(6), key=key))


def test_invalid_document_is_raised_or_skipped_and_counted(tmp_path):
    documents = [
        document(1, "train"),
        RawDocument("file:2", "x", ("a", " "), split="train"),
        document(3, "train"),
    ]
    with pytest.raises(UserError, match=r"file:2: sentence 1 must contain text \(got ' '\)"):
        run_prepare(documents, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []
    card = run_prepare(documents, tmp_path / "out", on_bad=Skipping())
    assert (card.skipped, card.parts["train"].documents) == (1, 2)


def test_prepare_refuses_a_full_folder_and_an_empty_source(tmp_path):
    (tmp_path / "mine").write_text("")
    with pytest.raises(UserError, match="not empty: choose another folder with --out"):
        run_prepare([document(1)], tmp_path)
    with pytest.raises(UserError, match="somewhere: contains no documents"):
        run_prepare([], tmp_path / "out")


@pytest.mark.parametrize("text", ["[]", "{", '{"form": 1}', '{"form": 1, "seed": 0, "x": 1}'])
def test_invalid_card_is_refused(tmp_path, text):
    (tmp_path / "corpus.json").write_text(text)
    with pytest.raises(UserError, match=r"corpus\.json: not a data card"):
        read_card(tmp_path)
    (tmp_path / "corpus.json").write_text('{"form": 2}')
    with pytest.raises(UserError, match="unknown version of the data card"):
        read_card(tmp_path)


TEXT = "Dr. Smith went to Washington, D.C. in Jan. 2020. He met 3.5 million people!  Did he? Yes."


def test_split_text_splits_at_sentence_ends():
    assert split_text(TEXT) == (
        "Dr. Smith went to Washington, D.C. in Jan. 2020.",
        "He met 3.5 million people!",
        "Did he?",
        "Yes.",
    )


def test_split_running_text_keeps_the_order():
    documents = [RawDocument("", str(k), text=f"This is {k}. That is {k}.") for k in range(30)]
    documents[7] = RawDocument("", "7", ("whole", "already"))
    split = list(split_running_text(documents, jobs=2))
    assert [one.id for one in split] == [str(k) for k in range(30)]
    assert split[7].sentences == ("whole", "already")
    assert split[29].sentences == ("This is 29.", "That is 29.")


def test_document_without_sentences_is_not_running_text(monkeypatch):
    monkeypatch.setattr(sentences, "_segmenter", lambda: pytest.fail("nothing is to be split"))
    assert list(split_running_text([RawDocument("", "a", ())])) == [RawDocument("", "a", ())]


def test_memory_does_not_grow_with_the_corpus(tmp_path):
    """50,000 documents of 1 KB each: only their ids are kept in memory."""
    code = """
import re, sys
from pathlib import Path
from bert4so.data.prepare import prepare
from bert4so.io.on_error import stop
from bert4so.data.readers.raw_document import RawDocument
def peak():  # not ru_maxrss, which a child inherits from its parent
    return int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
def documents(n):
    for k in range(n):
        yield RawDocument("", f"d{k}", tuple(f"{'word ' * 50}{k} {i}" for i in range(4)))
prepare(documents(100), Path(sys.argv[1]) / "few", "jsonl", "x", 0, stop)
before = peak()
prepare(documents(50_000), Path(sys.argv[1]) / "many", "jsonl", "x", 0, stop)
print((peak() - before) // 1024)
"""
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=True
    )
    assert os.path.getsize(tmp_path / "many" / "train.jsonl") > 40e6
    assert int(done.stdout) < 40  # megabytes
