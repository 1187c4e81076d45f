"""`bert4so-joint`: its heads by their formulas, its answers by passes and windows, its export."""

import json
import math
import shutil
from dataclasses import replace

import numpy as np
import onnx
import pytest
import torch
from accelerate.state import AcceleratorState
from test_export import exported_from

from bert4so import Orderer, Ordering, Puzzle, UserError
from bert4so.data.corpus import Corpus
from bert4so.data.shuffle import shuffle
from bert4so.document import HeadWeights
from bert4so.export import to_onnx as export
from bert4so.inference.onnx_model import ExportedModel
from bert4so.inference.passes import Passes, shuffled_by_words
from bert4so.inference.windows import Windows
from bert4so.modeling.base import States
from bert4so.modeling.decoders.joint import BeforeHead, JointDecoder, NextHead
from bert4so.modeling.losses import list_mle, pair_cross_entropy, successor_cross_entropy
from bert4so.ranking.objective import Objective
from bert4so.ranking.search import HeadOutputs, decide
from bert4so.systems import SYSTEMS
from bert4so.systems.run_config import read_run
from bert4so.training.checkpoint import load_model, save_model
from bert4so.training.trainer import Trainer
from conftest import tiny_run
from random_documents import batch_of, loosened

TESTED_SYSTEMS = ["bert4so-joint"]
SENTENCES = ("we eat bread", "first wake up on day 3", "now sleep", "later go out")
WEIGHTS = HeadWeights(scores=0.5, before=0.8, next=1.2)


@pytest.fixture(scope="module")
def place(documents, tmp_path_factory):
    place = tmp_path_factory.mktemp("joint")
    return exported_from("bert", documents, place, "float32", "int8", system="bert4so-joint")


def tables(backend, puzzles):
    """What each head says of some documents, in the order of the heads."""
    said = []
    for ordering in backend.order(puzzles):
        finite = np.where(np.isfinite(ordering.next), ordering.next, 0)
        said.append((np.array(ordering.scores), ordering.before, finite))
    return said


def two_layers_by_hand(layers, x):
    inner, _, outer = layers
    hidden = [max(dot(w, x) + b, 0) for w, b in zip(*parts(inner), strict=True)]
    return [dot(w, hidden) + b for w, b in zip(*parts(outer), strict=True)]


def parts(layer):
    return layer.weight.tolist(), layer.bias.tolist()


def dot(a, b):
    return sum(x * y for x, y in zip(a, b, strict=True))


def test_the_head_of_pairs_is_its_formula():
    torch.manual_seed(0)
    head, vectors = loosened(BeforeHead(3, 4), 0.5), torch.randn(1, 3, 3)
    found = head(vectors)[0].tolist()
    f = [two_layers_by_hand(head.first, x) for x in vectors[0].tolist()]
    g = [two_layers_by_hand(head.second, x) for x in vectors[0].tolist()]
    for i in range(3):
        for j in range(3):
            wanted = (dot(f[i], g[j]) - dot(f[j], g[i])) / math.sqrt(4)
            assert found[i][j] == pytest.approx(wanted, abs=1e-5)
            assert found[i][j] == -found[j][i]


def test_the_head_of_successors_is_its_formula():
    torch.manual_seed(0)
    head, vectors = loosened(NextHead(3, 4), 0.5), torch.randn(1, 3, 3)
    found = head(vectors)[0].tolist()
    q = [two_layers_by_hand(head.query, x) for x in vectors[0].tolist()] + [head.start.tolist()]
    k = [two_layers_by_hand(head.key, x) for x in vectors[0].tolist()] + [head.end.tolist()]
    for i in range(4):
        for j in range(4):
            assert found[i][j] == pytest.approx(dot(q[i], k[j]) / math.sqrt(4), abs=1e-5)


def test_the_losses_of_the_heads_are_weighed_and_added():
    torch.manual_seed(0)
    decoder = JointDecoder(6, 4, list_mle, HeadWeights(0.5, 2.0, 3.0), WEIGHTS)
    states = States(*[torch.randn(2, 4, 6)] * 2)
    batch = batch_of([2, 0, 3, 1], [1, 0])
    scores, before, after = decoder.heads(states)
    wanted = (
        0.5 * list_mle(scores, batch.order, batch.mask)
        + 2.0 * pair_cross_entropy(before, batch.order, batch.mask)
        + 3.0 * successor_cross_entropy(after, batch.order, batch.mask)
    )
    torch.testing.assert_close(decoder.loss(states, batch), wanted)


