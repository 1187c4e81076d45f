"""Each loss against its paper's formula, spelled out in loops."""

import math
import random
from itertools import pairwise
from statistics import mean

import pytest
import torch

from bert4so.evaluation.metrics import kendall_tau
from bert4so.modeling.base import States
from bert4so.modeling.decoders.scores import ScoreDecoder
from bert4so.modeling.losses import (
    LEAST_GAP,
    list_mle,
    margin_list_mle,
    pair_cross_entropy,
    successor_cross_entropy,
)
from bert4so.systems import SYSTEMS
from conftest import tiny_run
from random_documents import batch_of


def list_mle_by_hand(scores: list[float], order: list[int]) -> float:
    """Appendix A of BERT4SO, one factor at a time."""
    loss = 0.0
    for j in range(len(order)):
        loss -= math.log(math.exp(scores[order[j]]) / sum(math.exp(scores[k]) for k in order[j:]))
    return loss


def margin_list_mle_by_hand(scores: list[float], order: list[int], gamma: float) -> float:
    """Section 2.2 of BERT4SO, sentences numbered from 1 as there."""
    n = len(order)
    z = {k: scores[order[k - 1]] for k in range(1, n + 1)}

    def share(j: int, k: int) -> float:
        return math.exp(z[k]) / sum(math.exp(z[m]) for m in range(j, n + 1))

    loss = 0.0
    for j in range(1, n):
        f = math.log(share(j, j))
        for k in range(j + 1, n):  # to n - 1: the last sentence is never pushed down
            # For gamma = 1 it is never too small to be followed.
            least = LEAST_GAP if gamma < 1 else 0
            f += math.log(max(gamma - share(j, k), least))
        loss -= f / (n - j)
    return loss


def random_case(n: int, seed: int) -> tuple[list[float], list[int]]:
    rng = random.Random(f"{n} {seed}")
    return [rng.gauss(0, 2) for _ in range(n)], rng.sample(range(n), n)


CASES = [random_case(n, seed) for n in (1, 2, 3, 4, 7, 12) for seed in range(3)]
GAMMAS = [0.25, 0.5, 0.75, 1.0]
LOSSES = {
    "list_mle": (list_mle, list_mle_by_hand),
    **{
        f"margin_list_mle-{gamma}": (
            lambda *args, gamma=gamma: margin_list_mle(*args, gamma=gamma),
            lambda *args, gamma=gamma: margin_list_mle_by_hand(*args, gamma),
        )
        for gamma in GAMMAS
    },
}


SETTINGS = [
    ("list-mle", 1.0, "list_mle"),
    *(("margin-list-mle", gamma, f"margin_list_mle-{gamma}") for gamma in GAMMAS),
]


@pytest.mark.parametrize("loss, gamma, formula", SETTINGS)
def test_bert4so_learns_by_the_loss_it_is_told(loss, gamma, formula, encoder, puzzles, tmp_path):
    run = tiny_run("bert4so", encoder, tmp_path, model={"loss": loss, "gamma": gamma})
    system = SYSTEMS["bert4so"]
    model = system.build(run.model, system.make_input(run.model, [])).eval()
    by_hand = [
        LOSSES[formula][1](ordering.scores, puzzle.order)
        for puzzle, ordering in zip(puzzles, model.order(puzzles), strict=True)
    ]
    expected = sum(by_hand) / len(by_hand)
    assert model(model.input(puzzles)).item() == pytest.approx(expected, rel=1e-4)


def test_a_score_is_two_layers_by_hand():
    torch.manual_seed(0)
    decoder = ScoreDecoder(width=3, hidden=4, loss=list_mle)
    vectors = torch.randn(1, 2, 3)
    (first, _, last), found = decoder.score, decoder.scores(States(vectors, vectors, None))
    for k in range(2):
        score = last.bias[0].item()
        for h in range(4):
            inner = first.bias[h].item()
            for i in range(3):
                inner += first.weight[h, i].item() * vectors[0, k, i].item()
            score += last.weight[0, h].item() * max(inner, 0)
        assert found[0, k].item() == pytest.approx(score, abs=1e-5)


@pytest.fixture(params=LOSSES)
def loss(request):
    """Each loss in turn, and its formula."""
    return LOSSES[request.param]


def of(function, scores, order):
    mask = torch.ones(1, len(order), dtype=torch.bool)
    return function(torch.tensor([scores]), torch.tensor([order]), mask)


