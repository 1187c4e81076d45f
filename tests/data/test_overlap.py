"""Overlapping documents are found, and left out of training."""

import random

import pytest

from bert4so.data.corpus import Corpus
from bert4so.data.join import join
from bert4so.data.overlap import fingerprint, overlaps
from bert4so.document import Document


def document(name, sentences):
    return Document(name, tuple(sentences))


def brute_force(groups):
    """Compare every pair of documents."""
    found = set()
    for group, documents in groups.items():
        for i, one in enumerate(documents):
            for other_group, others in groups.items():
                for j, other in enumerate(others):
                    if (group, i) == (other_group, j):
                        continue
                    ours, theirs = ([fingerprint(s) for s in d.sentences] for d in (one, other))
                    if ours == theirs or len({*ours} & {*theirs} - {0}) >= 2:
                        found.add((group, one.id, other_group))
    return found


def test_overlaps_equal_a_comparison_of_all_pairs():
    rng = random.Random(0)
    words = [f"sentence {k}" for k in range(120)] + ["...", "?!"]
    groups = {
        name: [document(f"{name}-{k}", rng.choices(words, k=rng.randint(1, 6))) for k in range(60)]
        for name in "abc"
    }
    found = {(s.group, s.document.id, s.other) for s in overlaps(groups)}
    assert len(found) > 30
    assert found == brute_force(groups)


def test_two_shared_sentences_are_an_overlap_but_not_one():
    groups = {
        "train": [document("x", ["a b", "c", "d"]), document("y", ["Thank you!", "e", "f"])],
        "test": [document("p", ["A  B.", "D!", "z"]), document("q", ["thank you", "g"])],
    }
    found = list(overlaps(groups))
    assert [(s.group, s.document.id, s.other, s.same) for s in found] == [
        ("train", "x", "test", False),
        ("test", "p", "train", False),
    ]


def test_repeated_sentence_counts_once():
    groups = {"a": [document("x", ["so", "it", "so"])], "b": [document("y", ["so", "is"])]}
    assert list(overlaps(groups)) == []


def test_case_and_punctuation_are_ignored():
    groups = {
        "raw": [document("x", ["We show that F = ma (Newton, 1687)."])],
        "lower": [document("y", ["we show that f = ma ( newton , 1687 ) ."])],
        "twice": [document("z", ["b", "c"]), document("w", ["b", "c"])],
    }
    found = [(s.group, s.document.id, s.other, s.same) for s in overlaps(groups)]
    assert ("raw", "x", "lower", True) in found
    assert ("twice", "z", "twice", True) in found
    assert ("raw", "x", "raw", True) not in found


def test_boilerplate_in_every_document_is_fast():
    same = ["This award reflects the mission.", "It was evaluated.", "Support is deemed worthy."]
    documents = [document(str(k), [f"own {k}", *same]) for k in range(20_000)]
    assert sum(1 for _ in overlaps({"train": documents})) == 20_000


def test_join_leaves_out_documents_that_are_held_out():
    def splits(name, leak):
        return Corpus(
            [document("1", [f"{name} a", f"{name} b"]), document("2", leak)],
            [document("3", [f"{name} c", f"{name} d", f"{name} e"])],
            [document("4", [f"{name} f", f"{name} g"])],
        )

    own = splits("own", ["x", "OTHER F.", "other g!"])  # two sentences of the other's test document
    other = splits("other", ["own c", "own e"])  # two sentences of our validation document
    third = splits("third", ["own c", "other f"])  # one sentence of each is not a leak
    joined = join(own, {"other": other, "data/third": third})
    assert [d.id for d in joined.train] == ["1", "other/1", "data/third/1", "data/third/2"]
    assert joined.left_out == 2
    assert (joined.valid, joined.test) == (own.valid, own.test)
    held = join(own, {"data/third": third}, [other])  # held out, but not trained on
    assert [d.id for d in held.train] == ["1", "data/third/1", "data/third/2"]
    assert held.left_out == 1


@pytest.mark.parametrize("text", ["...", "—", "?!"])
def test_punctuation_has_no_fingerprint(text):
    assert fingerprint(text) == 0