def test_the_order_is_the_best_of_what_the_heads_say(model, puzzles):
    for puzzle, ordering in zip(puzzles, model.order(puzzles), strict=True):
        n = len(puzzle.sentences)
        rows = np.exp(ordering.next).sum(1)
        assert rows == pytest.approx(np.ones(n + 1))
        assert (np.diagonal(ordering.next) == -np.inf).all()
        assert ordering.before + ordering.before.T == pytest.approx(np.ones((n, n)))
        objective = Objective.of(ordering)
        moves = objective.of_moves(ordering.order)
        assert moves.max() <= objective.log_likelihood(ordering.order) + 1e-8


def test_a_step_in_bf16_is_near_one_in_float32(encoder, tmp_path, splits):
    losses = []
    for precision in ("float32", "bf16"):
        calm = {
            "model": {"dropout": 0.0, "encoder_dropout": 0.0},
            "train": {"precision": precision},
        }
        run = tiny_run("bert4so-joint", encoder, tmp_path, **calm)
        AcceleratorState._reset_state(reset_partial_state=True)
        trainer = Trainer(run, splits, tmp_path / precision)
        losses.append(trainer.learner.step([shuffle(d, 0) for d in splits.train]).loss)
    AcceleratorState._reset_state(reset_partial_state=True)
    assert losses[0] == pytest.approx(losses[1], rel=0.02)


@pytest.mark.parametrize("decode", ["tau", "pmr"])
def test_the_aim_chooses_the_weights_of_the_search(encoder, tmp_path, puzzles, decode):
    run = tiny_run("bert4so-joint", encoder, tmp_path, model={"decode": decode})
    system = SYSTEMS["bert4so-joint"]
    model = system.build(run.model, system.make_input(run.model, [])).eval()
    wanted = getattr(run.model.weights, decode)
    (ordering,) = model.order(puzzles[4:5])
    assert ordering.weights == HeadWeights(wanted.scores, wanted.before, wanted.next)


# Passes and windows


class Swayed:
    """A system with three heads whose answers depend on how the sentences are shown."""

    def check(self, puzzle):
        pass

    def outputs(self, sentences):
        draw = np.random.default_rng(sum(k * len(s) for k, s in enumerate(sentences)))
        n = len(sentences)
        logits = draw.normal(size=(n, n))
        return HeadOutputs(draw.normal(size=n), logits - logits.T, draw.normal(size=(n + 1, n + 1)))

    def order(self, puzzles):
        decisions = decide([self.outputs(p.sentences) for p in puzzles], WEIGHTS)
        return [Ordering.of(p, d, []) for p, d in zip(puzzles, decisions, strict=True)]


def log_softmax_by_hand(row, but):
    total = sum(math.exp(value) for k, value in enumerate(row) if k != but)
    return [value - math.log(total) for value in row]


def test_passes_average_what_each_head_says():
    n, backend, passes = 4, Swayed(), 3
    (ordering,) = Passes(backend, passes).order([Puzzle(SENTENCES)])
    scores, logits, logs = np.zeros(n), np.zeros((n, n)), np.zeros((n + 1, n + 1))
    for k in range(passes):
        view = shuffled_by_words(SENTENCES, k)
        outputs = backend.outputs([SENTENCES[i] for i in view])
        own = [*view, n]
        for a in range(n + 1):
            row = log_softmax_by_hand(outputs.next[a], but=a)
            for b in range(n + 1):
                logs[own[a], own[b]] += row[b] / passes
                if a < n and b < n:
                    logits[view[a], view[b]] += outputs.before[a, b] / passes
        scores[view] += (outputs.scores - outputs.scores.mean()) / passes
    assert ordering.scores == pytest.approx(scores)
    assert ordering.before == pytest.approx(1 / (1 + np.exp(-logits)))
    for i in range(n + 1):
        wanted = log_softmax_by_hand(logs[i], but=i)
        for j in range(n + 1):
            assert ordering.next[i, j] == (-np.inf if i == j else pytest.approx(wanted[j]))
    best = decide([HeadOutputs(scores, logits, logs)], WEIGHTS)[0]
    assert ordering.order == best.order
    assert ordering.confidence == pytest.approx(best.confidence)


def test_one_pass_is_what_the_model_says_of_the_sentences_as_given():
    backend, n = Swayed(), 4
    (ordering,) = Passes(backend, 1).order([Puzzle(SENTENCES)])
    view = shuffled_by_words(SENTENCES, 0)
    (shown,) = backend.order([Puzzle(tuple(SENTENCES[i] for i in view))])
    for a, i in enumerate([*view, n]):
        for b, j in enumerate([*view, n]):
            assert ordering.next[i, j] == shown.next[a, b]
    again = Objective.of(ordering).log_likelihood(ordering.order)
    assert again == pytest.approx(Objective.of(shown).log_likelihood(shown.order))


