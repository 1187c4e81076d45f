"""An ONNX graph in int8, such that no row of it depends on another.

The usual dynamic quantization scales all activations of a batch by the greatest of them, so that a
document's answer would depend on its batch-mates. Here each token has a scale of its own:

    x W  ~  (round(x / s) Q) * s * t       s = max|x| / 127 of the token, t of the column of W

Weights are kept in 7 bits (-63 to 63): on CPUs without VNNI two products are added in 16 bits,
which 255 * 127 * 2 does not fit.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto
from onnx.helper import get_attribute_value, make_node, make_opsetid
from onnx.numpy_helper import from_array, to_array

FEW = 10_000
"""Weights of fewer numbers stay as they are."""

CONTRIBUTED = "com.microsoft"
"""Where onnxruntime keeps operators of its own."""

UNITS, SCALE, TURNED = ".int8", ".scale", ".T"
"""What the name of a weight ends with: its whole numbers, their scales, where it is turned."""


def quantized(model: ModelProto) -> ModelProto:
    """The model with its products and its embeddings in int8. The model given is used up."""
    graph = model.graph
    rewriting = _Rewriting({weight.name: weight for weight in graph.initializer})
    nodes = [new for node in graph.node for new in rewriting.rewritten(node)]
    used = {name for node in nodes for name in node.input}
    weights = [w for w in [*graph.initializer, *rewriting.made] if w.name in used]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend(weights)
    model.opset_import.append(make_opsetid(CONTRIBUTED, 1))
    return model


@dataclass
class _Rewriting:
    """The rewriting of one graph.

    weights: those of the graph, by name.
    made:    the new ones.
    tokens:  activations that are in int8 already, by name: their new name and that of their scales.
    """

    weights: dict[str, TensorProto]
    made: list[TensorProto] = field(default_factory=list)
    tokens: dict[str, tuple[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.one = self._constant("int8.one", np.float32(1))
        self.zero = self._constant("int8.zero", np.uint8(128))
        self.greatest = self._constant("int8.greatest", np.float32(127))
        self.least = self._constant("int8.least", np.float32(1e-9))
        self.last = self._constant("int8.last", np.array([-1]))

    def rewritten(self, node: NodeProto) -> Iterator[NodeProto]:
        """What stands in the place of a node."""
        if node.op_type == "MatMul" and self._is_large(node.input[1]):
            x, w = node.input
            yield from self._product(x, w, to_array(self.weights[w]), node.output[0])
        elif node.op_type == "Gemm" and self._is_large(node.input[1]):
            yield from self._affine(node)
        elif node.op_type == "Gather" and self._is_large(node.input[0]):
            yield from self._lookup(node)
        else:
            yield node

    def _affine(self, node: NodeProto) -> Iterator[NodeProto]:
        """A product and, where there is a b, a sum in one: x W + b."""
        (x, w, *b), (y,) = node.input, node.output
        asked = {attribute.name: get_attribute_value(attribute) for attribute in node.attribute}
        assert (asked.get("alpha", 1), asked.get("beta", 1), asked.get("transA", 0)) == (1, 1, 0)
        weight = to_array(self.weights[w])
        product = f"{y}.product" if b else y
        if asked.get("transB"):
            w, weight = f"{w}{TURNED}", weight.T
        yield from self._product(x, w, weight, product)
        if b:
            yield make_node("Add", [product, *b], [y])

    def _product(self, x: str, w: str, weight: NDArray[np.float32], y: str) -> Iterator[NodeProto]:
        """Of activations and a weight, by their names: x W."""
        if x not in self.tokens:
            yield from self._to_int8(x)
        tokens, scales = self.tokens[x]
        units, columns = in_bits(weight, greatest=63, axis=0)
        yield make_node(
            "MatMulIntegerToFloat",
            [
                tokens,
                self._constant(f"{w}{UNITS}", units),
                self.one,
                self._constant(f"{w}{SCALE}", columns),
                self.zero,
            ],
            [f"{y}.unscaled"],
            domain=CONTRIBUTED,
        )
        yield make_node("Mul", [f"{y}.unscaled", scales], [y])

    def _to_int8(self, x: str) -> Iterator[NodeProto]:
        """Activations in int8, each token by its own scale."""
        name = {part: f"{x}.{part}" for part in ("abs", "max", "top", "per", "units", "int8")}
        scale = f"{x}.scale"
        yield make_node("Abs", [x], [name["abs"]])
        yield make_node("ReduceMax", [name["abs"], self.last], [name["max"]], keepdims=1)
        yield make_node("Max", [name["max"], self.least], [name["top"]])
        yield make_node("Div", [self.greatest, name["top"]], [name["per"]])
        yield make_node("Mul", [x, name["per"]], [name["units"]])
        yield make_node("QuantizeLinear", [name["units"], self.one, self.zero], [name["int8"]])
        yield make_node("Div", [name["top"], self.greatest], [scale])
        self.tokens[x] = name["int8"], scale

    def _lookup(self, node: NodeProto) -> Iterator[NodeProto]:
        """Embeddings in int8, each with a scale of its own."""
        (table, ids), (y,) = node.input, node.output
        units, scales = in_bits(to_array(self.weights[table]), greatest=127, axis=1)
        units_name = self._constant(f"{table}{UNITS}", units)
        scales_name = self._constant(f"{table}{SCALE}", scales[:, None])
        yield make_node("Gather", [units_name, ids], [f"{y}.int8"])
        yield make_node("Gather", [scales_name, ids], [f"{y}.scale"])
        yield make_node("Cast", [f"{y}.int8"], [f"{y}.units"], to=TensorProto.FLOAT)
        yield make_node("Mul", [f"{y}.units", f"{y}.scale"], [y])

    def _is_large(self, name: str) -> bool:
        weight = self.weights.get(name)
        return weight is not None and len(weight.dims) == 2 and np.prod(weight.dims) > FEW

    def _constant(self, name: str, value: NDArray[np.generic] | np.generic) -> str:
        self.made.append(from_array(np.asarray(value), name))
        return name


def in_bits(
    weight: NDArray[np.float32], greatest: int, axis: int
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Whole numbers, and the scale of each line along the axis: their product is the weight."""
    tops = np.abs(weight).max(axis, keepdims=True)
    scale = np.where(tops > 0, tops, 1) / greatest
    units = np.rint(weight / scale).astype(np.int8)
    return units, scale.squeeze(axis).astype(np.float32)