@pytest.mark.parametrize("scores, order", CASES)
def test_a_loss_is_its_formula(loss, scores, order):
    function, by_hand = loss
    assert of(function, scores, order).item() == pytest.approx(by_hand(scores, order), rel=1e-4)


def test_margin_list_mle_of_two_sentences_is_list_mle():
    scores, order = random_case(2, 0)
    torch.testing.assert_close(of(margin_list_mle, scores, order), of(list_mle, scores, order))


def test_the_order_is_not_its_inverse():
    # 1, 2, 3, 0 is a 4-cycle: the scores that fit it do not fit its inverse.
    order = [1, 2, 3, 0]
    fitting = [float(-order.index(i)) for i in range(4)]
    for function in (list_mle, margin_list_mle):
        right, wrong = of(function, fitting, order), of(function, fitting, [3, 0, 1, 2])
        assert right < wrong


def test_a_batch_mate_and_padding_change_nothing(loss):
    function, by_hand = loss
    short, long = random_case(3, 5), random_case(8, 5)
    # In float64: in float32 processors differ in how rows of different lengths are rounded.
    scores = torch.full((2, 8), 50.0, dtype=torch.float64)  # padding, which must not matter
    scores[0, :3], scores[1] = torch.tensor(short[0]), torch.tensor(long[0])
    scores.requires_grad_()
    order = torch.arange(8).repeat(2, 1)
    order[0, :3], order[1] = torch.tensor(short[1]), torch.tensor(long[1])
    mask = torch.arange(8) < torch.tensor([[3], [8]])
    with torch.autograd.set_detect_anomaly(True):
        together = function(scores, order, mask)
        together.backward()
    alone = [by_hand(*case) for case in (short, long)]
    assert together.item() == pytest.approx(sum(alone) / 2, rel=1e-4)
    assert scores.grad[0, 3:].tolist() == [0] * 5
    # The gradient of each document, too, is what it has alone.
    for row, (values, truth) in enumerate((short, long)):
        single = scores.detach()[row : row + 1, : len(values)].clone().requires_grad_()
        own = torch.ones(1, len(truth), dtype=torch.bool)
        function(single, torch.tensor([truth]), own).backward()
        torch.testing.assert_close(scores.grad[row, : len(truth)] * 2, single.grad[0])


@pytest.mark.parametrize("far", [1000.0, -1000.0])
@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_far_scores_give_finite_losses_and_gradients(loss, n, far):
    function, _ = loss
    scores = torch.linspace(far, -far, n)[None].clone().requires_grad_()
    mask = torch.ones(1, n, dtype=torch.bool)
    with torch.autograd.set_detect_anomaly(True):
        value = function(scores, torch.arange(n)[None], mask)
        value.backward()
    assert value.isfinite()
    assert scores.grad.isfinite().all()
    if far < 0 and n > 1:  # as wrong as can be: there must be a way back
        assert scores.grad[0, 0] < 0
        assert scores.grad.abs().max() > 0.01


def test_margin_list_mle_pushes_down_a_later_sentence_however_far_it_is_ahead():
    scores = torch.tensor([[0.0, 500.0, 0.0, 0.0]], requires_grad=True)
    mask = torch.ones(1, 4, dtype=torch.bool)
    margin_list_mle(scores, torch.arange(4)[None], mask).backward()
    # log F_1(1) and log(1 - F_1(2)) both push, each by 1/3; a clamp would have left one of them.
    assert scores.grad[0, 1].item() == pytest.approx(2 / 3, abs=1e-3)


def noisy_documents(n: int, count: int, draw: torch.Generator) -> torch.Tensor:
    """(count, n, 8) Documents in order; what tells of a sentence's place is mostly noise."""
    places = torch.linspace(0, 1, n) + torch.randn(count, n, generator=draw)
    return torch.sin(places[:, :, None] * torch.arange(1.0, 9.0) / 4)


def learned_tau(function) -> float:
    """How well sentences are ordered by what little tells of their places."""
    draw = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Linear(8, 32), torch.nn.Tanh(), torch.nn.Linear(32, 1), torch.nn.Flatten(1)
    )
    steps = torch.optim.AdamW(model.parameters(), 0.01)
    for _ in range(150):
        n = int(torch.randint(3, 12, (), generator=draw))
        scores = model(noisy_documents(n, 32, draw))
        order = torch.arange(n).repeat(32, 1)
        steps.zero_grad()
        function(scores, order, torch.ones_like(order, dtype=torch.bool)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1)
        steps.step()
    with torch.no_grad():
        orders = model(noisy_documents(6, 2000, draw)).argsort(descending=True).tolist()
    return mean(kendall_tau(order, range(6)) for order in orders)


