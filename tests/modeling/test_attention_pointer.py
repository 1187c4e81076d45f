"""The bricks of Wang & Wan (2019) against their equations, spelled out in loops."""

from functools import partial
from itertools import permutations

import numpy as np
import pytest
import torch

from bert4so.document import Document, Puzzle
from bert4so.errors import UserError
from bert4so.modeling.base import States
from bert4so.modeling.decoders.attention_pointer import AttentionBlock, AttentionPointer
from bert4so.modeling.document_encoders.gated import GatedDocument
from bert4so.modeling.gated_attention import Fusion, ReluAttention
from bert4so.modeling.sentence_encoders.attended_words import AttendedWords
from bert4so.systems import hierarchical_att_net as system
from random_documents import batch_of, drawn_order
from random_documents import loosened as loosened_by

WIDTH, HEADS = 8, 2


loosened = partial(loosened_by, by=0.5)


@pytest.fixture(autouse=True)
def _exact():
    """Weights and states are drawn, in double precision."""
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def states_of(documents, n):
    """Padding is drawn too: whatever stands there is to make no difference."""
    return States(torch.randn(documents, n, WIDTH), torch.randn(documents, n, WIDTH))


def pointer(beam=1, blocks=2):
    return loosened(AttentionPointer(WIDTH, blocks, HEADS, dropout=0.5, beam=beam))


@torch.inference_mode()
def ordered(decoder, states, batch):
    return decoder.order(states, batch)


# The equations, a number at a time


def projected(layer, vector):
    weight, bias = layer.weight.tolist(), layer.bias.tolist()
    return [sum(w * x for w, x in zip(row, vector, strict=True)) + b
            for row, b in zip(weight, bias, strict=True)]  # fmt: skip


def relu(vector):
    return [max(x, 0.0) for x in vector]


def dot(one, other):
    return sum(x * y for x, y in zip(one, other, strict=True))


def softmax(scores):
    total = sum(np.exp(score) for score in scores)
    return [np.exp(score) / total for score in scores]


def attention_by_hand(attention: ReluAttention, vector, others, heads, scaled_by):
    query = relu(projected(attention.query, vector))
    keys = [relu(projected(attention.key, other)) for other in others]
    values = [relu(projected(attention.value, other)) for other in others]
    wide = len(query) // heads
    joined = []
    for head in range(heads):
        part = slice(head * wide, (head + 1) * wide)
        shares = softmax([dot(query[part], key[part]) / scaled_by**0.5 for key in keys])
        for k in range(head * wide, (head + 1) * wide):
            joined.append(sum(a * value[k] for a, value in zip(shares, values, strict=True)))
    return joined


def fusion_by_hand(fusion: Fusion, one, other):
    g = 1 / (1 + np.exp(-projected(fusion.gate, [*one, *other])[0]))
    mixed = [g * a + (1 - g) * b for a, b in zip(one, other, strict=True)]
    mean = sum(mixed) / len(mixed)
    variance = sum((x - mean) ** 2 for x in mixed) / len(mixed)
    normal = [(x - mean) / (variance + fusion.norm.eps) ** 0.5 for x in mixed]
    scale, shift = fusion.norm.weight.tolist(), fusion.norm.bias.tolist()
    return [x * s + b for x, s, b in zip(normal, scale, shift, strict=True)]


def scores_by_hand(decoder: AttentionPointer, raw, sentences, order):
    """At each place, the true order having been read up to it."""
    read = [decoder.first.tolist(), *(raw[i] for i in order[:-1])]
    for block in decoder.blocks:
        mixed = []
        for t, vector in enumerate(read):
            head = WIDTH / HEADS
            placed = attention_by_hand(block.placed, vector, read[: t + 1], HEADS, head)
            found = attention_by_hand(block.sentences, vector, sentences, HEADS, head)
            mixed.append(fusion_by_hand(block.fusion, placed, found))
        read = mixed
    keys = [relu(projected(decoder.key, sentence)) for sentence in sentences]
    queries = [relu(projected(decoder.query, vector)) for vector in read]
    return [[dot(query, key) / WIDTH**0.5 for key in keys] for query in queries]


def loss_by_hand(decoder, raw, sentences, order):
    loss = 0.0
    for t, scores in enumerate(scores_by_hand(decoder, raw, sentences, order)):
        left = order[t:]
        loss -= np.log(softmax([scores[i] for i in left])[0])
    return loss


# The bricks


def test_a_sentence_is_what_the_query_finds_in_its_words():
    encoder = loosened(AttendedWords(20, vector=6, width=WIDTH, heads=HEADS, dropout=0.5))
    words, lengths = torch.randn(2, 5, 6), torch.tensor([3, 5])
    found = encoder.encode(words, lengths)
    for vector, some, length in zip(found, words, lengths, strict=True):
        states, _ = encoder.lstm(some[None, :length])
        by_hand = attention_by_hand(
            encoder.attention, encoder.query.tolist(), states[0].tolist(), HEADS, WIDTH
        )
        assert vector.tolist() == pytest.approx(by_hand)
    assert (encoder.lstm.num_layers, encoder.lstm.bidirectional) == (2, True)


