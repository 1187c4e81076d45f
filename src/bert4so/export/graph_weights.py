"""Give the weights of an ONNX graph their names in PyTorch, so that exports can be fine-tuned.

PyTorch's exporter transposes the matrix of a linear layer and gives it a number as its name. Here
it is named NAME.T, after its layer. In int8 (see `quantization`) it is stored as NAME.T.int8, with
its scales in NAME.T.scale.
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
from bert4so.export.quantization import INT8_SUFFIX, SCALE_SUFFIX, TRANSPOSED_SUFFIX
from bert4so.inference.onnx_check import check_onnx
from bert4so.io.model_files import first_line

Weights = dict[str, NDArray[np.float32]]


def rename_weights(model: ModelProto, known: Mapping[str, NDArray[np.float32]]) -> ModelProto:
    """Rename the matrices of the graph as in `known`, by their values; changes the model."""
    names = {
        _content(w.T): f"{name}{TRANSPOSED_SUFFIX}" for name, w in known.items() if w.ndim == 2
    }
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


def read_weights(path: Path) -> Weights:
    """Read the weights of a graph by their names in PyTorch, as float32 and not transposed."""
    check_onnx(path)
    try:
        graph = onnx.load(path, load_external_data=False).graph
        stored = {weight.name: to_array(weight) for weight in graph.initializer}
        weights: Weights = {}
        for full, weight in stored.items():
            name = full.removesuffix(INT8_SUFFIX)
            if name != full:
                weight = weight * stored[f"{name}{SCALE_SUFFIX}"]
            own = name.removesuffix(TRANSPOSED_SUFFIX)
            weights[own] = weight if own == name else weight.T
    except Exception as error:  # from protobuf and numpy, if names or shapes do not match
        raise UserError(f"{path}: its weights cannot be read: {first_line(error)}") from None
    return weights


def _content(weight: NDArray[np.float32]) -> tuple[tuple[int, ...], bytes]:
    return weight.shape, sha256(np.ascontiguousarray(weight).tobytes()).digest()
