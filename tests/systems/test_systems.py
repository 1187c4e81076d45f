"""What every system promises."""

from itertools import permutations

import pytest
import torch

from bert4so.data.shuffle import shuffle
from bert4so.document import Document, Puzzle
from bert4so.evaluation.metrics import average
from bert4so.training.learner import parameter_groups

STILL = ["decoder.score.2.bias", "self.key.bias"]
"""Endings of weights without a gradient: a softmax cancels what all sentences, or keys, share."""


DEPENDS_ON_THE_SHUFFLE = {"cnn-ptrnet", "lstm-ptrnet", "bert4so", "bert4so-joint"}
"""An LSTM over the sentences as they are given, or positions in the row, see where they stand."""

DRAWS_NEGATIVES = {"variant-lstm-ptrnet"}


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
        assert alone.confidence == pytest.approx(beside.confidence, rel=1e-4)
        assert alone.before == pytest.approx(beside.before, abs=1e-4)


def test_a_batch_mate_and_padding_change_no_loss(run, model, puzzles):
    if run.system in DRAWS_NEGATIVES:
        pytest.skip("its paper takes negatives from the batch")
    few = puzzles[:6]
    alone = [model(model.input([puzzle])) for puzzle in few]
    torch.testing.assert_close(model(model.input(few)), sum(alone) / len(few))


def test_the_answer_is_not_read_when_ordering(model, puzzles):
    misled = [Puzzle(puzzle.sentences, puzzle.order[::-1]) for puzzle in puzzles]
    assert model.order(puzzles) == model.order(misled)


def test_every_weight_gets_a_gradient(model, puzzles):
    model.train()
    with torch.no_grad():  # as if something had been learned: some paths begin all but closed
        for weight in model.parameters():
            weight += 0.3 * torch.randn_like(weight)
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
    for epoch in range(100):
        model.train()
        loss = model(model.input([shuffle(document, epoch) for document in learned]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    # Not lower: among drawn negatives are sentences that differ in a number only.
    assert losses[-1] < 0.75 * losses[0]
    unseen = [shuffle(document, "unseen") for document in learned]
    found = [ordering.order for ordering in model.order(unseen)]
    assert average(zip(found, [puzzle.order for puzzle in unseen], strict=True)).tau > 0.95


def test_another_shuffle_is_read_alike_where_it_is_promised(run, model):
    sentences = (
        "we eat bread",
        "first wake up on day 3",
        "now sleep",
        "later go out",
        "home we go",
    )
    shuffles = list(permutations(range(5)))[::7]
    read = {
        ordering.sentences
        for ordering in model.order([Puzzle(tuple(sentences[i] for i in s)) for s in shuffles])
    }
    assert (len(read) > 1) == (run.system in DEPENDS_ON_THE_SHUFFLE)


@pytest.mark.parametrize("n", [1, 2, 40])
def test_any_number_of_sentences_is_ordered(model, n):
    sentences = tuple(f"a b {k}" for k in range(n))  # short: some read all in one row
    if n == 40:
        sentences = tuple("abcdefghijklmnopqrstuvwxyz0123456789.,!?")
    (ordering,) = model.order([Puzzle(sentences)])
    assert sorted(ordering.order) == list(range(n))
    assert 0 < ordering.confidence <= 1


def test_words_that_nobody_has_seen_are_ordered(model):
    (ordering,) = model.order([Puzzle(("xqzt vvwk", "zzkq", "qqxw jjvz xqzt"))])
    assert sorted(ordering.order) == [0, 1, 2]


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
