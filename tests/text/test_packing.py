import pickle
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bert4so.errors import UserError
from bert4so.modeling.encoder import load_config, load_packer
from bert4so.text.packing import MIN_WORD_PIECES, Packer, kept_lengths

CLS, SEP, UNKNOWN = 2, 3, 0


@pytest.fixture(scope="module")
def packer(encoder):
    return load_packer(str(encoder), load_config(str(encoder)))


def test_row_matches_a_manual_example(packer):
    word = packer.tokenizer.token_to_id
    row = packer.pack(["we eat bread", "sleep", "go home"])
    assert row.ids.tolist() == [
        *[CLS, word("we"), word("eat"), word("bread"), SEP],
        *[CLS, word("sleep"), SEP],
        *[CLS, word("go"), word("home"), SEP],
    ]
    assert row.segments.tolist() == [0] * 5 + [1] * 3 + [0] * 4
    assert row.starts.tolist() == [0, 5, 8]
    assert row.owners.tolist() == [-1, 0, 0, 0, -1, -1, 1, -1, -1, 2, 2, -1]
    assert not row.cut.any()


def test_row_length_is_limited_by_the_encoder(packer):
    # The tokenizer's file enables truncation and padding to 16 tokens.
    assert packer.layout.positions == 128
    assert len(packer.pack(["bread " * 40, "sleep"]).ids) == 45


def test_special_tokens_in_a_sentence_are_plain_text(packer):
    row = packer.pack(["eat [SEP] [CLS] [PAD] bread", "sleep"])
    assert (row.ids == CLS).sum() == (row.ids == SEP).sum() == 2
    assert packer.layout.pad not in row.ids


def test_sentence_without_words_is_an_unknown_token(packer):
    row = packer.pack(["", "\x00\x01", "sleep"])
    assert row.ids[:6].tolist() == [CLS, UNKNOWN, SEP, CLS, UNKNOWN, SEP]
    assert row.owners.tolist() == [-1, 0, -1, -1, 1, -1, -1, 2, -1]


def test_longest_sentences_are_truncated_first(packer):
    row = packer.pack(["bread " * 200, "we eat bread", "sleep " * 60])
    assert len(row.ids) == 128
    assert row.cut.tolist() == [True, False, True]
    assert np.bincount(row.owners[row.owners >= 0]).tolist() == [60, 3, 59]
    assert (row.ids == CLS).sum() == (row.ids == SEP).sum() == 3


def test_short_sentences_leave_room_for_a_long_one():
    assert kept_lengths([2] * 12 + [200], 128) == [2] * 12 + [128 - 26 - 24]


@given(st.lists(st.integers(1, 60), min_size=1, max_size=12), st.integers(60, 200))
def test_kept_lengths_fit_and_are_as_even_as_possible(lengths, positions):
    if positions < sum(min(length, MIN_WORD_PIECES) + 2 for length in lengths):
        with pytest.raises(UserError):
            kept_lengths(lengths, positions)
        return
    kept = kept_lengths(lengths, positions)
    room = positions - 2 * len(lengths)
    assert all(k <= length for k, length in zip(kept, lengths, strict=True))
    assert sum(kept) == min(sum(lengths), room)
    cut = [k for k, length in zip(kept, lengths, strict=True) if k < length]
    if cut:
        assert max(kept) - min(cut) <= 1
        assert min(cut) >= MIN_WORD_PIECES


def test_error_for_too_many_sentences_states_the_limit(packer):
    with pytest.raises(UserError, match="13 sentences and 650 word pieces is too long") as error:
        packer.pack(["bread " * 50] * 13)
    assert "the model reads 128 tokens, which is enough for 12 sentences of 8" in str(error.value)
    assert len(packer.pack(["sleep"] * 42).ids) == 126  # more short sentences fit


def test_packer_save_and_load(packer, tmp_path):
    packer.save(tmp_path)
    loaded = Packer.load(tmp_path)
    sentences = ["bread " * 40 + "[SEP]", "sleep"]
    assert loaded.layout == packer.layout
    assert loaded.pack(sentences).ids.tolist() == packer.pack(sentences).ids.tolist()


@pytest.fixture
def tokenized(monkeypatch):
    """The sentences that were passed to the tokenizer."""
    sentences = []
    tokenize = Packer._tokenize

    def record(packer, texts):
        sentences.extend(texts)
        return tokenize(packer, texts)

    monkeypatch.setattr(Packer, "_tokenize", record)
    return sentences


def test_a_sentence_is_tokenized_once_in_a_block(packer, tokenized):
    with packer.remembering():
        first = packer.pieces(["eat bread", "sleep", "sleep"])
        assert packer.pieces(["sleep", "go home", "eat bread"])[::2] == first[1::-1]
    assert tokenized == ["eat bread", "sleep", "go home"]
    packer.pieces(["sleep"])
    assert tokenized[3:] == ["sleep"]


def test_a_block_that_fails_is_forgotten(packer, tokenized):
    with pytest.raises(UserError), packer.remembering():
        packer.pack(["bread " * 50] * 13)
    tokenized.clear()
    packer.pieces(["bread " * 50])
    assert len(tokenized) == 1


def test_threads_remember_on_their_own(packer):
    documents = [[f"eat bread {i % 7}", f"sleep {i % 11}"] for i in range(400)]
    expected = [packer.pieces(document) for document in documents]

    def pieces(document):
        with packer.remembering():
            assert packer.pieces(document) == packer.pieces(document)
            return packer.pieces(document)

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(pieces, documents)) == expected


def test_pickled_packer_reads_special_tokens_as_text(packer):
    loaded = pickle.loads(pickle.dumps(packer))
    sentences = ["eat [SEP] [CLS] [PAD] bread", "bread " * 40]
    assert loaded.pieces(sentences) == packer.pieces(sentences)
    assert loaded.layout == packer.layout
