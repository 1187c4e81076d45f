"""The decoders of Yin et al. (2020) against their equations, spelled out in loops."""

from functools import partial
from itertools import permutations

import numpy as np
import pytest
import torch

from bert4so.document import Document, Puzzle, inverse
from bert4so.errors import UserError
from bert4so.modeling.base import States
from bert4so.modeling.decoders import pairwise_pointer as pairwise
from bert4so.modeling.decoders.pair_modules import PairModule, PairModules, history_pairs, pair_loss
from bert4so.modeling.decoders.pairwise_pointer import (
    PairwisePointer,
    PointerBesidePairs,
    keys_in_order,
)
from bert4so.modeling.decoders.pointer import PointerDecoder, raw, still_allowed, sum_over_places
from bert4so.systems import att_order_net_two_loss as system
from bert4so.systems.run_config import read_run
from random_documents import batch_of, drawn_order
from random_documents import loosened as loosened_by

WIDTH, FEATURES, WEIGHT = 6, 4, 0.3


loosened = partial(loosened_by, by=0.4)


@pytest.fixture(autouse=True)
def _exact():
    """Weights and states are drawn, in double precision."""
    torch.manual_seed(0)
    torch.set_default_dtype(torch.float64)
    yield
    torch.set_default_dtype(torch.float32)


def states_of(documents, n):
    """Padding is drawn too: whatever stands there is to make no difference."""
    start = torch.randn(documents, WIDTH), torch.randn(documents, WIDTH)
    return States(torch.randn(documents, n, WIDTH), torch.empty(documents, n, 0), start)


def of_one(states, d, n):
    hidden, cell = states.start
    vectors = states.raw[d : d + 1, :n]
    return States(vectors, vectors, (hidden[d : d + 1], cell[d : d + 1]))


def pointing_by_pairs(beam=1):
    pairs = PairModules(WIDTH, FEATURES, dropout=0.5)
    return loosened(PairwisePointer(pairs, WIDTH, FEATURES, 0.5, WEIGHT, beam))


def beside_pairs(beam=1):
    pointer = PointerDecoder(WIDTH, WIDTH, (raw, WIDTH), 5, 0.5, sum_over_places, beam)
    return loosened(PointerBesidePairs(pointer, PairModules(WIDTH, FEATURES, dropout=0.5), WEIGHT))


DECODERS = {"by pairs": pointing_by_pairs, "beside pairs": beside_pairs}


@pytest.fixture(params=DECODERS)
def decoder_of(request):
    """A function of the beam that makes each decoder in turn."""
    return DECODERS[request.param]


@torch.inference_mode()
def ordered(decoder, states, batch):
    return decoder.order(states, batch)


# The equations, a number at a time


def times(layer, vector):
    return [sum(w * x for w, x in zip(row, vector, strict=True)) for row in layer.weight.tolist()]


def relu(vector):
    return [max(x, 0.0) for x in vector]


def softmax(scores):
    total = sum(np.exp(score) for score in scores)
    return [np.exp(score) / total for score in scores]


def said_by_hand(module: PairModule, one, other):
    """The features of a pair, and the probabilities of no and yes."""
    features = relu(times(module.outer, relu(times(module.inner, [*one, *other]))))
    return features, softmax(times(module.answer, features))


def pair_losses_by_hand(pairs: PairModules, vectors, order):
    """Those of future, first and second; of the wrong pairs of a sentence, the mean."""
    n, place = len(order), inverse(order)

    def cost(module, i, j, right):
        return -np.log(said_by_hand(module, vectors[i], vectors[j])[1][int(right)])

    future = first = second = 0.0
    for i in range(n):
        for j in range(n):
            if i != j:
                future += cost(pairs.future, i, j, place[i] > place[j])
        if place[i] >= 1:
            first += cost(pairs.first, i, order[place[i] - 1], True)
            wrong = [cost(pairs.first, i, j, False) for j in order[: place[i] - 1]]
            first += sum(wrong) / max(len(wrong), 1)
        if place[i] >= 2:
            second += cost(pairs.second, i, order[place[i] - 2], True)
            others = [*order[: place[i] - 2], order[place[i] - 1]]
            second += sum(cost(pairs.second, i, j, False) for j in others) / len(others)
    return future / n, first / n, second / n