@pytest.mark.parametrize("gamma", GAMMAS)
def test_every_margin_learns_where_places_are_uncertain(gamma):
    # Where wrong guesses are all that count, equal scores are best, and nothing is learned.
    found = learned_tau(lambda *args: margin_list_mle(*args, gamma=gamma))
    assert found > 0.9 * learned_tau(list_mle)


def test_half_precision_scores_are_summed_in_full():
    scores, order = random_case(7, 1)
    half = torch.tensor([scores], dtype=torch.bfloat16)
    mask = torch.ones(1, 7, dtype=torch.bool)
    for function in (list_mle, margin_list_mle):
        loss = function(half, torch.tensor([order]), mask)
        assert loss.dtype == torch.float32
        torch.testing.assert_close(loss, function(half.float(), torch.tensor([order]), mask))


@pytest.mark.parametrize("gamma", [0.0, -1.0, 1.5])
def test_an_impossible_gamma_is_refused(gamma):
    with pytest.raises(ValueError, match="gamma"):
        of(lambda *args: margin_list_mle(*args, gamma=gamma), [0.0, 1.0], [0, 1])


def pairs_by_hand(logits, order):
    place = {i: k for k, i in enumerate(order)}
    loss = 0.0
    for i in order:
        costs = []
        for j in order:
            if i != j:
                chance = 1 / (1 + math.exp(-logits[i][j]))
                costs.append(-math.log(chance if place[i] < place[j] else 1 - chance))
        loss += mean(costs) if costs else 0
    return loss


def successors_by_hand(logits, order):
    n, loss = len(order), 0.0
    for i, j in pairwise([n, *order, n]):
        shares = {k: math.exp(logits[i][k]) for k in [*order, n] if k != i}
        loss -= math.log(shares[j] / sum(shares.values()))
    return loss


TABLES = {
    "pairs": (pair_cross_entropy, pairs_by_hand, 0),
    "successors": (successor_cross_entropy, successors_by_hand, 1),
}


def drawn_table(n, extra, seed, antisymmetric):
    torch.manual_seed(seed)
    table = torch.randn(n + extra, n + extra)
    return table - table.T if antisymmetric else table


def padded_table(table, size, extra):
    """A table among longer ones: padding in the middle, start and end last. NaN must not count."""
    n = len(table) - extra
    own = [*range(n), *range(size, size + extra)]
    padded = torch.full((size + extra, size + extra), 1e4)
    padded[torch.tensor(own)[:, None], torch.tensor(own)] = table
    return padded


@pytest.mark.parametrize("kind", TABLES)
@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_a_loss_of_a_table_is_its_formula(kind, n):
    function, by_hand, extra = TABLES[kind]
    order = random.Random(n).sample(range(n), n)
    table = drawn_table(n, extra, n, kind == "pairs")
    mask = torch.ones(1, n, dtype=torch.bool)
    found = function(table[None], torch.tensor([order]), mask)
    assert found.item() == pytest.approx(by_hand(table.tolist(), order), rel=1e-4, abs=1e-6)


@pytest.mark.parametrize("kind", TABLES)
def test_padding_and_batch_mates_change_no_loss_of_a_table(kind):
    function, by_hand, extra = TABLES[kind]
    orders = [[2, 0, 1], [0], [3, 1, 4, 0, 2], [1, 0]]
    tables = [drawn_table(len(o), extra, k, kind == "pairs") for k, o in enumerate(orders)]
    batch = batch_of(*orders)
    stacked = torch.stack([padded_table(table, 5, extra) for table in tables]).requires_grad_()
    loss = function(stacked, batch.order, batch.mask)
    by_hands = [by_hand(t.tolist(), o) for t, o in zip(tables, orders, strict=True)]
    assert loss.item() == pytest.approx(mean(by_hands), rel=1e-4)
    loss.backward()
    assert stacked.grad.isfinite().all()


@pytest.mark.parametrize("kind", TABLES)
def test_far_logits_are_no_trouble(kind):
    function, _, extra = TABLES[kind]
    table = (1000 * drawn_table(4, extra, 0, kind == "pairs"))[None].requires_grad_()
    loss = function(table, torch.tensor([[2, 0, 3, 1]]), torch.ones(1, 4, dtype=torch.bool))
    loss.backward()
    assert loss.isfinite()
    assert table.grad.isfinite().all()
