import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file

from bert4so.checkpoint import load_model, save_model
from bert4so.errors import UserError
from bert4so.models import MODELS
from tiny import make_encoder


@pytest.fixture
def saved(run, model, tmp_path):
    save_model(tmp_path / "run", run, model)
    return tmp_path / "run"


def test_a_saved_model_orders_the_same(run, model, puzzles, saved):
    again_run, again = load_model(saved)
    assert again_run == run
    assert again.order(puzzles) == model.order(puzzles)
    assert not again.training


def test_a_folder_needs_nothing_from_outside(run, documents, puzzles, tmp_path):
    encoder = make_encoder("bert", tmp_path / "gone")
    own = run
    if "encoder" in type(run.model).model_fields:
        model = run.model.model_copy(update={"encoder": str(encoder)})
        own = run.model_copy(update={"model": model})
    system = MODELS[own.system]
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
    MODELS[run.system].initialize(model, run.model)
    own = model.state_dict()
    for name, pretrained in load_file(encoder / "model.safetensors").items():
        if not name.startswith("pooler."):
            (place,) = (path for path in own if path.endswith(f".{name}"))
            torch.testing.assert_close(own[place], pretrained)


def test_a_folder_that_is_no_model_is_named(tmp_path):
    with pytest.raises(
        UserError, match="no model here: wanted a folder that `bert4so train` wrote"
    ):
        load_model(tmp_path)


def test_broken_weights_are_named(saved):
    weights = saved / "model.safetensors"
    whole = weights.read_bytes()
    weights.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(UserError, match="not a whole weights file"):
        load_model(saved)


def test_weights_of_another_model_are_named(saved):
    weights = saved / "model.safetensors"
    tensors = load_file(weights)
    save_file(tensors, weights)
    with pytest.raises(UserError, match="not weights of bert4so"):
        load_model(saved)
    save_file(tensors, weights, {"bert4so": "2"})
    with pytest.raises(UserError, match="of form 2, but this version reads form 1"):
        load_model(saved)
    name = next(iter(sorted(tensors)))
    save_file({**tensors, name: torch.zeros(3)}, weights, {"bert4so": "1"})
    with pytest.raises(UserError, match=r"is \(3,\), but run.toml describes"):
        load_model(saved)
