"""Rows of two sentences, and the order that is made of them: B-TSort's."""

import math
from dataclasses import replace
from itertools import combinations, permutations

import pytest
import torch

from bert4so.data.shuffle import shuffle
from bert4so.document import Document, Puzzle, inverse
from bert4so.modeling.encoder import pretrained
from bert4so.modeling.inputs.pairs_input import PairsInput
from bert4so.systems import SYSTEMS
from conftest import tiny_run

SENTENCES = ("we eat bread", "sleep", "then go home now")
KNOWN = Puzzle(SENTENCES, [2, 0, 1])


@pytest.fixture
def input(encoder):
    return PairsInput.for_encoder(str(encoder), dropout=0.0, both_directions=False)


def build(encoder, folder, **model):
    run = tiny_run("b-tsort", encoder, folder, model=model)
    torch.manual_seed(0)
    system = SYSTEMS["b-tsort"]
    return system.build(run.model, system.make_input(run.model, [])).eval()


def read(input, batch):
    """The text of each row, without its padding."""
    rows = [row[real].tolist() for row, real in zip(batch.rows.ids, batch.rows.real, strict=True)]
    return [" ".join(input.packer.tokenizer.id_to_token(i) for i in row) for row in rows]


def pairs(batch, chosen=None):
    """(document, first, second) of the pairs, or of those chosen."""
    numbers = torch.stack([batch.document, batch.first, batch.second], 1)
    return [tuple(row) for row in (numbers if chosen is None else numbers[chosen]).tolist()]


def test_every_two_are_learned_from_in_both_directions(input):
    batch = input([Puzzle(("at last", "now"), [0, 1]), KNOWN])
    assert pairs(batch, batch.learned) == pairs(batch)
    assert pairs(batch) == [
        *[(0, 0, 1), (0, 1, 0)],
        *[(1, i, j) for i, j in permutations(range(3), 2)],
    ]
    assert read(input, batch) == [
        "[CLS] at last [SEP] now [SEP]",
        "[CLS] now [SEP] at last [SEP]",
        "[CLS] we eat bread [SEP] sleep [SEP]",
        "[CLS] we eat bread [SEP] then go home now [SEP]",
        "[CLS] sleep [SEP] we eat bread [SEP]",
        "[CLS] sleep [SEP] then go home now [SEP]",
        "[CLS] then go home now [SEP] we eat bread [SEP]",
        "[CLS] then go home now [SEP] sleep [SEP]",
    ]
    assert batch.rows.segments[2].tolist() == [0, 0, 0, 0, 0, 1, 1, 0, 0, 0]
    pieces = [False, True, True, True, False, True, False, False, False, False]
    assert batch.rows.pieces[2].tolist() == pieces


def test_every_two_are_asked_about_once_in_a_direction_of_their_own(input, documents):
    longest = [d.sentences for d in documents if len(d.sentences) == 5]
    directions = []
    for sentences in longest:
        batch = input([Puzzle(sentences)])
        assert batch.asked.all()
        assert not batch.learned.any()
        assert sorted(tuple(sorted(pair[1:])) for pair in pairs(batch)) == [
            *combinations(range(5), 2)
        ]
        directions += [first < second for _, first, second in pairs(batch)]
        numbers = [3, 0, 4, 1, 2]
        again = input([Puzzle(tuple(sentences[i] for i in numbers))])
        # Other numbers, the same text in the same direction.
        assert sorted(read(input, again)) == sorted(read(input, batch))
    assert 0.2 < sum(directions) / len(directions) < 0.8


def test_same_sentences_are_asked_about_once(input):
    batch = input([Puzzle(("sleep", "sleep", "sleep"))])
    assert sorted(pairs(batch)) == [(0, i, j) for i, j in combinations(range(3), 2)]


def test_what_is_asked_does_not_depend_on_the_answer(input):
    known, unknown = input([KNOWN]), input([KNOWN.without_answer()])
    assert pairs(known, known.asked) == pairs(unknown)
    assert len(pairs(known)) == 2 * len(pairs(unknown)) == 6
    # Nor with what they are encoded at once.
    together = [[pairs(known)[k] for k in chunk] for chunk in known.chunks]
    assert together[0] == [pairs(unknown)[k] for k in unknown.chunks[0]]


