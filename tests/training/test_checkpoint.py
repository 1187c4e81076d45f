import hashlib
import json
import re
import shutil

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from bert4so.errors import UserError
from bert4so.systems import SYSTEMS
from bert4so.training.checkpoint import load_model, save_model
from tiny import make_encoder


@pytest.fixture
def saved(run, model, tmp_path):
    save_model(tmp_path / "run", run, model)
    return tmp_path / "run"


def test_a_saved_model_gives_the_same_orderings(run, model, puzzles, saved):
    again_run, again = load_model(saved)
    assert again_run == run
    assert again.order(puzzles) == model.order(puzzles)
    assert not again.training


def test_a_saved_model_needs_no_files_outside_its_folder(run, documents, puzzles, tmp_path):
    encoder = make_encoder("bert", tmp_path / "gone")
    own = run
    if "encoder" in type(run.model).model_fields:
        model = run.model.model_copy(update={"encoder": str(encoder)})
        own = run.model_copy(update={"model": model})
    system = SYSTEMS[own.system]
    model = system.build(own.model, system.make_input(own.model, documents))
    save_model(tmp_path / "run", own, model)
    shutil.rmtree(encoder)
    shutil.move(tmp_path / "run", tmp_path / "elsewhere")
    _, again = load_model(tmp_path / "elsewhere")
    assert again.order(puzzles) == model.order(puzzles)


def test_training_starts_from_the_pretrained_weights(run, model, encoder):
    if "encoder" not in type(run.model).model_fields:
        pytest.skip("it has no encoder")
    with torch.no_grad():
        for weight in model.parameters():
            weight.zero_()
    SYSTEMS[run.system].initialize(model, run.model)
    own = model.state_dict()
    for name, pretrained in load_file(encoder / "model.safetensors").items():
        if not name.startswith("pooler."):
            (place,) = (path for path in own if path.endswith(f".{name}"))
            torch.testing.assert_close(own[place], pretrained)


def test_the_error_names_a_folder_without_a_model(tmp_path):
    with pytest.raises(
        UserError, match="no model here: must be a folder that `bert4so train` wrote"
    ):
        load_model(tmp_path)


def test_incomplete_weights_are_refused(saved):
    weights = saved / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match="not a complete weights file"):
        load_model(saved)


def test_weights_of_another_model_are_refused(saved):
    weights = saved / "model.safetensors"
    tensors = load_file(weights)
    save_file(tensors, weights)
    with pytest.raises(UserError, match="not weights of bert4so"):
        load_model(saved)
    save_file(tensors, weights, {"bert4so": "2"})
    with pytest.raises(UserError, match="has format '2', but this version reads format 1"):
        load_model(saved)
    name = next(iter(sorted(tensors)))
    save_file({**tensors, name: torch.zeros(3)}, weights, {"bert4so": "1"})
    with pytest.raises(UserError, match=r"is F32 \[3\], but run.toml and input/ describe F32 \["):
        load_model(saved)


def test_the_error_for_weights_that_are_not_finite_names_the_folder(run, model, puzzles, tmp_path):
    with torch.no_grad():
        for weight in model.decoder.parameters():
            weight.fill_(torch.nan)
    save_model(tmp_path / "run", run, model)
    _, again = load_model(tmp_path / "run")
    with pytest.raises(UserError, match=f"^{tmp_path / 'run'}: its scores are not finite numbers"):
        again.order(puzzles)


def test_weights_of_another_type_are_refused(saved):
    tensors = load_file(saved / "model.safetensors")
    halves = {name: tensor.half() for name, tensor in tensors.items()}
    save_file(halves, saved / "model.safetensors", {"bert4so": "1"})
    with pytest.raises(UserError, match=r"is F16 \[.*describe F32 \["):
        load_model(saved)


@pytest.mark.parametrize("content", [b"", b"{}", b"[[1]]", b"9" * 5000, b"[" * 10_000, b"\xff"])
def test_the_error_names_a_damaged_file_of_the_input(saved, content):
    for path in sorted((saved / "input").iterdir()):
        whole = path.read_bytes()
        path.write_bytes(content)
        with pytest.raises(UserError, match=re.escape(str(saved / "input"))) as error:
            load_model(saved)
        assert "\n" not in str(error.value)
        path.write_bytes(whole)
    load_model(saved)


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("words.json", {"max_words": 0}, '"max_words" must be an integer from 1 to'),
        ("words.json", {"max_words": True}, '"max_words" must be an integer from 1 to'),
        ("rows.json", {"max_pieces": 1e9}, '"max_pieces" must be an integer from 1 to'),
        ("pairs.json", {"both_directions": 1}, '"both_directions" must be true or false'),
        ("graph.json", {"tagger": None}, '"tagger" must be a string'),
        ("vocabulary.json", ["a", 1], "must hold a list of strings"),
        ("vocabulary.json", ["a"], r"vectors.*weight' is F32 .* describe F32 \[3, "),
    ],
)
def test_the_error_names_a_wrong_value_in_the_input(saved, name, content, message):
    path = saved / "input" / name
    if not path.exists():
        pytest.skip("it has no such file")
    path.write_text(json.dumps(content))
    with pytest.raises(UserError, match=message):
        load_model(saved)


def test_a_flipped_bit_in_the_weights_is_detected(saved):
    weights = saved / "model.safetensors"
    content = bytearray(weights.read_bytes())
    content[-1] ^= 1
    weights.write_bytes(content)
    with pytest.raises(UserError, match="damaged: its contents do not match its checksum"):
        load_model(saved)


def test_the_checksum_is_of_names_and_values(saved):
    with safe_open(saved / "model.safetensors", framework="pt") as file:
        digest = hashlib.sha256()
        for name in sorted(file.keys()):
            digest.update(name.encode())
            for value in file.get_tensor(name).flatten():
                digest.update(value.numpy().tobytes())
        assert file.metadata() == {"bert4so": f"1 {digest.hexdigest()}"}


def test_equal_models_are_equal_files(run, model, tmp_path):
    for number in range(8):
        save_model(tmp_path / str(number), run, model)
    contents = {path.read_bytes() for path in tmp_path.glob("*/model.safetensors")}
    assert len(contents) == 1