def key_by_hand(decoder: PairwisePointer, vectors, read, i):
    """That of sentence i, some having been read."""
    left = [j for j in range(len(vectors)) if j not in read]

    def said(module, one, other):
        features, shares = said_by_hand(module, vectors[one], vectors[other])
        return np.array([*features, *shares])

    h1 = h2 = after = before = np.zeros(FEATURES + 2)
    if len(read) >= 1:
        h1 = said(decoder.pairs.first, i, read[-1])
    if len(read) >= 2:
        h2 = said(decoder.pairs.second, i, read[-2])
    for j in left:
        if j != i:
            after = after + said(decoder.pairs.future, i, j) / (len(left) - 1)
            before = before + said(decoder.pairs.future, j, i) / (len(left) - 1)
    return times(decoder.keys, [*h1, *h2, *after, *before])


def pointer_loss_by_hand(decoder: PairwisePointer, states, order):
    vectors = states.raw[0].tolist()
    state = states.start[0][None], states.start[1][None]
    loss = 0.0
    for t in range(len(order)):
        read = [0.0] * WIDTH if t == 0 else vectors[order[t - 1]]
        decoded, state = decoder.lstm(torch.tensor([[read]]), state)
        query = times(decoder.query, decoded[0, 0].tolist())
        scores = []
        for i in order[t:]:
            key = key_by_hand(decoder, vectors, order[:t], i)
            (score,) = times(decoder.score, np.tanh(np.add(query, key)))
            scores.append(score)
        loss -= np.log(softmax(scores)[0])
    return loss


# What is said of pairs


def test_a_module_says_what_its_equation_does():
    module = loosened(PairModule(WIDTH, FEATURES, dropout=0.5))
    vectors = torch.randn(2, 4, WIDTH)
    said, logits = module(vectors, vectors[:, 1:3])
    for d in range(2):
        for row, j in enumerate((1, 2)):
            for i in range(4):
                by_hand = said_by_hand(module, vectors[d, i].tolist(), vectors[d, j].tolist())
                assert said[d, row, i].tolist() == pytest.approx([*by_hand[0], *by_hand[1]])
                assert softmax(logits[d, row, i].tolist()) == pytest.approx(by_hand[1])


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7])
def test_the_losses_of_pairs_are_those_of_the_equations(n):
    modules = loosened(PairModules(WIDTH, FEATURES, dropout=0.5))
    vectors, order = torch.randn(1, n, WIDTH), drawn_order(n)
    by_hand = pair_losses_by_hand(modules, vectors[0].tolist(), order)
    logits = modules(vectors)
    loss = pair_loss(logits, batch_of(order), drawn=False).item()
    assert loss == pytest.approx(sum(by_hand), abs=1e-9)
    if n <= 3:  # There is one wrong pair at most, and nothing to draw.
        assert pair_loss(logits, batch_of(order), drawn=True).item() == pytest.approx(loss)


@pytest.mark.parametrize("distance", [1, 2])
def test_one_wrong_pair_is_drawn_for_each_right_one(distance):
    n, order = 6, drawn_order(6)
    batch, place = batch_of(order, [1, 0]), inverse(order)
    counts = np.zeros((n, n))
    for _ in range(500):
        right, weights = history_pairs(batch.order.argsort(1), batch.mask, distance, drawn=True)
        assert ((weights == 0) | (weights == 1)).all()
        counts += weights[0].numpy() / 500
        for i in range(n):
            early = place[i] < distance
            assert right[0, :, i].sum() == (0 if early else 1)
            # The second sentence has no wrong one before it.
            wrong = 0 if early or place[i] == 1 else 1
            assert weights[0, :, i].sum() == right[0, :, i].sum() + wrong
        assert weights[1].sum() == (1 if distance == 1 else 0)  # of two sentences, one pair
    for i in range(n):
        for j in range(n):
            expected = 0.0
            if place[i] >= distance and place[i] - place[j] == distance:
                expected = 1.0
            elif place[i] >= distance and place[j] < place[i]:
                expected = 1 / (place[i] - 1)
            assert counts[j, i] == pytest.approx(expected, abs=0.1)


