"""Exported models give the same results without PyTorch, alone and in a batch."""

import shutil
import subprocess
import sys
from contextlib import nullcontext

import numpy as np
import onnx
import pytest

from bert4so import Orderer, Puzzle, UserError
from bert4so.data.corpus import Corpus
from bert4so.data.shuffle import shuffle
from bert4so.export import to_onnx as export
from bert4so.inference.onnx_model import ExportedModel
from bert4so.io.jsonl import write_records
from bert4so.training.checkpoint import load_model
from bert4so.training.trainer import Trainer
from exported import exported_from

TESTED_SYSTEMS = ["bert4so"]
EXPAND_INPUTS = export.expand_inputs
LONG = {"id": "long", "sentences": ["bread " * 9] * 20}


@pytest.fixture(scope="module")
def place(documents, tmp_path_factory):
    return exported_from("bert", documents, tmp_path_factory.mktemp("b"), "float32", "int8")


def scores(backend, puzzles):
    return [np.array(ordering.scores) for ordering in backend.order(puzzles)]


@pytest.mark.parametrize("kind", ["mpnet", "modernbert"])
def test_other_kinds_of_encoders_can_be_exported(kind, documents, puzzles, tmp_path):
    test_the_scores_are_those_of_pytorch(
        exported_from(kind, documents, tmp_path, "float32"), puzzles
    )


def test_the_scores_are_those_of_pytorch(place, puzzles):
    _, model = load_model(place / "run")
    exported = ExportedModel.load(place / "float32")
    for ours, theirs in zip(scores(exported, puzzles), scores(model, puzzles), strict=True):
        assert ours == pytest.approx(theirs, rel=1e-4, abs=1e-5)


def test_the_scores_in_int8_are_close(place, puzzles):
    exact = np.concatenate(scores(ExportedModel.load(place / "float32"), puzzles))
    near = np.concatenate(scores(ExportedModel.load(place / "int8"), puzzles))
    assert 0 < np.abs(near - exact).max() < 0.3 * exact.std()


@pytest.mark.parametrize("form", ["float32", "int8"])
def test_scores_do_not_depend_on_the_other_documents_of_a_batch(place, puzzles, form):
    exported = ExportedModel.load(place / form)
    together = scores(exported, puzzles)
    for puzzle, among in zip(puzzles, together, strict=True):
        assert scores(exported, [puzzle])[0] == pytest.approx(among, abs=1e-5)


@pytest.mark.parametrize("form", ["float32", "int8"])
def test_documents_of_any_length_are_ordered(place, form):
    orderer = Orderer.from_pretrained(place / form)
    for n in (1, 2, 40, 150):
        sentences = [f"we go out on day {i}" for i in range(n)]
        ordering = orderer.order(sentences, passes=2)
        assert sorted(ordering.sentences) == sorted(sentences)
        assert 0 <= ordering.confidence <= 1


@pytest.mark.parametrize("form", ["float32", "int8"])
def test_an_export_can_be_fine_tuned(place, form, documents, tmp_path):
    run, model = load_model(place / "run")
    again = run.model_copy(update={"start": str(place / form)})
    trainer = Trainer(again, Corpus(documents, documents, documents), tmp_path)
    kept, own = model.state_dict(), trainer.model.state_dict()
    assert kept.keys() == own.keys()
    for name, weight in kept.items():
        # The rounding error of int8 is at most half of a 63rd of the maximum of a line.
        near = weight.abs().max() / 126 + 1e-6 if form == "int8" else 0
        assert (weight - own[name]).abs().max() <= near, name
    first = trainer.learner.step([shuffle(document, 0) for document in documents])
    assert first.loss < 1  # it starts from the trained weights


def test_an_export_without_all_weights_cannot_be_fine_tuned(place, documents, tmp_path):
    folder = shutil.copytree(place / "float32", tmp_path / "m")
    graph = onnx.load(folder / "model.onnx")
    for node in graph.graph.node:
        node.input[:] = [name.replace("linear1", "other") for name in node.input]
    for weight in graph.graph.initializer:
        weight.name = weight.name.replace("linear1", "other")
    onnx.save(graph, folder / "model.onnx")
    run, _ = load_model(place / "run")
    with pytest.raises(
        UserError, match=r"lacks the weight document_encoder.layers.layers.0.linear1"
    ):
        Trainer(
            run.model_copy(update={"start": str(folder)}),
            Corpus(documents, documents, documents),
            tmp_path / "run",
        )


