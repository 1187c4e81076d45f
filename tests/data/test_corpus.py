import json

import pytest

from bert4so import Document
from bert4so.data.card import CARD_FILE, Card, SplitCard, read_card, write_card
from bert4so.data.corpus import load_corpus, sample_documents
from bert4so.errors import MAX_QUOTED_CHARACTERS, UserError

DOCUMENTS = [Document(f"d{i % 90}", (f"sentence {i}",)) for i in range(100)]  # ids may repeat


def test_sample_is_a_subset_of_larger_samples():
    small, large = sample_documents(DOCUMENTS, 10), sample_documents(DOCUMENTS, 50)
    assert (len(small), len(large)) == (10, 50)
    assert [d for d in large if d in small] == small


def test_sample_keeps_the_order_of_the_corpus():
    places = [DOCUMENTS.index(document) for document in sample_documents(DOCUMENTS, 30)]
    assert places == sorted(places)
    assert places != list(range(30))


def test_sample_of_size_zero_is_everything():
    assert sample_documents(DOCUMENTS, 0) == sample_documents(DOCUMENTS, 1000) == DOCUMENTS


def write_split(folder, split, *lines):
    (folder / f"{split}.jsonl").write_text("\n".join(lines) + "\n")


ONE, TWO = '{"id": "1", "sentences": ["a", "b"]}', '{"id": "2", "sentences": ["c"]}'


def test_load_corpus_reads_all_splits(tmp_path):
    write_split(tmp_path, "train", ONE, TWO)
    write_split(tmp_path, "test", TWO)
    write_card(tmp_path, CARD)
    corpus = load_corpus(tmp_path)
    assert list(corpus.train) == [Document("1", ("a", "b")), Document("2", ("c",))]
    assert (list(corpus.valid), list(corpus.test)) == ([], [Document("2", ("c",))])
    assert (corpus.seed, corpus.name) == (CARD.seed, str(tmp_path))


def test_load_corpus_by_name(tmp_path, monkeypatch):
    (tmp_path / "days").mkdir()
    write_split(tmp_path / "days", "test", ONE)
    monkeypatch.setenv("BERT4SO_DATA", str(tmp_path))
    assert len(load_corpus("days").test) == 1


def test_load_corpus_raises_or_skips_an_invalid_line(tmp_path, capsys):
    write_split(tmp_path, "train", ONE, "{", TWO)
    with pytest.raises(UserError, match=r"train\.jsonl:2: not JSON"):
        load_corpus(tmp_path)
    assert [d.id for d in load_corpus(tmp_path, on_error="skip").train] == ["1", "2"]
    assert "train.jsonl:2" in capsys.readouterr().err
    with pytest.raises(UserError, match='on_error must be "raise" or "skip"'):
        load_corpus(tmp_path, on_error="ignore")


def test_load_corpus_refuses_a_folder_without_documents(tmp_path):
    with pytest.raises(UserError, match=r"has no train\.jsonl, valid\.jsonl or test\.jsonl"):
        load_corpus(tmp_path)


CARD = Card("days", "days.txt", 7, "ours", 0, 1, {"train": SplitCard(3, 9, "ab")})


def test_card_is_read_back(tmp_path):
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
        ({"form": 2}, "unknown version"),
    ],
)
def test_card_with_invalid_values_is_refused(tmp_path, change, message):
    write_card(tmp_path, CARD)
    facts = json.loads((tmp_path / CARD_FILE).read_text())
    (tmp_path / CARD_FILE).write_text(json.dumps(facts | change))
    with pytest.raises(UserError, match=f"^{tmp_path / CARD_FILE}: {message}") as refused:
        read_card(tmp_path)
    assert len(str(refused.value)) < len(str(tmp_path)) + MAX_QUOTED_CHARACTERS + 100


@pytest.mark.parametrize("content", [b"", b"3", b"\xff", b"[" * 100_000, b"9" * 5000, b" " * 2**21])
def test_file_that_is_not_a_card_is_refused(tmp_path, content):
    (tmp_path / CARD_FILE).write_bytes(content)
    with pytest.raises(UserError, match="not a data card"):
        read_card(tmp_path)
