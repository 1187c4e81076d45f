"""What every system promises."""

import pytest
import torch

from bert4so.data.shuffle import shuffle
from bert4so.document import Document, Puzzle
from bert4so.learner import parameter_groups
from bert4so.metrics import average

STILL = ["decoder.score.2.bias", "self.key.bias"]
"""Endings of weights without a gradient: a softmax cancels what all sentences, or keys, share."""


def test_orders_are_permutations(model, puzzles):
    orderings = model.order([puzzle.without_answer() for puzzle in puzzles])
    for puzzle, ordering in zip(puzzles, orderings, strict=True):
        assert sorted(ordering.order) == list(range(len(puzzle.sentences)))
        assert ordering.sentences == tuple(puzzle.sentences[i] for i in ordering.order)
        assert 0 < ordering.confidence <= 1
        assert ordering.before.shape == (len(puzzle.sentences),) * 2


def test_a_batch_mate_changes_no_order(model, puzzles):
    together = model.order(puzzles)
    for puzzle, beside in zip(puzzles, together, strict=True):
        (alone,) = model.order([puzzle])
        assert alone.order == beside.order
        assert alone.scores == pytest.approx(beside.scores, abs=1e-5)


def test_a_batch_mate_and_padding_change_no_loss(model, puzzles):
    few = puzzles[:6]
    alone = [model(model.input([puzzle])) for puzzle in few]
    torch.testing.assert_close(model(model.input(few)), sum(alone) / len(few))


def test_the_answer_is_not_read_when_ordering(model, puzzles):
    misled = [Puzzle(puzzle.sentences, puzzle.order[::-1]) for puzzle in puzzles]
    assert model.order(puzzles) == model.order(misled)


def test_every_weight_gets_a_gradient(model, puzzles):
    model.train()
    # In anomaly mode a NaN is an error even where a mask would hide it.
    with torch.autograd.set_detect_anomaly(True):
        model(model.input(puzzles)).backward()
    still = [
        name
        for name, weight in model.named_parameters()
        if weight.grad is None or weight.grad.abs().max() < 1e-7
    ]
    assert [name for name in still if not name.endswith(tuple(STILL))] == []


def test_every_weight_is_given_to_the_optimizer_once(run, model):
    groups = parameter_groups(model, run.train)
    given = [id(weight) for group in groups for weight in group["params"]]
    assert sorted(given) == sorted(id(weight) for weight in model.parameters())


def test_it_learns_twenty_documents(run, model):
    steps = ["first we wake up", "then eat bread", "later go out", "at last come home", "now sleep"]
    learned = [Document(str(i), tuple(f"{s} {i}" for s in steps[: 2 + i % 4])) for i in range(20)]
    optimizer = torch.optim.Adam(parameter_groups(model, run.train))
    losses = []
    for epoch in range(60):
        model.train()
        loss = model(model.input([shuffle(document, epoch) for document in learned]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < losses[0] / 2
    unseen = [shuffle(document, "unseen") for document in learned]
    found = [ordering.order for ordering in model.order(unseen)]
    assert average(zip(found, [puzzle.order for puzzle in unseen], strict=True)).tau > 0.95


@pytest.mark.parametrize(
    "sentences",
    [
        ("alone",),
        ("one", "two"),
        ("ζ ω", "\U0001f600", "مرحبا"),
        ("\x00", "\x07", "..."),
        ("same", "same", "same"),
    ],
)
def test_odd_documents_are_ordered(model, sentences):
    (ordering,) = model.order([Puzzle(sentences)])
    assert sorted(ordering.order) == list(range(len(sentences)))


def test_what_was_cut_is_said(model):
    sentences = ("bread " * 30, "sleep", "home " * 200, "we eat")
    cut, whole = model.order([Puzzle(sentences), Puzzle(("a", "b"))])
    assert cut.truncated == (2,)
    assert whole.truncated == ()
