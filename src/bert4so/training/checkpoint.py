"""A trained model on disk. Its folder contains data only: nothing is executed or unpickled.

run.toml            the configuration, including defaults
model.safetensors   the weights
input/              tokenizer or vocabulary, and the encoder's configuration
"""

import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save

from bert4so.config.schema import RunConfig
from bert4so.config.toml import dump_toml
from bert4so.errors import UserError, quote
from bert4so.io.atomic import write_atomic
from bert4so.io.model_files import first_line
from bert4so.modeling.base import OrderingModel
from bert4so.modeling.inputs.joined_input import JoinedInput
from bert4so.systems.run_config import read_run
from bert4so.systems.saved_model import Tensors, build_saved
from bert4so.text.packing import Packer

FORMAT = "1"
"""The format of the folder; others are refused."""

TYPES = {torch.float32: "F32", torch.int64: "I64", torch.bool: "BOOL"}
"""Names of data types in safetensors."""


def save_model(folder: Path, run: RunConfig, model: OrderingModel[Any]) -> None:
    """Write a model. The weights come last: if they exist, the folder is complete.

    The model's input does not change during training and is written only once.
    """
    if not (folder / "input").exists():
        save_input(folder, model)
    write_atomic(folder / "run.toml", dump_toml(run).encode())
    tensors = {name: tensor.contiguous().cpu() for name, tensor in model.state_dict().items()}
    # One key: safetensors writes several in random order, and equal models must be equal files.
    facts = {"bert4so": f"{FORMAT} {_checksum(tensors)}"}
    write_atomic(folder / "model.safetensors", save(tensors, facts))


def save_input(folder: Path, model: OrderingModel[Any]) -> None:
    """Write the input of a model, in place of what is there."""
    partial = folder / "input.partial"
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    model.input.save(partial)
    shutil.rmtree(folder / "input", ignore_errors=True)
    partial.rename(folder / "input")


def load_run(folder: Path) -> RunConfig:
    """Read the configuration of the run that trained the model of a folder."""
    weights = folder / "model.safetensors"
    if not weights.is_file() or not (folder / "run.toml").is_file():
        raise UserError(f"{folder}: no model here: must be a folder that `bert4so train` wrote")
    _check_format(weights)
    return read_run(folder / "run.toml")


def load_model(folder: Path) -> tuple[RunConfig, OrderingModel[Any]]:
    """Load the model of a folder, ready to order, and the configuration of its run."""
    run, weights = load_run(folder), folder / "model.safetensors"
    model = build_saved(run, folder / "input", lambda described: _check_shapes(weights, described))
    model.load_state_dict(load_weights(weights))
    model.place = str(folder)
    return run, model.eval()


def load_weights(weights: Path) -> Tensors:
    """The weights of a file, compared with its checksum; files of older versions have none."""
    checksum = _check_format(weights)
    tensors = load_file(weights)
    if checksum and checksum != _checksum(tensors):
        raise UserError(f"{weights}: damaged: its contents do not match its checksum")
    return tensors


def _checksum(tensors: Tensors) -> str:
    """SHA-256 of the names and values of all weights."""
    digest = hashlib.sha256()
    for name in sorted(tensors):
        digest.update(name.encode() + tensors[name].numpy().tobytes())
    return digest.hexdigest()


def _check_format(weights: Path) -> str:
    """Refuse an incomplete file or another format; return the checksum, if there is one."""
    try:
        with safe_open(weights, framework="pt") as file:
            facts: str | None = (file.metadata() or {}).get("bert4so")
    except (SafetensorError, OSError) as error:
        raise UserError(f"{weights}: not a complete weights file: {first_line(error)}") from None
    if facts is None:
        raise UserError(f"{weights}: not weights of bert4so: must be written by `bert4so train`")
    version, _, checksum = facts.partition(" ")
    if version != FORMAT:
        raise UserError(
            f"{weights}: has format {quote(version)}, but this version reads format {FORMAT}: "
            "pip install --upgrade bert4so"
        )
    return checksum


def _check_shapes(weights: Path, described: Tensors) -> None:
    """Raise `UserError` unless the weights match the described model; loads none of them."""
    with safe_open(weights, framework="pt") as file:
        slices = {name: file.get_slice(name) for name in file.keys()}  # noqa: SIM118
        stored = {name: _shown(s.get_dtype(), s.get_shape()) for name, s in slices.items()}
    expected = {name: _shown(TYPES.get(t.dtype, ""), t.shape) for name, t in described.items()}
    for name in sorted(stored.keys() | expected.keys()):
        if stored.get(name) != expected.get(name):
            actual, model = stored.get(name, "missing"), expected.get(name, "no such weight")
            raise UserError(
                f"{weights}: {quote(name)} is {actual}, but run.toml and input/ describe {model}"
            )


def _shown(kind: str, shape: Sequence[int]) -> str:
    return f"{kind} {quote(list(shape))}"


def set_threads(threads: int | None) -> None:
    """Set the number of PyTorch's threads in this process; None leaves it unchanged."""
    if threads is not None:
        torch.set_num_threads(threads)


def packer_of(model: OrderingModel[Any]) -> Packer | None:
    """The packer of a model that reads a document as one row; None for other models."""
    return model.input.packer if isinstance(model.input, JoinedInput) else None