def test_the_size_is_that_of_the_tokens_read(input):
    # Of the longest pair, which is cut, nothing is learned: it is read once, all else twice.
    long = Puzzle(("day " * 70, "sleep " * 60, "we eat", "they sleep"), [2, 0, 3, 1])
    batch, asked = input([long]), input([long.without_answer()])
    assert len(pairs(batch)) == 2 * len(pairs(asked)) - 1 == 11
    for puzzle in (KNOWN, KNOWN.without_answer(), long, long.without_answer()):
        assert input.size(puzzle) == input([puzzle]).tokens


def test_both_directions_are_asked_about_where_that_is_wanted(encoder):
    input = PairsInput.for_encoder(str(encoder), dropout=0.0, both_directions=True)
    batch = input([KNOWN.without_answer()])
    assert pairs(batch) == [(0, i, j) for i, j in permutations(range(3), 2)]
    assert batch.asked.all()
    assert input.size(KNOWN) == batch.tokens


def test_settings_are_saved(encoder, tmp_path):
    for both in (False, True):
        input = PairsInput.for_encoder(str(encoder), dropout=0.0, both_directions=both)
        input.save(tmp_path)
        assert read(input, input([KNOWN])) == read(input, PairsInput.load(tmp_path)([KNOWN]))
        assert PairsInput.load(tmp_path).size(KNOWN) == input.size(KNOWN)


@pytest.mark.parametrize(
    "a, b, kept",
    [
        (40, 53, (40, 53)),
        (46, 47, (46, 47)),
        (40, 54, (40, 53)),
        (54, 40, (53, 40)),
        (46, 90, (46, 47)),
        (90, 90, (46, 46)),
        (1, 200, (1, 92)),
    ],
)
def test_a_long_pair_is_cut_when_asked_about_and_left_out_of_learning(input, a, b, kept):
    # Room for 93 word pieces, half of it 46.
    input.packer.layout = replace(input.packer.layout, positions=96)
    puzzle = Puzzle(("bread " * a, "sleep " * b), [1, 0])
    batch = input([puzzle])
    whole = kept == (a, b)
    assert batch.learned.tolist() == ([True, True] if whole else [False])
    row = read(input, batch)[batch.asked.tolist().index(True)].split()
    assert (row.count("bread"), row.count("sleep")) == kept
    assert batch.cut.tolist() == [[kept[0] < a, kept[1] < b]]
    assert input.size(puzzle.without_answer()) == sum(kept) + 3


def test_a_pair_has_room_for_a_hundred_pieces(input):
    input.packer.layout = replace(input.packer.layout, positions=512)
    assert input([Puzzle(("bread " * 90, "sleep " * 10), [0, 1])]).learned.all()
    over = input([Puzzle(("bread " * 90, "sleep " * 60, "now"), [0, 1, 2])])
    # Beside "now" both are whole.
    assert over.learned.sum() == 4
    assert over.cut.tolist() == [[True, True, False]]
    assert over.rows.real.sum(1).max() == 103


def chances(model, puzzle):
    """P(first before second) of every ordered pair, each row encoded by itself."""
    encoder, classify = model.sentence_encoder.row.encoder, model.decoder.classify
    layout, found = model.input.packer.layout, {}
    pieces = model.input.packer.pieces(puzzle.sentences)
    for i, j in permutations(range(len(pieces)), 2):
        ids = [layout.cls, *pieces[i], layout.sep, *pieces[j], layout.sep]
        kinds = [0] * (len(pieces[i]) + 2) + [1] * (len(pieces[j]) + 1)
        tokens = encoder(
            input_ids=torch.tensor([ids]), token_type_ids=torch.tensor([kinds])
        ).last_hidden_state[0]
        own = [t for t, token in enumerate(ids) if token not in (layout.cls, layout.sep)]
        vector = tokens[0] if model.cls else tokens[own].mean(0)
        no, yes = classify(vector).tolist()
        found[i, j] = math.exp(yes) / (math.exp(no) + math.exp(yes))
    return found


