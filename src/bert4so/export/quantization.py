"""Quantize an ONNX graph to int8 so that the rows of a batch do not depend on each other.

Common dynamic quantization scales all activations of a batch by their maximum, so a document's
result would depend on the other documents of its batch. Here each token has its own scale:

    x W  ~  (round(x / s) Q) * s * t       s = max|x| / 127 of the token, t of the column of W

Weights use 7 bits (-63 to 63): CPUs without VNNI add two products in 16 bits, which 255 * 127 * 2
would overflow.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto
from onnx.helper import get_attribute_value, make_node, make_opsetid
from onnx.numpy_helper import from_array, to_array

MAX_FLOAT_VALUES = 10_000
"""Weights with at most this many values are not quantized."""

ORT_DOMAIN = "com.microsoft"
"""Domain of onnxruntime's own operators."""

INT8_SUFFIX, SCALE_SUFFIX, TRANSPOSED_SUFFIX = ".int8", ".scale", ".T"
"""Suffixes of names of weights: the integers, their scales, and transposed matrices."""


def quantize(model: ModelProto) -> ModelProto:
    """Quantize the matrix products and the embeddings of a model, in place."""
    graph = model.graph
    rewriting = _Rewriting({weight.name: weight for weight in graph.initializer})
    nodes = [new for node in graph.node for new in rewriting.rewritten(node)]
    used = {name for node in nodes for name in node.input}
    weights = [w for w in [*graph.initializer, *rewriting.made] if w.name in used]
    del graph.node[:], graph.initializer[:]
    graph.node.extend(nodes)
    graph.initializer.extend(weights)
    model.opset_import.append(make_opsetid(ORT_DOMAIN, 1))
    return model


@dataclass
class _Rewriting:
    """The state of rewriting one graph.

    weights: the weights of the graph, by name.
    made:    new weights.
    tokens:  the activations quantized so far, by name: names of their integers and their scales.
    """

    weights: dict[str, TensorProto]
    made: list[TensorProto] = field(default_factory=list)
    tokens: dict[str, tuple[str, str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.one = self._constant("int8.one", np.float32(1))
        self.zero = self._constant("int8.zero", np.uint8(128))
        self.max_integer = self._constant("int8.greatest", np.float32(127))
        self.min_top = self._constant("int8.least", np.float32(1e-9))
        self.last_axis = self._constant("int8.last", np.array([-1]))

    def rewritten(self, node: NodeProto) -> Iterator[NodeProto]:
        """The nodes that replace a node."""
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
        """Replace a Gemm node, x W + b or x W."""
        (x, w, *b), (y,) = node.input, node.output
        options = {attribute.name: get_attribute_value(attribute) for attribute in node.attribute}
        scaled = options.get("alpha", 1), options.get("beta", 1), options.get("transA", 0)
        assert scaled == (1, 1, 0)
        weight = to_array(self.weights[w])
        product = f"{y}.product" if b else y
        if options.get("transB"):
            w, weight = f"{w}{TRANSPOSED_SUFFIX}", weight.T
        yield from self._product(x, w, weight, product)
        if b:
            yield make_node("Add", [product, *b], [y])

    def _product(self, x: str, w: str, weight: NDArray[np.float32], y: str) -> Iterator[NodeProto]:
        """The product x W of activations and a weight, all given by name."""
        if x not in self.tokens:
            yield from self._to_int8(x)
        tokens, scales = self.tokens[x]
        integers, columns = to_integers(weight, maximum=63, axis=0)
        yield make_node(
            "MatMulIntegerToFloat",
            [
                tokens,
                self._constant(f"{w}{INT8_SUFFIX}", integers),
                self.one,
                self._constant(f"{w}{SCALE_SUFFIX}", columns),
                self.zero,
            ],
            [f"{y}.unscaled"],
            domain=ORT_DOMAIN,
        )
        yield make_node("Mul", [f"{y}.unscaled", scales], [y])

    def _to_int8(self, x: str) -> Iterator[NodeProto]:
        """Quantize activations, with one scale per token."""
        name = {part: f"{x}.{part}" for part in ("abs", "max", "top", "per", "units", "int8")}
        scale = f"{x}.scale"
        yield make_node("Abs", [x], [name["abs"]])
        yield make_node("ReduceMax", [name["abs"], self.last_axis], [name["max"]], keepdims=1)
        yield make_node("Max", [name["max"], self.min_top], [name["top"]])
        yield make_node("Div", [self.max_integer, name["top"]], [name["per"]])
        yield make_node("Mul", [x, name["per"]], [name["units"]])
        yield make_node("QuantizeLinear", [name["units"], self.one, self.zero], [name["int8"]])
        yield make_node("Div", [name["top"], self.max_integer], [scale])
        self.tokens[x] = name["int8"], scale

    def _lookup(self, node: NodeProto) -> Iterator[NodeProto]:
        """Quantize embeddings, with one scale per embedding."""
        (table, ids), (y,) = node.input, node.output
        integers, scales = to_integers(to_array(self.weights[table]), maximum=127, axis=1)
        integers_name = self._constant(f"{table}{INT8_SUFFIX}", integers)
        scales_name = self._constant(f"{table}{SCALE_SUFFIX}", scales[:, None])
        yield make_node("Gather", [integers_name, ids], [f"{y}.int8"])
        yield make_node("Gather", [scales_name, ids], [f"{y}.scale"])
        yield make_node("Cast", [f"{y}.int8"], [f"{y}.units"], to=TensorProto.FLOAT)
        yield make_node("Mul", [f"{y}.units", f"{y}.scale"], [y])

    def _is_large(self, name: str) -> bool:
        weight = self.weights.get(name)
        return (
            weight is not None and len(weight.dims) == 2 and np.prod(weight.dims) > MAX_FLOAT_VALUES
        )

    def _constant(self, name: str, value: NDArray[np.generic] | np.generic) -> str:
        self.made.append(from_array(np.asarray(value), name))
        return name


def to_integers(
    weight: NDArray[np.float32], maximum: int, axis: int
) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Integers up to `maximum` and one scale per line along the axis; weight ~ integers * scale."""
    tops = np.abs(weight).max(axis, keepdims=True)
    scale = np.where(tops > 0, tops, 1) / maximum
    integers = np.rint(weight / scale).astype(np.int8)
    return integers, scale.squeeze(axis).astype(np.float32)