def test_check_refuses_a_document_that_does_not_fit_a_row(place):
    with pytest.raises(UserError, match="too long"):
        ExportedModel.load(place / "float32").check(Puzzle(("bread " * 30,) * 40))


@pytest.fixture
def trained_place(place, documents, tmp_path):
    """The folder of a run, and a corpus with one document that does not fit a row."""
    records = [{"id": d.id, "sentences": d.sentences} for d in documents]
    write_records(tmp_path / "valid.jsonl", [LONG, *records])
    return place / "run", tmp_path


def test_the_command_reports_a_comparison_on_documents_that_fit(bert4so, trained_place):
    run, corpus = trained_place
    out = corpus / "out"
    code, printed, err = bert4so("export", run, "--out", out, "--corpus", corpus)
    assert code == 0, err
    assert printed.startswith("100.00% of 20 documents in the same order; tau ")
    assert {path.name for path in out.iterdir()} == {
        *("model.onnx", "tokenizer.json", "layout.json", "config.json", "export.json", "README.md")
    }
    code, _, err = bert4so("export", run, "--out", out, "--corpus", corpus)
    assert (code, "exists" in err) == (2, True)


def test_nothing_is_exported_if_no_document_fits(bert4so, trained_place):
    run, corpus = trained_place
    write_records(corpus / "valid.jsonl", [LONG])
    code, _, err = bert4so("export", run, "--out", corpus / "out", "--corpus", corpus)
    assert (code, "all documents are too long" in err) == (2, True)
    assert not list(corpus.glob("out*"))


@pytest.mark.parametrize("int8", [False, True])
def test_an_export_that_differs_too_much_is_refused_and_removed(
    bert4so, trained_place, monkeypatch, int8
):
    run, corpus = trained_place

    def spoiled(model):
        model = EXPAND_INPUTS(model)
        (last,) = [node for node in model.graph.node if "scores" in node.output]
        last.output[0] = "turned"
        model.graph.node.append(onnx.helper.make_node("Neg", ["turned"], ["scores"]))
        return model

    options = ["--corpus", corpus, *(["--int8"] if int8 else [])]
    monkeypatch.setattr(export, "expand_inputs", spoiled)
    code, _, err = bert4so("export", run, "--out", corpus / "out", *options)
    assert code == 2
    assert ("at most 0.005 in int8" if int8 else "must be the same in float32") in err
    assert not list(corpus.glob("out*"))


@pytest.mark.parametrize(
    "same, exported, int8, near",
    [
        (0.991, 0.75, False, True),
        (0.989, 0.75, False, False),
        (0.5, 0.7451, True, True),
        (0.5, 0.7449, True, False),
        (0.5, 0.8, True, True),
    ],
)
def test_the_limits_of_the_comparison(same, exported, int8, near):
    compared = export.Comparison(documents=100, same=same, tau=0.75, exported=exported)
    with nullcontext() if near else pytest.raises(UserError):
        compared.check(int8)


@pytest.mark.parametrize("run", ["rank-tx-net", "lstm-ptrnet"], indirect=True)
def test_other_systems_are_refused(bert4so, trained, documents, tmp_path):
    records = [{"id": d.id, "sentences": d.sentences} for d in documents]
    write_records(tmp_path / "valid.jsonl", records)
    code, _, err = bert4so("export", trained, "--out", tmp_path / "out")
    assert code == 2
    assert "cannot export this system: only systems that read a document as one row" in err


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("export.json", b"{}", "not written by `bert4so export`"),
        ("export.json", b'{"format": 3}', "has format 3, but this version reads formats 1 and 2"),
        ("model.onnx", b"nothing", "not a model that `bert4so export` wrote"),
        ("tokenizer.json", b"nothing", "not a tokenizer"),
    ],
)
def test_a_damaged_export_is_refused(place, tmp_path, name, content, message):
    shutil.copytree(place / "float32", tmp_path / "m")
    (tmp_path / "m" / name).write_bytes(content)
    with pytest.raises(UserError, match=message):
        Orderer.from_pretrained(tmp_path / "m")


def test_ordering_with_an_export_does_not_load_torch(place):
    code = (
        "import sys; from bert4so import Orderer; "
        f"print(Orderer.from_pretrained({str(place / 'int8')!r}).order(['go', 'eat']).sentences); "
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[1] == "False"
