"""Damaged and hostile model folders: refused in one line, or harmless."""

import json
import os
import shutil
import subprocess
import sys
from contextlib import suppress
from itertools import islice
from pathlib import Path
from random import Random

import onnx
import pytest
import torch

import hostile
from bert4so import UserError
from bert4so.export import quantization
from bert4so.export import to_onnx as export
from bert4so.inference.onnx_check import check_onnx
from bert4so.inference.orderer import Orderer
from bert4so.io.model_files import read_object
from bert4so.systems import SYSTEMS
from bert4so.text.packing import check_patterns
from bert4so.training.checkpoint import load_model, save_model
from conftest import tiny_run
from tiny import make_encoder

TESTED_SYSTEMS = ["bert4so"]
FOLDERS = 30
"""Number of folders of each kind; the torture suite tries hundreds."""

FOR_ONNXRUNTIME = {
    *("nan", "infinite", "large", "flat", "cycle", "no-nodes", "no-weights"),
    *("double", "opset-version", "ir-version"),
}
"""Graphs that `check_onnx` accepts: onnxruntime refuses them, or their outputs are refused."""


@pytest.fixture(scope="module")
def place(documents, tmp_path_factory):
    """A small untrained run and its int8 export; all weights are different."""
    place = tmp_path_factory.mktemp("hostile")
    run = tiny_run("bert4so", make_encoder("bert", place / "e"), place, model={"pooling": "mean"})
    system = SYSTEMS["bert4so"]
    model = system.build(run.model, system.make_input(run.model, documents)).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight += 0.01 * torch.randn_like(weight)
    save_model(place / "good-run", run, model)
    out = place / "good-export"
    out.mkdir()
    model.input.save(out)
    graph = export.stretched(export._graph(model, documents))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(quantization, "FEW", 0)
        onnx.save(quantization.quantized(graph), out / "model.onnx")
    export._write_facts(out, run, {})
    return place


def test_undamaged_folders_are_accepted(place):
    assert hostile.order_with(place / "good-run") == "ordered"
    assert hostile.order_with(place / "good-export") == "ordered"
    assert hostile.start_with(place / "good-export") == "started"


def test_hostile_exports_are_refused_or_harmless(place, tmp_path):
    copies = hostile.hostile_exports(place / "good-export", tmp_path, seed=1)
    folders = list(islice(copies, FOLDERS))
    # In a separate process, which may crash.
    command = [sys.executable, hostile.__file__, "order", *folders]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    outcomes = dict(line.split("\t", 1) for line in done.stdout.splitlines())
    assert list(outcomes) == [folder.name for folder in folders]
    assert len(set(outcomes.values())) > FOLDERS / 3  # different reasons
    assert not (tmp_path / hostile.MARKER).exists()


@pytest.mark.parametrize("seed", [1, 2])
def test_a_run_does_not_start_from_a_hostile_export(place, tmp_path, monkeypatch, seed):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(place / "good-run", tmp_path / "good-run")
    for folder in islice(
        hostile.hostile_exports(place / "good-export", tmp_path, seed), FOLDERS // 2
    ):
        hostile.start_with(folder)
    assert not Path(hostile.MARKER).exists()