def test_what_is_drawn_is_drawn_from_the_seed():
    batch = batch_of(drawn_order(9))
    drawn = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        drawn.append(history_pairs(batch.order.argsort(1), batch.mask, 1, drawn=True)[1])
    assert (drawn[0] == drawn[1]).all()
    assert (drawn[0] != drawn[2]).any()


# The pointer


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_the_keys_at_every_place_are_those_of_the_equation(n):
    decoder, vectors, order = pointing_by_pairs(), torch.randn(1, n, WIDTH), drawn_order(n)
    batch = batch_of(order)
    pairs, _ = decoder.pair_keys(vectors, batch.mask)
    keys = keys_in_order(pairs, batch.order, still_allowed(batch.order, batch.mask))
    for t in range(n):
        for i in order[t:]:
            by_hand = key_by_hand(decoder, vectors[0].tolist(), order[:t], i)
            assert keys[0, t, i].tolist() == pytest.approx(by_hand, abs=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_the_loss_is_that_of_the_equations(n):
    decoder, states, order = pointing_by_pairs(), of_one(states_of(1, n), 0, n), drawn_order(n)
    beside = sum(pair_losses_by_hand(decoder.pairs, states.raw[0].tolist(), order))
    by_hand = pointer_loss_by_hand(decoder, states, order) + WEIGHT * beside
    assert decoder.loss(states, batch_of(order)).item() == pytest.approx(by_hand, abs=1e-9)


def test_beside_pairs_a_pointer_is_as_it_is():
    decoder, states, order = beside_pairs(), of_one(states_of(1, 5), 0, 5), drawn_order(5)
    beside = sum(pair_losses_by_hand(decoder.pairs, states.raw[0].tolist(), order))
    own = decoder.pointer.loss(states, batch_of(order)).item()
    loss = decoder.loss(states, batch_of(order)).item()
    assert loss == pytest.approx(own + WEIGHT * beside)
    assert ordered(decoder, states, batch_of(order)) == ordered(
        decoder.pointer, states, batch_of(order)
    )


def test_in_training_wrong_pairs_are_drawn(decoder_of):
    decoder, states, batch = decoder_of(), states_of(1, 8), batch_of(drawn_order(8))
    assert decoder.loss(states, batch) == decoder.loss(states, batch)
    decoder.train()
    for module in decoder.modules():
        if isinstance(module, torch.nn.Dropout):
            module.eval()
    assert decoder.loss(states, batch) != decoder.loss(states, batch)


# Search and loss


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_a_wide_beam_finds_the_order_of_the_least_loss(decoder_of, n):
    decoder, states = decoder_of(beam=120), states_of(1, n)
    decoder.weight = 0.0  # what is left is the pointer's
    losses = {
        order: decoder.loss(states, batch_of(order)).item() for order in permutations(range(n))
    }
    assert sum(np.exp(-loss) for loss in losses.values()) == pytest.approx(1)
    (found,) = ordered(decoder, states, batch_of(range(n)))
    assert tuple(found.order) == min(losses, key=losses.get)
    assert found.confidence == pytest.approx(np.exp(-losses[tuple(found.order)]), rel=1e-5)


@pytest.mark.parametrize("beam", [1, 3])
def test_the_confidence_of_a_narrow_beam_is_what_the_loss_says_of_its_order(beam):
    decoder, states = pointing_by_pairs(beam), states_of(2, 9)
    decoder.weight = 0.0
    for d, found in enumerate(ordered(decoder, states, batch_of(range(9), range(9)))):
        loss = decoder.loss(of_one(states, d, 9), batch_of(found.order)).item()
        assert found.confidence == pytest.approx(np.exp(-loss), rel=1e-5)


def test_padding_and_batch_mates_change_nothing(decoder_of):
    decoder, states, lengths = decoder_of(beam=4), states_of(4, 7), (7, 1, 2, 5)
    orders = [drawn_order(n) for n in lengths]
    together = ordered(decoder, states, batch_of(*orders))
    alone = []
    for d, (n, order) in enumerate(zip(lengths, orders, strict=True)):
        own = of_one(states, d, n)
        alone.append(decoder.loss(own, batch_of(order)))
        (found,) = ordered(decoder, own, batch_of(order))
        assert found.order == together[d].order
        assert found.confidence == pytest.approx(together[d].confidence, rel=1e-5)
    torch.testing.assert_close(decoder.loss(states, batch_of(*orders)), sum(alone) / 4)


def test_pairs_taken_a_few_at_a_time_say_the_same(monkeypatch):
    decoder, states = pointing_by_pairs(3), states_of(3, 6)
    batch = batch_of([1, 0, 2], [0], drawn_order(6))
    whole = decoder.pair_keys(states.raw, batch.mask)
    found = ordered(decoder, states, batch)
    monkeypatch.setattr(pairwise, "MAX_CHUNK_PAIRS", 40)
    monkeypatch.setattr(pairwise, "MAX_STORED_PAIRS", 80)
    parts = decoder.pair_keys(states.raw, batch.mask)
    for name in ("first", "second", "future"):
        torch.testing.assert_close(getattr(whole[0], name), getattr(parts[0], name))
    assert [one.order for one in ordered(decoder, states, batch)] == [one.order for one in found]


def test_padding_brings_no_nan_to_a_gradient(decoder_of):
    decoder, states = decoder_of().train(), states_of(3, 5)
    with torch.autograd.set_detect_anomaly(True):
        decoder.loss(states, batch_of([0], drawn_order(5), [1, 0])).backward()
    assert all(weight.grad.isfinite().all() for weight in decoder.parameters())


# The system


def tiny_model(**changes):
    torch.set_default_dtype(torch.float32)
    config = system.Config(**{"vector": 8, "width": 16, "heads": 2, "features": 8} | changes)
    known = Document("known", tuple(f"word{k} comes {k % 7}" for k in range(200)))
    return loosened(system.build(config, system.make_input(config, [known])))


@pytest.mark.parametrize("pair_features", [True, False])
def test_a_shuffle_of_the_input_only_relabels_the_answer(pair_features):
    model = tiny_model(pair_features=pair_features)
    sentences = tuple(f"word{k} comes {k % 7}" for k in range(6))
    (wanted,) = model.order([Puzzle(sentences)])
    for _ in range(10):
        shuffled = tuple(sentences[i] for i in drawn_order(6))
        (found,) = model.order([Puzzle(shuffled)])
        assert found.sentences == wanted.sentences
        assert found.confidence == pytest.approx(wanted.confidence, rel=1e-4)


@pytest.mark.parametrize("pair_features", [True, False])
@pytest.mark.parametrize("n", [1, 2, 40, 200])
def test_documents_of_any_length_are_ordered(n, pair_features):
    model = tiny_model(pair_features=pair_features)
    (found,) = model.order([Puzzle(tuple(f"word{k} comes {k % 7}" for k in range(n)))])
    assert sorted(found.order) == list(range(n))


@pytest.mark.parametrize("corpus, weight", [("sind", 0.1), ("rocstory", 0.5), ("aan", 0.4)])
def test_the_weight_of_pairs_is_set_by_corpus(tmp_path, corpus, weight):
    path = tmp_path / "run.toml"
    path.write_text(f'system = "att-order-net-two-loss"\ncorpus = "{corpus}"\n')
    assert read_run(path).model.weight == weight
    assert read_run(path, ["model.weight=0.2"]).model.weight == 0.2


@pytest.mark.parametrize("changes", [{"width": 15}, {"heads": 5}])
def test_heads_must_divide_the_width(changes):
    with pytest.raises(UserError, match=r"width = 1.: must be a multiple of"):
        tiny_model(**changes)