@pytest.fixture(params=["cls", "mean"])
def model(request, encoder, tmp_path):
    model = build(encoder, tmp_path, pooling=request.param)
    model.sentence_encoder.row.encoder.load_state_dict(pretrained(str(encoder)).state_dict())
    model.cls = request.param == "cls"
    # Answers that differ.
    model.decoder.classify[1].weight.data.mul_(20)
    return model


def test_the_loss_is_the_mean_over_pairs_and_then_over_documents(model):
    some = [KNOWN, Puzzle(("at last", "now"), [1, 0]), Puzzle(("alone",), [0])]
    losses = []
    for puzzle in some[:2]:
        place, loss = inverse(puzzle.order), 0.0
        for (i, j), chance in chances(model, puzzle).items():
            loss -= math.log(chance if place[i] < place[j] else 1 - chance)
        losses.append(loss / (len(place) * (len(place) - 1)))
    expected = sum([*losses, 0.0]) / 3
    assert model(model.input(some)).item() == pytest.approx(expected, rel=1e-4)


def test_before_is_the_probability_of_a_pair(model):
    found = chances(model, KNOWN)
    (ordering,) = model.order([KNOWN])
    asked = {pair[1:] for pair in pairs(model.input([KNOWN.without_answer()]))}
    for i, j in permutations(range(3), 2):
        expected = found[i, j] if (i, j) in asked else 1 - found[j, i]
        assert ordering.before[i, j] == pytest.approx(expected, abs=1e-5)
    model.input.both_directions = True
    (ordering,) = model.order([KNOWN])
    for i, j in permutations(range(3), 2):
        expected = (found[i, j] + 1 - found[j, i]) / 2
        assert ordering.before[i, j] == pytest.approx(expected, abs=1e-5)
    assert [ordering.before[i, i] for i in range(3)] == [0.5, 0.5, 0.5]


@pytest.mark.parametrize(
    "sentences", [("alone",), ("bread " * 60, "sleep " * 60)], ids=["one", "all left out"]
)
def test_where_there_is_nothing_to_learn_every_weight_has_part_in_it(model, sentences):
    loss = model(model.input([Puzzle(sentences, list(range(len(sentences))))]))
    loss.backward()
    assert loss == 0
    for name, weight in model.named_parameters():
        assert weight.grad is not None, name
        assert weight.grad.eq(0).all(), name


def test_an_answer_changes_no_bit_of_the_order(model, puzzles):
    known = model.order(puzzles)
    unknown = model.order([puzzle.without_answer() for puzzle in puzzles])
    assert known == unknown
    for one, other in zip(known, unknown, strict=True):
        assert (one.before == other.before).all()


def test_a_long_document_is_ordered_and_learned_from(encoder, tmp_path):
    model = build(encoder, tmp_path)
    long = shuffle(Document("long", tuple(f"now day {i} of home" for i in range(40))), 0)
    (ordering,) = model.order([long])
    assert sorted(ordering.order) == list(range(40))
    assert 0 < ordering.confidence <= 1
    batch = model.input([long])
    assert len(batch.rows.ids) == 40 * 39
    assert model(batch).isfinite()


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize("aggregation", ["ranked-pairs", "most-likely", "borda", "copeland"])
def test_a_shuffled_input_only_relabels_the_answer(encoder, tmp_path, aggregation, both):
    model = build(encoder, tmp_path, aggregation=aggregation, both_directions=str(both).lower())
    sentences = ("we eat bread", "first wake up", "now sleep", "then go", "at last come home")
    (found,) = model.order([Puzzle(sentences)])
    numbers = [3, 0, 4, 1, 2]
    (again,) = model.order([Puzzle(tuple(sentences[i] for i in numbers))])
    assert again.sentences == found.sentences
    assert again.confidence == pytest.approx(found.confidence, rel=1e-4)


def test_each_aggregation_is_the_one_that_was_asked_for(encoder, tmp_path):
    wanted = ["ranked-pairs", "most-likely", "borda", "copeland", "topological"]
    for name in wanted:
        model = build(encoder, tmp_path, aggregation=name)
        assert model.decoder.aggregate.__name__ == name.replace("-", "_")
