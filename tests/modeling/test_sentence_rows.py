"""Rows that are encoded each by itself: RankTxNet's a sentence."""

from dataclasses import replace

import pytest
import torch

from bert4so.document import Puzzle
from bert4so.modeling.encoder import pretrained
from bert4so.modeling.inputs import rows_input as inputs
from bert4so.modeling.inputs.rows_input import RowsInput
from bert4so.modeling.sentence_encoders import row_encoder as encoders
from bert4so.modeling.sentence_encoders.row_encoder import AtRowCls, MeanOfRow, RowSentences
from bert4so.systems import SYSTEMS
from conftest import tiny_run
from tiny import KINDS, make_encoder

SENTENCES = ("we eat bread", "sleep", "then go home now")
PUZZLES = [Puzzle(SENTENCES, [2, 0, 1]), Puzzle(("first we wake up", "at last"), [1, 0])]


@pytest.fixture
def input(encoder):
    return RowsInput.for_encoder(str(encoder), dropout=0.0, max_pieces=128)


def build(encoder, folder, system="rank-tx-net", **model):
    run = tiny_run(system, encoder, folder, model=model)
    torch.manual_seed(0)
    return SYSTEMS[system].build(run.model, SYSTEMS[system].make_input(run.model, []))


def words(input, ids):
    return [input.packer.tokenizer.id_to_token(i) for i in ids]


def test_a_row_a_sentence(input):
    batch = input(PUZZLES)
    read = [words(input, row) for row in batch.rows.ids.tolist()]
    assert read == [
        ["[CLS]", "we", "eat", "bread", "[SEP]", "[PAD]"],
        ["[CLS]", "sleep", "[SEP]", "[PAD]", "[PAD]", "[PAD]"],
        ["[CLS]", "then", "go", "home", "now", "[SEP]"],
        ["[CLS]", "first", "we", "wake", "up", "[SEP]"],
        ["[CLS]", "at", "last", "[SEP]", "[PAD]", "[PAD]"],
    ]
    for row, real, piece in zip(read, batch.rows.real, batch.rows.pieces, strict=True):
        assert real.tolist() == [word != "[PAD]" for word in row]
        assert piece.tolist() == [word not in ("[PAD]", "[CLS]", "[SEP]") for word in row]
    assert batch.rows.segments.eq(0).all()
    assert batch.mask.tolist() == [[True, True, True], [True, True, False]]
    assert batch.order.tolist() == [[2, 0, 1], [1, 0, 2]]
    assert not batch.cut.any()
    assert batch.tokens == 5 + 3 + 6 + 6 + 4 == sum(map(input.size, PUZZLES))


def test_a_long_sentence_is_cut(encoder):
    input = RowsInput.for_encoder(str(encoder), dropout=0.0, max_pieces=3)
    batch = input(PUZZLES)
    assert batch.cut.tolist() == [[False, False, True], [True, False, False]]
    assert words(input, batch.rows.ids[2].tolist()) == ["[CLS]", "then", "go", "home", "[SEP]"]
    assert batch.tokens == 5 + 3 + 5 + 5 + 4 == sum(map(input.size, PUZZLES))


def test_a_row_is_never_longer_than_the_encoder_can_read(input):
    input.packer.layout = replace(input.packer.layout, positions=96)
    batch = input([Puzzle(("bread " * 94, "bread " * 95))])
    assert batch.rows.real.sum(1).tolist() == [96, 96]
    assert batch.cut.tolist() == [[False, True]]


def test_what_was_saved_reads_the_same(encoder, tmp_path):
    input = RowsInput.for_encoder(str(encoder), dropout=0.0, max_pieces=3)
    input.save(tmp_path)
    again = RowsInput.load(tmp_path)
    assert (again(PUZZLES).rows.ids == input(PUZZLES).rows.ids).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_sentence_is_its_cls_or_the_mean_of_its_pieces(kind, tmp_path):
    name = str(make_encoder(kind, tmp_path))
    input = RowsInput.for_encoder(name, dropout=0.0, max_pieces=128)
    batch = input(PUZZLES)
    encoder = pretrained(name).eval()
    at_cls, mean = RowSentences(AtRowCls(encoder))(batch), RowSentences(MeanOfRow(encoder))(batch)
    for document, puzzle in enumerate(PUZZLES):
        for i, sentence in enumerate(puzzle.sentences):
            alone = input([Puzzle((sentence,))]).rows.ids
            tokens = encoder(input_ids=alone).last_hidden_state[0]
            near = {"atol": 1e-4, "rtol": 1e-4}
            torch.testing.assert_close(at_cls[document, i], tokens[0], **near)
            torch.testing.assert_close(mean[document, i], tokens[1:-1].mean(0), **near)


