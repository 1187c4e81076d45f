"""A trained model on disk. Everything in its folder is data: nothing is run, nothing unpickled.

run.toml            the configuration, every default spelled out
model.safetensors   the weights
input/              tokenizer or vocabulary, and the encoder's configuration
"""

import shutil
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save

from bert4so.atomic import write_whole
from bert4so.config import Run, dump_toml
from bert4so.errors import UserError
from bert4so.inputs.joined import JoinedInput
from bert4so.model import OrderingModel
from bert4so.models import MODELS
from bert4so.packing import Packer
from bert4so.run import read_run

FORMAT = "1"
"""The form of the folder. A folder of another form is refused, not guessed at."""


def save_model(folder: Path, run: Run, model: OrderingModel[Any]) -> None:
    """Write a model; the weights last, so that where they are, all is.

    Its input, which does not change, is written once.
    """
    if not (folder / "input").exists():
        partial = folder / "input.partial"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        model.input.save(partial)
        partial.rename(folder / "input")
    write_whole(folder / "run.toml", dump_toml(run).encode())
    tensors = {name: tensor.contiguous().cpu() for name, tensor in model.state_dict().items()}
    write_whole(folder / "model.safetensors", save(tensors, {"bert4so": FORMAT}))


def load_run(folder: Path) -> Run:
    """The run that made the model of a folder."""
    weights = folder / "model.safetensors"
    if not weights.is_file() or not (folder / "run.toml").is_file():
        raise UserError(f"{folder}: no model here: wanted a folder that `bert4so train` wrote")
    _check_form(weights)
    return read_run(folder / "run.toml")


def load_model(folder: Path) -> tuple[Run, OrderingModel[Any]]:
    """The model of a folder, ready to order, and the run that made it."""
    run, weights = load_run(folder), folder / "model.safetensors"
    system = MODELS[run.system]
    try:
        # First without memory: what is described may be larger than what is there.
        with torch.device("meta"):
            described = system.build(run.model, system.load_input(folder / "input"))
        _check_shapes(weights, described.state_dict())
        model = system.build(run.model, system.load_input(folder / "input"))
    except (KeyError, TypeError, ValueError, OSError) as error:
        raise UserError(f"{folder / 'input'}: not what `bert4so train` wrote: {error}") from None
    model.load_state_dict(load_file(weights))
    return run, model.eval()


def packer_of(model: OrderingModel[Any]) -> Packer | None:
    """What fills the rows of a model that reads a document as one row; None for the others."""
    return model.input.packer if isinstance(model.input, JoinedInput) else None


def _check_form(weights: Path) -> None:
    """Refuse what is not a whole file of the form that this version reads."""
    try:
        with safe_open(weights, framework="pt") as file:
            form = (file.metadata() or {}).get("bert4so")
    except SafetensorError as error:
        raise UserError(f"{weights}: not a whole weights file: {error}") from None
    if form is None:
        raise UserError(f"{weights}: not weights of bert4so: wanted what `bert4so train` wrote")
    if form != FORMAT:
        raise UserError(
            f"{weights}: of form {form}, but this version reads form {FORMAT}: "
            "pip install --upgrade bert4so"
        )


def _check_shapes(weights: Path, described: dict[str, torch.Tensor]) -> None:
    """Refuse weights that are not those of the model described; nothing of them is loaded."""
    with safe_open(weights, framework="pt") as file:
        found = {name: tuple(file.get_slice(name).get_shape()) for name in file.keys()}  # noqa: SIM118
    wanted = {name: tuple(tensor.shape) for name, tensor in described.items()}
    for name in sorted(found.keys() | wanted.keys()):
        if found.get(name) != wanted.get(name):
            has, asked = found.get(name, "not there"), wanted.get(name, "nothing")
            raise UserError(f"{weights}: {name} is {has}, but run.toml describes {asked}")
