"""The pointer, its search, and the bricks around it, against their equations in loops."""

import itertools
import math

import numpy as np
import pytest
import torch

from bert4so.modeling.base import States
from bert4so.modeling.batch import Batch
from bert4so.modeling.beam import MAX_HYPOTHESES_TIMES_SENTENCES, Prefix, decisions, search
from bert4so.modeling.decoders.in_batch_negatives import InBatchNegatives
from bert4so.modeling.decoders.pointer import (
    PointerDecoder,
    Pointing,
    both,
    encoded,
    mean_over_places,
    raw,
    sum_over_places,
)
from bert4so.modeling.document_encoders.pooled import PostNormDocument, PreNormDocument
from bert4so.modeling.document_encoders.reading import ReadingDocument
from bert4so.modeling.document_encoders.recurrent import RecurrentDocument

WIDTH, HIDDEN = 6, 5


class Sentences(Batch):
    """Nothing but how many sentences there are, and their order."""

    tokens = padded_tokens = 0


def batch_of(lengths, orders=None):
    n = max(lengths)
    mask = torch.arange(n) < torch.tensor(lengths)[:, None]
    order = None
    if orders is not None:
        order = torch.stack([torch.tensor([*order, *range(len(order), n)]) for order in orders])
    return Sentences(mask, order, torch.zeros_like(mask))


def states_of(lengths, seed=0):
    rng = torch.Generator().manual_seed(seed)
    shape = (len(lengths), max(lengths), WIDTH)
    start = [torch.randn(len(lengths), HIDDEN, generator=rng) for _ in range(2)]
    vectors = [3 * torch.randn(*shape, generator=rng) for _ in range(2)]
    return States(raw=vectors[0], sentences=vectors[1], start=(start[0], start[1]))


def one_of(states, d, n):
    """One document of some, without padding."""
    start = (states.start[0][d : d + 1], states.start[1][d : d + 1])
    return States(states.raw[d : d + 1, :n], states.sentences[d : d + 1, :n], start)


def pointer(keys=(raw, WIDTH), reduction=sum_over_places, beam=64, others=None):
    torch.manual_seed(1)
    made = PointerDecoder(WIDTH, HIDDEN, keys, 4, 0.0, reduction, beam, others).eval()
    with torch.no_grad():
        for weight in made.parameters():
            weight.normal_()
    return made


def loss_by_hand(decoder, states, order):
    """Of one document, step by step: what is read, what is pointed at, what is left."""
    keys = decoder.keys_of(states)[0]
    pointing = decoder.pointing
    hidden, cell = (part[None] for part in states.start)
    total, left, read = 0.0, list(range(len(order))), decoder.first
    for sentence in order:
        output, (hidden, cell) = decoder.lstm(read[None, None], (hidden, cell))
        query = pointing.query.weight @ output[0, 0] + pointing.query.bias
        scores = {
            i: (
                pointing.score.weight[0] @ torch.tanh(query + pointing.keys.weight @ keys[i])
            ).item()
            for i in left
        }
        total -= scores[sentence] - math.log(sum(math.exp(s) for s in scores.values()))
        left.remove(sentence)
        read = states.raw[0, sentence]
    return total


@pytest.mark.parametrize("keys", [(raw, WIDTH), (encoded, WIDTH), (both, 2 * WIDTH)])
def test_the_loss_is_that_of_each_place_in_turn(keys):
    lengths, orders = [4, 1, 3], [[2, 0, 3, 1], [0], [1, 2, 0]]
    decoder, states = pointer(keys=keys), states_of(lengths)
    by_hand = [
        loss_by_hand(decoder, one_of(states, d, n), orders[d]) for d, n in enumerate(lengths)
    ]
    found = decoder.loss(states, batch_of(lengths, orders))
    assert found.item() == pytest.approx(sum(by_hand) / 3, rel=1e-5)
    decoder.reduction = mean_over_places
    found = decoder.loss(states, batch_of(lengths, orders))
    weighed = sum(one / n for one, n in zip(by_hand, lengths, strict=True)) / 3
    assert found.item() == pytest.approx(weighed, rel=1e-5)


