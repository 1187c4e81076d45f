"""A trained model on disk. Everything in its folder is data: nothing is run, nothing unpickled.

run.toml            the configuration, every default spelled out
model.safetensors   the weights
input/              tokenizer or vocabulary, and the encoder's configuration
"""

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save

from bert4so.atomic import write_whole
from bert4so.config import Run, dump_toml
from bert4so.errors import UserError
from bert4so.model import OrderingModel
from bert4so.models import MODELS
from bert4so.run import read_run

FORMAT = "1"
"""The form of the folder. A folder of another form is refused, not guessed at."""


def save_model(folder: Path, run: Run, model: OrderingModel[Any]) -> None:
    """Write a model; the weights last, so that where they are, all is."""
    (folder / "input").mkdir(parents=True, exist_ok=True)
    model.input.save(folder / "input")
    write_whole(folder / "run.toml", dump_toml(run).encode())
    tensors = {name: tensor.contiguous().cpu() for name, tensor in model.state_dict().items()}
    write_whole(folder / "model.safetensors", save(tensors, {"bert4so": FORMAT}))


def load_model(folder: Path) -> tuple[Run, OrderingModel[Any]]:
    """The model of a folder, ready to order, and the run that made it."""
    weights = folder / "model.safetensors"
    if not weights.is_file() or not (folder / "run.toml").is_file():
        raise UserError(f"{folder}: no model here: wanted a folder that `bert4so train` wrote")
    run = read_run(folder / "run.toml")
    system = MODELS[run.system]
    tensors = _read(weights)
    model = system.build(run.model, system.load_input(folder / "input"))
    own = model.state_dict()
    for name in own.keys() | tensors.keys():
        found, wanted = (t[name].shape if name in t else None for t in (tensors, own))
        if found != wanted:
            raise UserError(f"{weights}: {name} is {found}, but run.toml describes {wanted}")
    model.load_state_dict(tensors)
    return run, model.eval()


def _read(weights: Path) -> dict[str, torch.Tensor]:
    try:
        with safe_open(weights, framework="pt") as file:
            form = (file.metadata() or {}).get("bert4so")
            if form != FORMAT:
                raise UserError(f"{weights}: form {form}: this version reads form {FORMAT}")
            return {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise UserError(f"{weights}: not a whole weights file: {error}") from None
