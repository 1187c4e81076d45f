"""Load the PyTorch model of an exported folder, to fine-tune it."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from bert4so.config.schema import RunConfig
from bert4so.errors import UserError, quote
from bert4so.export.graph_weights import Weights, read_weights
from bert4so.inference.onnx_model import check_format
from bert4so.modeling.base import OrderingModel
from bert4so.systems.run_config import make_run
from bert4so.systems.saved_model import build_saved

PREFIX = "model."
"""Prefix of all names of weights in an export; from the field of `to_onnx._Heads`."""


def load_exported(folder: Path) -> tuple[RunConfig, OrderingModel[Any]]:
    """Load the PyTorch model of an exported folder, which may be untrusted, to fine-tune it."""
    path = folder / "export.json"
    values = check_format(path).get("run")
    if not isinstance(values, dict):
        raise UserError(f'{path}: "run" must be an object (got {quote(values)})')
    run, stored = make_run(values, str(path)), read_weights(folder / "model.onnx")
    model = build_saved(run, folder, lambda described: _check_weights(folder, stored, described))
    weights = {name: torch.tensor(stored[f"{PREFIX}{name}"]) for name in model.state_dict()}
    model.load_state_dict(weights)
    model.place = str(folder)
    return run, model


def _check_weights(folder: Path, stored: Weights, described: dict[str, Tensor]) -> None:
    """Raise `UserError` unless the export has all weights of the described model."""
    for name, weight in described.items():
        own = stored.get(f"{PREFIX}{name}")
        if own is None:
            raise UserError(f"{folder}: cannot fine-tune: the export lacks the weight {name}")
        if own.shape != weight.shape:
            raise UserError(
                f"{folder}: cannot fine-tune: the weight {name} has shape {own.shape}, but "
                f"export.json and config.json describe {tuple(weight.shape)}"
            )