def test_foreign_sentences_stand_among_those_to_choose_from():
    lengths, orders = [3, 2], [[2, 0, 1], [1, 0]]
    decoder, states = pointer(others=InBatchNegatives("all")), states_of(lengths)
    total = 0.0
    for d, n in enumerate(lengths):
        own = one_of(states, d, n)
        other = one_of(states, 1 - d, lengths[1 - d])
        hidden, cell = (part[None] for part in own.start)
        left, read = list(range(n)), decoder.first
        for sentence in orders[d]:
            output, (hidden, cell) = decoder.lstm(read[None, None], (hidden, cell))
            keys = torch.cat([own.raw[0, left], other.raw[0]])
            scores = decoder.pointing(output[:, 0], decoder.pointing.keys(keys)[None])[0, 0]
            total -= scores.log_softmax(0)[left.index(sentence)].item()
            left.remove(sentence)
            read = own.raw[0, sentence]
    found = decoder.loss(states, batch_of(lengths, orders))
    assert found.item() == pytest.approx(total / 2, rel=1e-5)
    alone = decoder.loss(one_of(states, 0, 3), batch_of([3], [orders[0]]))
    plain = pointer().loss(one_of(states, 0, 3), batch_of([3], [orders[0]]))
    assert alone.item() == pytest.approx(plain.item(), rel=1e-6)


def test_as_many_foreign_sentences_are_drawn_as_are_wanted():
    lengths, orders = [3, 2], [[2, 0, 1], [1, 0]]
    batch, states = batch_of(lengths, orders), states_of(lengths)
    losses = {}
    for negatives in (0, 2, 5, "all"):
        decoder = pointer(others=InBatchNegatives(negatives))
        losses[negatives] = {round(decoder.loss(states, batch).item(), 4) for _ in range(200)}
    assert losses[0] == {round(pointer().loss(states, batch).item(), 4)}
    assert losses[5] == losses["all"]
    # Two of five: both of one document, or one of each; the loss is that of which they are.
    assert len(losses[2]) == 10
    assert max(losses[0]) < min(losses[2])
    assert max(losses[2]) < min(losses["all"])


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 6])
@torch.no_grad()
def test_a_beam_as_wide_as_needed_finds_the_best_of_all_orders(n):
    decoder, states = pointer(beam=720), states_of([n], seed=n)
    losses = {
        order: decoder.loss(states, batch_of([n], [list(order)])).item()
        for order in itertools.permutations(range(n))
    }
    best = min(losses, key=losses.get)
    (found,) = decoder.order(states, batch_of([n]))
    assert found.order == list(best)
    assert found.confidence == pytest.approx(math.exp(-losses[best]), rel=1e-4)
    for i, j in itertools.permutations(range(n), 2):
        share = sum(math.exp(-losses[o]) for o in losses if o.index(i) < o.index(j))
        assert found.before[i, j] == pytest.approx(share, abs=1e-4)


@pytest.mark.parametrize("beam", [1, 2, 5, 64])
@torch.no_grad()
def test_every_hypothesis_is_a_whole_order(beam):
    lengths = [7, 1, 2, 5]
    decoder, states = pointer(beam=beam), states_of(lengths)
    orderings = decoder.order(states, batch_of(lengths))
    assert [sorted(one.order) for one in orderings] == [list(range(n)) for n in lengths]
    for d, n in enumerate(lengths):
        (alone,) = decoder.order(one_of(states, d, n), batch_of([n]))
        assert alone.order == orderings[d].order
        assert alone.confidence == pytest.approx(orderings[d].confidence, rel=1e-4)
        assert alone.before == pytest.approx(orderings[d].before, abs=1e-5)
        assert np.allclose(alone.before + alone.before.T, 1)


@torch.no_grad()
def test_a_beam_of_one_is_greedy():
    decoder, states = pointer(beam=1), states_of([6])
    (found,) = decoder.order(states, batch_of([6]))
    read = []
    while len(read) < 6:
        left = [i for i in range(6) if i not in read]
        losses = []
        for i in left:
            rest = [j for j in left if j != i]
            # What a place costs is the difference that the orders to it make.
            losses.append(cost_of_place(decoder, states, [*read, i, *rest], len(read)))
        read.append(left[int(np.argmin(losses))])
    assert found.order == read


def cost_of_place(decoder, states, order, t):
    outputs = decoder.outputs_in_order(states, torch.tensor([order]))
    keys = decoder.pointing.keys(decoder.keys_of(states))
    scores = decoder.pointing(outputs, keys)[0, t]
    left = order[t:]
    return -(scores[order[t]] - scores[left].logsumexp(0)).item()


@torch.no_grad()
def test_a_long_document_is_ordered_beside_a_short_one():
    decoder, states = pointer(beam=100), states_of([200, 3])
    long, short = decoder.order(states, batch_of([200, 3]))
    assert sorted(long.order) == list(range(200))
    assert sorted(short.order) == [0, 1, 2]