def test_hostile_runs_are_refused_or_harmless(place, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for folder in islice(hostile.hostile_runs(place / "good-run", tmp_path, 1), FOLDERS):
        hostile.order_with(folder)
    assert not Path(hostile.MARKER).exists()


@pytest.mark.parametrize("mutations", [hostile.export_mutations, hostile.run_mutations])
def test_a_hundred_mutations_are_chosen_by_seed(mutations):
    names = hostile.chosen(mutations(), Random(7))
    assert len(set(names)) == len(names) == 100
    assert names != hostile.chosen(mutations(), Random(8))


@pytest.mark.parametrize("name", sorted(hostile.GRAPHS.keys() - FOR_ONNXRUNTIME))
def test_a_hostile_graph_is_refused_before_onnxruntime_loads_it(place, tmp_path, name):
    shutil.copy(place / "good-export" / "model.onnx", tmp_path)
    check_onnx(tmp_path / "model.onnx")
    hostile.graph(hostile.GRAPHS[name], tmp_path, Random(0))
    with pytest.raises(UserError, match="not a model that `bert4so export` wrote"):
        check_onnx(tmp_path / "model.onnx")


@pytest.mark.parametrize("name", ["nan", "infinite", "large"])
def test_the_error_for_scores_that_are_not_finite_names_the_folder(place, tmp_path, name):
    folder = shutil.copytree(place / "good-export", tmp_path / "m")
    hostile.graph(hostile.GRAPHS[name], folder, Random(0))
    assert hostile.order_with(folder).startswith(f"{folder}: its scores are not finite numbers")


def test_a_damaged_graph_raises_nothing_but_user_errors(place, tmp_path):
    whole = (place / "good-export" / "model.onnx").read_bytes()
    path, rng = tmp_path / "model.onnx", Random(1)
    for _ in range(200):
        content = bytearray(whole[: rng.choice([len(whole), rng.randrange(1, len(whole))])])
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        path.write_bytes(content)
        with suppress(UserError):
            check_onnx(path)


def test_a_repeated_field_is_refused(place, tmp_path):
    """If a node has two operators, protobuf takes the last."""
    node = onnx.helper.make_node("Identity", ["ids"], ["i"]).SerializeToString()
    node += bytes([4 << 3 | 2, 4]) + b"Loop"
    assert onnx.NodeProto.FromString(node).op_type == "Loop"
    graph = b"\x0a" + bytes([len(node)]) + node
    length = bytes([len(graph) & 0x7F | 0x80, len(graph) >> 7])
    whole = (place / "good-export" / "model.onnx").read_bytes()
    # A second graph is merged into the first.
    (tmp_path / "model.onnx").write_bytes(whole + b"\x3a" + length + graph)
    assert onnx.load(tmp_path / "model.onnx").graph.node[-1].op_type == "Loop"
    with pytest.raises(UserError, match="2 values of the field graph"):
        check_onnx(tmp_path / "model.onnx")
    (tmp_path / "model.onnx").write_bytes(b"\x3a" + length + graph)
    with pytest.raises(UserError, match="2 values of the field operator"):
        check_onnx(tmp_path / "model.onnx")


def test_a_bad_model_is_one_line_and_exit_code_2(bert4so, place, tmp_path):
    folder = shutil.copytree(place / "good-export", tmp_path / "m")
    (folder / "layout.json").write_text('{"cls": 1}')
    code, printed, said = bert4so("order", "--model", folder, stdin="One.\nTwo.\n")
    assert (code, printed, said.count("\n")) == (2, "", 1)
    assert f'{folder / "layout.json"}: lacks the key "sep"' in said


@pytest.mark.parametrize("name", ["nan", "infinite"])
def test_scores_that_are_not_finite_stop_the_command(bert4so, place, tmp_path, name):
    folder = shutil.copytree(place / "good-export", tmp_path / "m")
    hostile.graph(hostile.GRAPHS[name], folder, Random(0))
    (tmp_path / "a.txt").write_text("One.\nTwo.\n")
    out = tmp_path / "out.jsonl"
    for args in ([], ["--passes", 3], ["--out", out]):
        code, printed, said = bert4so("order", tmp_path / "a.txt", "--model", folder, *args)
        assert (code, printed, said.count("\n")) == (2, "", 1)
        assert said.startswith(f"bert4so: {folder}: its scores are not finite numbers")
    assert out.read_text() == ""


def test_training_from_a_bad_export_is_one_line_and_exit_code_2(bert4so, place, tmp_path):
    folder = shutil.copytree(place / "good-export", tmp_path / "m")
    (folder / "config.json").write_text('{"model_type": "bert", "hidden_size": "wide"}')
    for split in ("train", "valid", "test"):
        record = {"id": split, "sentences": hostile.SENTENCES}
        (tmp_path / f"{split}.jsonl").write_text(json.dumps(record) + "\n")
    config = place / "good-run" / "run.toml"
    changes = [f"corpus={tmp_path}", f"start={folder}"]
    args = [part for change in changes for part in ("--set", change)]
    code, printed, said = bert4so("train", config, "--out", tmp_path / "out", *args)
    assert (code, printed, said.count("\n")) == (2, "", 1)
    assert f"start = '{folder}': {folder / 'config.json'}: not a configuration of bert" in said


def test_kernels_and_code_named_in_a_model_config_are_ignored(place, tmp_path):
    folder = shutil.copytree(place / "good-run", tmp_path / "run")
    for mutation in ("kernel", "experts", "auto-map", "trust", "quantization", "dtype", "weights"):
        hostile.config_mutations("input/config.json")[f"config-{mutation}"](folder, Random(0))
    _, model = load_model(folder)
    config = model.sentence_encoder.row.encoder.config
    assert config._attn_implementation == "sdpa"
    assert not hasattr(config, "auto_map")
    assert not hasattr(config, "quantization_config")
    expected = Orderer.from_pretrained(place / "good-run").order(hostile.SENTENCES)
    assert Orderer.from_pretrained(folder).order(hostile.SENTENCES) == expected


@pytest.mark.parametrize(
    "pattern, known",
    [
        # GPT-2 and RoBERTa; Llama 3; XLM-RoBERTa.
        (r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", True),
        (
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|"
            r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
            True,
        ),
        (" {2,}", True),
        ("(a+)+b", False),
    ],
)
def test_only_known_regular_expressions_are_accepted_in_a_tokenizer(pattern, known):
    tokenizer = {"pre_tokenizer": [{"type": "Split", "pattern": {"Regex": pattern}}]}
    if known:
        check_patterns(tokenizer, Path("tokenizer.json"))
    else:
        with pytest.raises(UserError, match="does not know: '"):
            check_patterns(tokenizer, Path("tokenizer.json"))


@pytest.mark.parametrize(
    "content, message",
    [
        (b'{"a": 1, "a": 2}', "a key occurs twice"),
        (b"[1]", r"must hold a JSON object \(got \[1\]\)"),
        (b"\xff", "not UTF-8 text"),
        (b" " * (2**20 + 1), "must have at most 1,048,576 bytes"),
    ],
)
def test_an_invalid_json_file_is_refused(tmp_path, content, message):
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(UserError, match=message):
        read_object(tmp_path / "a.json")


def test_a_pipe_instead_of_a_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "a.json")
    with pytest.raises(UserError, match="no such file"):
        read_object(tmp_path / "a.json")