def test_a_block_of_the_document_encoder_is_its_equation():
    encoder = loosened(GatedDocument(WIDTH, blocks=2, heads=HEADS, dropout=0.5))
    vectors, batch = torch.randn(2, 4, WIDTH), batch_of(range(3), range(4))
    states = encoder(vectors, batch)
    assert states.raw is vectors
    for n, given, found in zip((3, 4), vectors.tolist(), states.sentences, strict=True):
        by_hand = given[:n]
        for attention, fusion in zip(encoder.attentions, encoder.fusions, strict=True):
            by_hand = [
                fusion_by_hand(
                    fusion, attention_by_hand(attention, s, by_hand, HEADS, WIDTH / HEADS), s
                )
                for s in by_hand
            ]
        np.testing.assert_allclose(found[:n].tolist(), by_hand)


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_the_loss_is_that_of_the_equations(n):
    decoder, states, order = pointer(), states_of(1, n), drawn_order(n)
    by_hand = loss_by_hand(decoder, states.raw[0].tolist(), states.sentences[0].tolist(), order)
    assert decoder.loss(states, batch_of(order)).item() == pytest.approx(by_hand, abs=1e-9)


def test_a_remembered_past_is_as_good_as_the_past():
    block = loosened(AttentionBlock(WIDTH, HEADS, dropout=0.5))
    read, sentences = torch.randn(6, 5, WIDTH), torch.randn(3, 4, WIDTH)
    mask = torch.tensor([[True] * n + [False] * (4 - n) for n in (4, 1, 3)])
    whole = block(read, sentences.repeat_interleave(2, 0), mask.repeat_interleave(2, 0))
    known, past = block.sentences.remember(sentences), torch.zeros(3, 2, 0, 2 * WIDTH)
    for t in range(5):
        found, past = block.step(read[:, t].reshape(3, 2, -1), past, known, mask)
        torch.testing.assert_close(found.flatten(0, 1), whole[:, t])


# Search and loss


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_a_wide_beam_finds_the_order_of_the_least_loss(n):
    decoder, states = pointer(beam=120), states_of(1, n)
    losses = {
        order: decoder.loss(states, batch_of(order)).item() for order in permutations(range(n))
    }
    assert sum(np.exp(-loss) for loss in losses.values()) == pytest.approx(1)
    (found,) = ordered(decoder, states, batch_of(range(n)))
    assert tuple(found.order) == min(losses, key=losses.get)
    assert found.confidence == pytest.approx(np.exp(-losses[tuple(found.order)]), rel=1e-5)


@pytest.mark.parametrize("beam", [1, 3])
def test_the_confidence_of_a_narrow_beam_is_what_the_loss_says_of_its_order(beam):
    decoder, states = pointer(beam), states_of(2, 9)
    for d, found in enumerate(ordered(decoder, states, batch_of(range(9), range(9)))):
        alone = States(states.raw[d : d + 1], states.sentences[d : d + 1])
        loss = decoder.loss(alone, batch_of(found.order)).item()
        assert found.confidence == pytest.approx(np.exp(-loss), rel=1e-5)


def test_padding_and_batch_mates_change_nothing():
    decoder, states, lengths = pointer(beam=4), states_of(4, 7), (7, 1, 2, 5)
    orders = [drawn_order(n) for n in lengths]
    together = ordered(decoder, states, batch_of(*orders))
    alone = []
    for d, (n, order) in enumerate(zip(lengths, orders, strict=True)):
        own = States(states.raw[d : d + 1, :n], states.sentences[d : d + 1, :n])
        alone.append(decoder.loss(own, batch_of(order)))
        (found,) = ordered(decoder, own, batch_of(order))
        assert found.order == together[d].order
        assert found.confidence == pytest.approx(together[d].confidence, rel=1e-5)
    torch.testing.assert_close(decoder.loss(states, batch_of(*orders)), sum(alone) / 4)


def test_padding_brings_no_nan_to_a_gradient():
    decoder, states = pointer(), states_of(3, 5)
    with torch.autograd.set_detect_anomaly(True):
        decoder.loss(states, batch_of([0], drawn_order(5), [1, 0])).backward()
    assert all(weight.grad.isfinite().all() for weight in decoder.parameters())


# The system


def tiny_model(**changes):
    torch.set_default_dtype(torch.float32)
    numbers = {"vector": 8, "width": 16, "word_heads": 2, "blocks": 2, "heads": 2} | changes
    config = system.Config(**numbers)
    known = Document("known", tuple(f"word{k} comes {k % 7}" for k in range(200)))
    return loosened(system.build(config, system.make_input(config, [known])))


def test_a_shuffle_of_the_input_only_relabels_the_answer():
    model = tiny_model()
    sentences = tuple(f"word{k} comes {k % 7}" for k in range(6))
    (wanted,) = model.order([Puzzle(sentences)])
    for _ in range(10):
        shuffled = tuple(sentences[i] for i in drawn_order(6))
        (found,) = model.order([Puzzle(shuffled)])
        assert found.sentences == wanted.sentences
        assert found.confidence == pytest.approx(wanted.confidence, rel=1e-4)


@pytest.mark.parametrize("n", [1, 2, 40, 200])
def test_documents_of_any_length_are_ordered(n):
    model = tiny_model()
    (found,) = model.order([Puzzle(tuple(f"word{k} comes {k % 7}" for k in range(n)))])
    assert sorted(found.order) == list(range(n))


@pytest.mark.parametrize("changes", [{"width": 15}, {"word_heads": 3}, {"heads": 5}])
def test_heads_must_divide_the_width(changes):
    with pytest.raises(UserError, match=r"width = 1.: must be a multiple of"):
        tiny_model(**changes)