def test_long_documents_are_ordered_by_the_pairs_of_windows(place):
    orderer = Orderer.from_pretrained(place / "float32")
    sentences = [f"first we wake up on day {i}" for i in range(150)]
    ordering = orderer.order(sentences)
    assert sorted(ordering.order) == list(range(150))
    assert ordering.next is None
    assert ordering.weights is None
    assert orderer.order(sentences[::-1]).sentences == ordering.sentences
    assert isinstance(orderer.build_backend(), Windows)


# Starting from another model


def test_a_run_starts_from_one_of_bert4so(encoder, splits, tmp_path):
    first = tiny_run("bert4so", encoder, tmp_path, model={"hidden": 32, "loss": "list-mle"})
    system = SYSTEMS["bert4so"]
    model = system.build(first.model, system.make_input(first.model, []))
    save_model(tmp_path / "first", first, model)
    free = {"frozen_layers": 1, "dropout": 0.3, "encoder_dropout": 0.25}
    run = tiny_run("bert4so-joint", encoder, tmp_path, model=free)
    run = run.model_copy(update={"start": str(tmp_path / "first")})
    joint = Trainer(run, splits, tmp_path / "second").model
    learned, own = model.state_dict(), joint.state_dict()
    assert all(own[name].equal(weight) for name, weight in learned.items())
    assert {name.split(".")[1] for name in own.keys() - learned.keys()} == {"before", "next"}
    assert joint.input.encoder_config.hidden_dropout_prob == 0.25
    assert joint.sentence_encoder.row.encoder.config.hidden_dropout_prob == 0.25
    other = run.model.model_copy(update={"hidden": 8})
    with pytest.raises(UserError, match=r"trained with hidden = 32, not 8"):
        Trainer(run.model_copy(update={"model": other}), splits, tmp_path / "third")


def test_a_run_of_bert4so_does_not_start_from_a_joint_one(place, splits, tmp_path, encoder):
    run = tiny_run("bert4so", encoder, tmp_path)
    with pytest.raises(UserError, match="trained with system = 'bert4so-joint', not 'bert4so'"):
        Trainer(run.model_copy(update={"start": str(place / "run")}), splits, tmp_path / "again")


def test_a_run_starts_from_the_bundled_model(splits, tmp_path):
    path = tmp_path / "run.toml"
    path.write_text(
        'system = "bert4so-joint"\ncorpus = "c"\nstart = "bundled"\nscale = "desk"\n'
        '[model]\nencoder = "intfloat/e5-small"\n'
    )
    model = Trainer(read_run(path), splits, tmp_path / "run").model
    scores = [o.scores for o in model.order([Puzzle(SENTENCES)])]
    theirs = [o.scores for o in Orderer.from_pretrained().backend.order([Puzzle(SENTENCES)])]
    # int8, whose activations are rounded too, against float32 on its weights.
    assert np.corrcoef(scores[0], theirs[0])[0, 1] > 0.98


# Exports


def test_what_is_exported_says_the_same_as_pytorch(place, puzzles):
    _, model = load_model(place / "run")
    exported = ExportedModel.load(place / "float32")
    for ours, theirs in zip(tables(exported, puzzles), tables(model, puzzles), strict=True):
        for own, other in zip(ours, theirs, strict=True):
            assert own == pytest.approx(other, rel=1e-3, abs=1e-4)
    ours, theirs = exported.order(puzzles), model.order(puzzles)
    assert [o.order for o in ours] == [o.order for o in theirs]
    assert [o.weights for o in ours] == [o.weights for o in theirs]


def test_in_int8_all_heads_are_near(place, puzzles):
    exact = tables(ExportedModel.load(place / "float32"), puzzles)
    near = tables(ExportedModel.load(place / "int8"), puzzles)
    for head in range(3):
        errors = [np.abs(a[head] - b[head]).max() for a, b in zip(exact, near, strict=True)]
        spread = np.concatenate([some[head].ravel() for some in exact]).std()
        assert 0 < max(errors) < 0.5 * spread


@pytest.mark.parametrize("form", ["float32", "int8"])
def test_a_document_is_answered_alone_as_among_others(place, puzzles, form):
    exported = ExportedModel.load(place / form)
    for puzzle, among in zip(puzzles, tables(exported, puzzles), strict=True):
        for own, other in zip(tables(exported, [puzzle])[0], among, strict=True):
            assert own == pytest.approx(other, abs=1e-4)


