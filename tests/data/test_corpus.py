import json

import pytest

from bert4so import Document
from bert4so.data.card import NAME, Card, Part, read_card, write_card
from bert4so.data.corpus import sampled
from bert4so.errors import MAX_QUOTED_CHARACTERS, UserError

DOCUMENTS = [Document(f"d{i % 90}", (f"sentence {i}",)) for i in range(100)]  # ids may recur


def test_a_sample_is_part_of_every_larger_one():
    small, large = sampled(DOCUMENTS, 10), sampled(DOCUMENTS, 50)
    assert (len(small), len(large)) == (10, 50)
    assert [d for d in large if d in small] == small


def test_a_sample_stands_in_the_order_of_the_corpus():
    places = [DOCUMENTS.index(document) for document in sampled(DOCUMENTS, 30)]
    assert places == sorted(places)
    assert places != list(range(30))


def test_without_a_number_all_are_taken():
    assert sampled(DOCUMENTS, 0) == sampled(DOCUMENTS, 1000) == DOCUMENTS


CARD = Card("days", "days.txt", 7, "ours", 0, 1, {"train": Part(3, 9, "ab")})


def test_a_card_reads_back(tmp_path):
    assert read_card(tmp_path) is None
    write_card(tmp_path, CARD)
    assert read_card(tmp_path) == CARD


@pytest.mark.parametrize(
    "change, message",
    [
        ({"seed": "9" * 5000}, '"seed" must be an integer'),
        ({"seed": True}, '"seed" must be an integer'),
        ({"seed": 1.5}, '"seed" must be an integer'),
        ({"name": ["days"]}, '"name" must be a string'),
        (
            {"parts": {"train": {"documents": "3", "sentences": 9, "sha256": ""}}},
            '"documents" must',
        ),
        ({"parts": {"train": {"documents": 3, "sentences": 9, "sha256": 1}}}, '"sha256" must be'),
        ({"parts": {"train": 3}}, "not a data card"),
        ({"parts": 3}, "not a data card"),
        ({"more": 3}, "not a data card"),
        ({"form": 2}, "of another form"),
    ],
)
def test_a_card_with_other_values_is_refused(tmp_path, change, message):
    write_card(tmp_path, CARD)
    facts = json.loads((tmp_path / NAME).read_text())
    (tmp_path / NAME).write_text(json.dumps(facts | change))
    with pytest.raises(UserError, match=message) as refused:
        read_card(tmp_path)
    assert len(str(refused.value)) < len(str(tmp_path)) + MAX_QUOTED_CHARACTERS + 100


@pytest.mark.parametrize("content", [b"", b"3", b"\xff", b"[" * 100_000, b"9" * 5000, b" " * 2**21])
def test_what_is_no_card_is_refused(tmp_path, content):
    (tmp_path / NAME).write_bytes(content)
    with pytest.raises(UserError, match="not a data card"):
        read_card(tmp_path)
