"""The weights in an ONNX graph by the names they have in PyTorch, so that what was exported can go
on learning.

The exporter turns the matrix of a linear layer, and calls it by a number. Here it is called NAME.T
again; in int8 (`quantization`) it is NAME.T.int8, beside its scales, NAME.T.scale.
"""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import ModelProto
from onnx.numpy_helper import to_array

from bert4so.errors import UserError
from bert4so.export.quantization import SCALE, TURNED, UNITS
from bert4so.inference.onnx_check import check_onnx
from bert4so.io.model_files import first_line

Weights = dict[str, NDArray[np.float32]]


def named(model: ModelProto, known: Mapping[str, NDArray[np.float32]]) -> ModelProto:
    """The model with its matrices called as in `known`."""
    names = {_content(w.T): f"{name}{TURNED}" for name, w in known.items() if w.ndim == 2}
    names |= {_content(w): name for name, w in known.items() if w.ndim == 2}
    taken = {weight.name for weight in model.graph.initializer}
    new: dict[str, str] = {}
    for weight in model.graph.initializer:
        name = names.get(_content(to_array(weight)))
        if weight.name not in known and name is not None and name not in taken:
            new[weight.name] = weight.name = name
            taken.add(name)
    for node in model.graph.node:
        node.input[:] = [new.get(name, name) for name in node.input]
    return model


def weights_of(path: Path) -> Weights:
    """The weights of a graph by name, in float32 and not transposed."""
    check_onnx(path)
    try:
        graph = onnx.load(path, load_external_data=False).graph
        stored = {weight.name: to_array(weight) for weight in graph.initializer}
        weights: Weights = {}
        for full, weight in stored.items():
            name = full.removesuffix(UNITS)
            if name != full:
                weight = weight * stored[f"{name}{SCALE}"]
            own = name.removesuffix(TURNED)
            weights[own] = weight if own == name else weight.T
    except Exception as error:  # of protobuf and numpy, for names and shapes that do not match
        raise UserError(f"{path}: its weights cannot be read: {first_line(error)}") from None
    return weights


def _content(weight: NDArray[np.float32]) -> tuple[tuple[int, ...], bytes]:
    return weight.shape, sha256(np.ascontiguousarray(weight).tobytes()).digest()