@pytest.mark.parametrize("form", ["float32", "int8"])
def test_any_number_of_sentences_is_ordered(place, form):
    orderer = Orderer.from_pretrained(place / form)
    for n in (1, 2, 13, 40, 150):
        sentences = [f"we go out on day {i}" for i in range(n)]
        ordering = orderer.order(sentences, passes=2)
        assert sorted(ordering.sentences) == sorted(sentences)
        assert 0 <= ordering.confidence <= 1


@pytest.mark.parametrize("form", ["float32", "int8"])
def test_what_was_exported_can_go_on_learning(place, form, documents, tmp_path):
    run, model = load_model(place / "run")
    again = run.model_copy(update={"start": str(place / form)})
    trainer = Trainer(again, Corpus(documents, documents, documents), tmp_path)
    kept, own = model.state_dict(), trainer.model.state_dict()
    assert kept.keys() == own.keys()
    for name, weight in kept.items():
        near = weight.abs().max() / 126 + 1e-6 if form == "int8" else 0
        assert (weight - own[name]).abs().max() <= near, name
    first = trainer.learner.step([shuffle(document, 0) for document in documents])
    assert first.loss < 3  # of three losses that begin near 10: it knows what it has learned


def test_the_export_says_how_near_each_head_came(place):
    facts = json.loads((place / "int8" / "export.json").read_text())
    for name in ("scores", "before", "next"):
        assert facts["compared"][name]["documents"] == facts["compared"]["documents"]
        assert facts["compared"][name]["tau"] - facts["compared"][name]["exported"] <= 0.005


@pytest.mark.parametrize("int8", [False, True])
@pytest.mark.parametrize("head", ["scores", "before", "next"])
def test_a_bad_head_is_not_exported(place, documents, tmp_path, head, int8):
    folder = shutil.copytree(place / "float32", tmp_path / "m")
    graph = onnx.load(folder / "model.onnx")
    (last,) = [node for node in graph.graph.node if head in node.output]
    last.output[list(last.output).index(head)] = "turned"
    graph.graph.node.append(onnx.helper.make_node("Neg", ["turned"], [head]))
    onnx.save(graph, folder / "model.onnx")
    _, model = load_model(place / "run")
    with pytest.raises(UserError, match=r"of tau is lost|come out in the same order") as refused:
        export._compared(model, ExportedModel.load(folder), documents, int8)
    if head == "scores":  # which the search for tau does not use
        assert str(refused.value).startswith("by scores alone: ")


def changed(place, folder, change):
    shutil.copytree(place / "float32", folder)
    facts = json.loads((folder / "export.json").read_text())
    change(facts["search"])
    (folder / "export.json").write_text(json.dumps(facts))
    return folder


def test_the_weights_of_the_search_can_be_changed_in_the_export(place, tmp_path):
    def pmr(search):
        search["decode"] = "pmr"
        search["weights"]["pmr"] = {"scores": 0.25, "before": 0, "next": 2}

    exported = ExportedModel.load(changed(place, tmp_path / "m", pmr))
    assert exported.weights == HeadWeights(0.25, 0, 2)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda search: search.clear(), '"weights" must be an object'),
        (lambda search: search.update(decode="speed"), '"speed" must be an object'),
        (lambda search: search.update(decode=[1]), '"decode" must be a string'),
        (lambda search: search["weights"]["tau"].pop("next"), 'lacks the key "next"'),
        (lambda search: search["weights"]["tau"].update(next=11), '"next" must be a number from 0'),
        (lambda search: search["weights"]["tau"].update(next=math.nan), '"next" must be a number'),
    ],
)
def test_wrong_weights_of_the_search_are_refused(place, tmp_path, change, message):
    with pytest.raises(UserError, match=message):
        ExportedModel.load(changed(place, tmp_path / "m", change))


def test_a_graph_with_heads_of_other_shapes_is_refused(place, tmp_path):
    folder = shutil.copytree(place / "float32", tmp_path / "m")
    graph = onnx.load(folder / "model.onnx")
    before, after = (
        next(n for n in graph.graph.node if name in n.output) for name in ("before", "next")
    )
    before.output[0], after.output[0] = "next", "before"
    onnx.save(graph, folder / "model.onnx")
    with pytest.raises(UserError, match="it gives before of the shape"):
        ExportedModel.load(folder).order([Puzzle(SENTENCES)])


def test_scores_that_are_not_numbers_are_refused():
    outputs = Swayed().outputs(SENTENCES)
    for field in ("scores", "before", "next"):
        values = getattr(outputs, field).copy()
        values.flat[1] = np.nan
        with pytest.raises(UserError, match="not finite"):
            decide([replace(outputs, **{field: values})], WEIGHTS)