def gradients(model, batch):
    """The loss, and the gradient of every weight."""
    model.zero_grad()
    torch.manual_seed(1)  # of what is dropped out
    loss = model(batch)
    loss.backward()
    return loss, {name: weight.grad.clone() for name, weight in model.named_parameters()}


SYSTEMS_OF_ROWS = ["rank-tx-net", "b-tsort"]


@pytest.mark.parametrize("system", SYSTEMS_OF_ROWS)
@pytest.mark.parametrize("kept", [0, 10**6])
def test_chunks_learn_what_is_learned_at_once(
    encoder, tmp_path, monkeypatch, puzzles, system, kept
):
    model = build(encoder, tmp_path, system, dropout=0.0, encoder_dropout=0.0)
    batch = model.input(puzzles)
    whole, expected = gradients(model, batch)
    monkeypatch.setattr(inputs, "MAX_CHUNK_TOKENS", 64)
    monkeypatch.setattr(encoders, "MAX_STORED_TOKENS", kept)
    assert len(batch.chunks) > 5
    assert sorted(i for chunk in batch.chunks for i in chunk) == list(range(len(batch.rows.ids)))
    loss, found = gradients(model, batch)
    torch.testing.assert_close(loss, whole)
    for name, gradient in found.items():
        torch.testing.assert_close(gradient, expected[name], atol=1e-6, rtol=1e-3)


@pytest.mark.parametrize("system", SYSTEMS_OF_ROWS)
def test_what_is_found_a_second_time_drops_out_the_same(
    encoder, tmp_path, monkeypatch, puzzles, system
):
    monkeypatch.setattr(inputs, "MAX_CHUNK_TOKENS", 64)
    model = build(encoder, tmp_path, system, dropout=0.2, encoder_dropout=0.2).train()
    batch = model.input(puzzles)
    runs = []
    once = encoders.checkpoint
    for kept in (10**6, 0):
        again = []
        monkeypatch.setattr(encoders, "MAX_STORED_TOKENS", kept)
        monkeypatch.setattr(
            encoders, "checkpoint", lambda *a, seen=again, **k: seen.append(1) or once(*a, **k)
        )
        runs.append(gradients(model, batch))
        assert len(again) == (0 if kept else len(batch.chunks))
    assert runs[0][0] == runs[1][0]
    for name, gradient in runs[0][1].items():
        torch.testing.assert_close(gradient, runs[1][1][name], atol=1e-7, rtol=1e-5)


def test_a_chunk_holds_no_more_than_it_may(input, monkeypatch, puzzles):
    monkeypatch.setattr(inputs, "MAX_CHUNK_TOKENS", 64)
    batch = input(puzzles)
    sizes = [batch.rows.some(chunk).ids.numel() for chunk in batch.chunks]
    assert max(sizes) <= 64
    assert batch.tokens <= batch.padded_tokens == sum(sizes) < batch.rows.ids.numel()


def test_a_shuffled_input_only_relabels_the_answer(encoder, tmp_path):
    model = build(encoder, tmp_path)
    sentences = ("we eat bread", "first wake up", "now sleep", "then go", "at last come home")
    (found,) = model.order([Puzzle(sentences)])
    numbers = [3, 0, 4, 1, 2]
    (again,) = model.order([Puzzle(tuple(sentences[i] for i in numbers))])
    assert again.sentences == found.sentences
    assert again.confidence == pytest.approx(found.confidence, rel=1e-4)
    assert again.scores == pytest.approx([found.scores[i] for i in numbers], abs=1e-5)