def test_hypotheses_times_sentences_are_bounded():
    seen = []

    def step(state, prefix: Prefix):
        seen.append(prefix.left.shape[1] * prefix.left.shape[2])
        return torch.zeros(prefix.left.shape), state

    search(step, (), torch.ones(1, 300, dtype=torch.bool), beam=10_000)
    assert max(seen) <= MAX_HYPOTHESES_TIMES_SENTENCES


def test_the_state_follows_its_hypothesis():
    """A step that remembers the sum of what it read: wrong parents would mix the sums."""
    rng = torch.Generator().manual_seed(0)
    table = torch.randn(2, 5, 5, generator=rng)

    def step(state, prefix: Prefix):
        (total,) = state
        if prefix.read.shape[2]:
            last = prefix.read[..., -1]
            total = total + 2.0**last
            assert (total == (2.0**prefix.read).sum(2)).all()
            logits = table[torch.arange(2)[:, None], last]
        else:
            logits = table[:, :1]
        return logits, (total,)

    found = search(step, (torch.zeros(2, 1),), torch.ones(2, 5, dtype=torch.bool), beam=7)
    assert found.orders.sort(2).values.equal(torch.arange(5).expand(2, 7, 5))
    assert (found.scores.diff(dim=1) <= 0).all()


def test_equal_probabilities_still_give_whole_orders():
    def step(state, prefix: Prefix):
        return torch.zeros(prefix.left.shape), state

    mask = torch.tensor([[True] * 4, [True, True, False, False]])
    for one, n in zip(decisions(search(step, (), mask, beam=3), mask), [4, 2], strict=True):
        assert sorted(one.order) == list(range(n))
        assert one.confidence == pytest.approx(1 / math.factorial(n))


# The bricks


def test_pointing_is_its_formula():
    torch.manual_seed(0)
    module = Pointing(3, 2, 4)
    queries, keys = torch.randn(1, 2, 3), torch.randn(1, 5, 2)
    found = module(queries, module.keys(keys))
    for t, i in itertools.product(range(2), range(5)):
        inner = module.query.weight @ queries[0, t] + module.query.bias
        inner = torch.tanh(inner + module.keys.weight @ keys[0, i])
        torch.testing.assert_close(found[0, t, i], module.score.weight[0] @ inner)


def test_reading_is_its_formula():
    torch.manual_seed(0)
    module = ReadingDocument(width=WIDTH, hidden=HIDDEN, scoring=4, cycles=3)
    lengths = [4, 2]
    vectors = torch.randn(2, 4, WIDTH)
    found = module(vectors, batch_of(lengths))
    for d, n in enumerate(lengths):
        hidden = cell = torch.zeros(1, HIDDEN)
        for _ in range(3):
            energies = []
            for s in vectors[d, :n]:
                inner = module.keys.weight @ s + module.keys.bias + module.query.weight @ hidden[0]
                energies.append(module.score.weight[0] @ torch.tanh(inner))
            shares = torch.stack(energies).softmax(0)
            read = sum(a * s for a, s in zip(shares, vectors[d, :n], strict=True))
            hidden, cell = module.cell(read[None], (hidden, cell))
        torch.testing.assert_close(found.start[0][d], hidden[0])
        torch.testing.assert_close(found.start[1][d], cell[0])


def test_a_recurrent_document_reads_the_sentences_as_they_are_given():
    torch.manual_seed(0)
    module = RecurrentDocument(WIDTH, HIDDEN, dropout=0.0)
    vectors = torch.randn(2, 4, WIDTH)
    found = module(vectors, batch_of([4, 2]))
    outputs, (hidden, cell) = module.lstm(vectors[1:, :2])
    torch.testing.assert_close(found.sentences[1, :2], outputs[0])
    torch.testing.assert_close(found.start[0][1], hidden[0, 0])
    torch.testing.assert_close(found.start[1][1], cell[0, 0])


@pytest.mark.parametrize("kind", [PreNormDocument, PostNormDocument])
def test_pooled_documents_start_from_the_mean(kind):
    torch.manual_seed(0)
    module = kind(width=WIDTH, layers=2, heads=2, inner=8, dropout=0.0).eval()
    vectors = torch.randn(2, 4, WIDTH)
    found = module(vectors, batch_of([4, 2]))
    alone = module.layers(vectors[1:, :2])
    torch.testing.assert_close(found.sentences[1, :2], alone[0])
    torch.testing.assert_close(found.start[0][1], alone[0].mean(0))
    cell = alone[0].mean(0) if kind is PreNormDocument else torch.zeros(WIDTH)
    torch.testing.assert_close(found.start[1][1], cell)
    assert module.layers.layers[0].norm_first == (kind is PreNormDocument)
