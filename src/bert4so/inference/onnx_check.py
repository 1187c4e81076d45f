"""Refuse an ONNX file that is not like those that `bert4so export` writes, before it is loaded.

onnxruntime has a large surface: loops, functions, custom operators, weights in other files. An
exported model uses little of it. This module reads the protobuf wire format
(https://protobuf.dev/programming-guides/encoding) and accepts only known fields, so that what it
does not know cannot get past it; weights are skipped by their length. The numbers of the fields are
those of onnx.proto (https://github.com/onnx/onnx/blob/main/onnx/onnx.proto).
"""

import mmap
import struct
from collections.abc import Collection, Iterator, Mapping
from math import prod
from pathlib import Path

from bert4so.errors import UserError, quote

MAX_FILE_BYTES = 2**31 - 1
"""The limit of protobuf itself."""

MAX_NODES = 20_000
"""BERT-large in int8 has about 2,000."""

MAX_WEIGHTS = 20_000
"""Tensors."""

MAX_DIMENSIONS = 8
MAX_SHAPE_VALUE = 1 << 24
"""The largest integer among weights, which may be used as a shape."""

OPERATORS = {
    b"": frozenset(
        b"""
        Abs Add And Attention Cast Ceil Clip Concat Conv Cos CumSum DFT Div Equal Erf Exp Expand
        Floor Gather GatherElements GatherND Gelu Gemm Greater GreaterOrEqual Identity
        LayerNormalization Less LessOrEqual Log MatMul Max Min Mul Neg Not Or Pad Pow
        QuantizeLinear RMSNormalization Range Reciprocal ReduceMax ReduceMean ReduceMin ReduceSum
        Relu Reshape RotaryEmbedding Shape Sigmoid Sign Sin Slice Softmax Split Sqrt Squeeze Sub
        Tanh Tile Transpose Unsqueeze Where
        """.split()
    ),
    b"com.microsoft": frozenset([b"MatMulIntegerToFloat"]),
}
"""The operators that the exporter writes, by domain, and others that compute single numbers."""

FLOAT, BOOL, INT64 = 1, 9, 7
BYTES = {FLOAT: 4, 2: 1, 3: 1, 6: 4, INT64: 8, BOOL: 1}
"""Bytes per number of a type: float32, uint8, int8, int32, int64, bool."""

INPUTS = {
    b"ids": (INT64, 2),
    b"real": (BOOL, 2),
    b"segments": (INT64, 2),
    b"starts": (INT64, 2),
    b"owners": (INT64, 2),
    b"mask": (BOOL, 2),
}
OUTPUTS = {b"scores": (FLOAT, 2)}
JOINT_OUTPUTS = {**OUTPUTS, b"before": (FLOAT, 3), b"next": (FLOAT, 3)}
"""The type and the number of dimensions of each output: of graphs that only score, and of graphs
that also say which of two sentences is read first, and which after which."""

UNLIMITED = (2**63 - 1, -(2**63))
"""What the end of a slice may be; as a shape, onnxruntime refuses it."""

VARINT, LENGTH = 0, 2
SIZES = {1: 8, 5: 4}
KINDS = {VARINT, LENGTH, *SIZES}
"""The types of the wire format, and the bytes of those that have a fixed size. Groups (3 and 4) are
not used by ONNX."""

SMALL_BYTES = 4096
MALFORMED = "it is cut off, or not in the format of ONNX"

MAX_VARINT_BITS = 63

MODEL = {1: "ir", 2: "-", 3: "-", 4: "-", 5: "-", 6: "-", 7: "graph", 8: "opset", 14: "-"}
OPSET = {1: "domain", 2: "version"}
GRAPH = {1: "node", 2: "-", 5: "weight", 10: "-", 11: "input", 12: "output", 13: "-", 16: "-"}
NODE = {1: "-", 2: "-", 3: "-", 4: "operator", 5: "attribute", 6: "-", 7: "domain", 9: "-"}
ATTRIBUTE = {1: "-", 2: "-", 3: "-", 4: "-", 7: "-", 8: "-", 13: "-", 20: "-"}
TENSOR = {1: "dims", 2: "type", 8: "-", 9: "data", 12: "-"}
PORT = {1: "name", 2: "type", 3: "-", 4: "-"}
TYPE = {1: "tensor"}
TENSOR_TYPE = {1: "type", 2: "shape"}
SHAPE = {1: "dimension"}
"""The known fields of each message; "-" for those that are not looked at."""

REFUSED = {
    ("the model", 20): "training steps",
    ("the model", 25): "functions",
    ("the graph", 15): "sparse weights",
    ("an attribute", 5): "a tensor",
    ("an attribute", 6): "a graph, as loops and branches have",
    ("an attribute", 10): "tensors",
    ("an attribute", 11): "graphs, as loops and branches have",
    ("a weight", 13): "external data",
    ("a weight", 14): "external data",
}
"""What some fields that are not known would be."""

View = memoryview | bytes
Value = int | View
Message = Mapping[str, list[Value]]
"""The values of a message by the name of their field."""


class _Refused(Exception):  # noqa: N818 (becomes a UserError)
    """Says what is wrong with a file."""


def check_onnx(path: Path) -> frozenset[str]:
    """Refuse a file that onnxruntime should not be given; returns the names of its outputs."""
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    size = path.stat().st_size
    if not 0 < size <= MAX_FILE_BYTES:
        raise UserError(f"{path}: must have 1 to {MAX_FILE_BYTES:,} bytes (has {size:,})")
    with path.open("rb") as file:
        # Mapped, so that the weights are not read. Closed with the last view of it.
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    try:
        return _check_model(memoryview(data))
    except (_Refused, IndexError) as error:
        reason = MALFORMED if isinstance(error, IndexError) else error
        raise UserError(f"{path}: not a model that `bert4so export` wrote: {reason}") from None


def _check_model(view: View) -> frozenset[str]:
    model = _message(view, "the model", MODEL)
    for opset in model.get("opset", []):
        _known_domain(_message(opset, "the list of operators", OPSET))
    graph = _message(_single(model, "graph"), "the graph", GRAPH)
    for part, most in (("node", MAX_NODES), ("weight", MAX_WEIGHTS)):
        if len(graph.get(part, [])) > most:
            raise _Refused(
                f"the graph has {len(graph.get(part, [])):,} {part}s, more than {most:,}"
            )
    for node in graph.get("node", []):
        _check_node(_message(node, "a node", NODE))
    for weight in graph.get("weight", []):
        _check_weight(_message(weight, "a weight", TENSOR))
    inputs = dict(_port(value) for value in graph.get("input", []))
    outputs = dict(_port(value) for value in graph.get("output", []))
    if not inputs.items() <= INPUTS.items() or b"ids" not in inputs:
        raise _Refused("its inputs are not those of rows")
    if outputs not in (OUTPUTS, JOINT_OUTPUTS):
        raise _Refused("its outputs are not those of a system that can be exported")
    return frozenset(name.decode() for name in outputs)


def _known_domain(message: Message) -> frozenset[bytes]:
    """The operators of the domain that a message names, refused where there are none."""
    domain = bytes(_view(_single(message, "domain", b"")))
    if domain not in OPERATORS:
        raise _Refused(f"it uses operators of the domain {_shown(domain)}")
    return OPERATORS[domain]


def _check_node(node: Message) -> None:
    operator = bytes(_view(_single(node, "operator")))
    if operator not in _known_domain(node):
        raise _Refused(f"it uses the operator {_shown(operator)}")
    for attribute in node.get("attribute", []):
        _message(attribute, "an attribute", ATTRIBUTE)


def _check_weight(weight: Message) -> None:
    dims = [dim for value in weight.get("dims", []) for dim in _integers(value)]
    kind, data = _single(weight, "type"), _view(_single(weight, "data", b""))
    if _int(kind) not in BYTES:
        raise _Refused(f"a weight is of the type {kind!r}")
    # The length of the data is that of the file, at most: so are the dimensions.
    if len(dims) > MAX_DIMENSIONS or prod(dims) * BYTES[_int(kind)] != len(data):
        raise _Refused(f"a weight of the shape {quote(dims)} has {len(data):,} bytes")
    if kind == INT64 and data:
        _check_integers(struct.unpack(f"<{len(data) // BYTES[INT64]}q", data))


def _check_integers(values: Collection[int]) -> None:
    for value in values:
        if abs(value) > MAX_SHAPE_VALUE and value not in UNLIMITED:
            raise _Refused(f"a weight has the integer {value}, more than {MAX_SHAPE_VALUE:,}")


def _port(value: Value) -> tuple[bytes, tuple[int, int]]:
    """The name of an input or output, its type and how many dimensions it has."""
    port = _message(value, "an input", PORT)
    whole = _message(_single(port, "type"), "the type of an input", TYPE)
    tensor = _message(_single(whole, "tensor"), "the type of an input", TENSOR_TYPE)
    shape = _message(_single(tensor, "shape"), "the shape of an input", SHAPE)
    kind = _int(_single(tensor, "type")), len(shape.get("dimension", []))
    return bytes(_view(_single(port, "name"))), kind


def _message(value: Value, what: str, known: Mapping[int, str]) -> Message:
    """The fields of a message; one that is not known is refused."""
    # This loop takes most of the time: bytes are read faster than a view of them.
    view = _view(value)
    data = bytes(view) if len(view) < SMALL_BYTES else view
    message: dict[str, list[Value]] = {}
    at, end = 0, len(data)
    while at < end:
        tag, at = (data[at], at + 1) if data[at] < 0x80 else _varint(data, at)
        name = known.get(tag >> 3)
        if name is None:
            raise _Refused(f"{what} has {REFUSED.get((what, tag >> 3), f'a field {tag >> 3}')}")
        number, start = _varint(data, at) if tag & 7 in (VARINT, LENGTH) else (0, at)
        at = start if tag & 7 == VARINT else start + SIZES.get(tag & 7, number)
        if at > end or tag & 7 not in KINDS:
            raise _Refused(MALFORMED)
        if name != "-":
            part = number if tag & 7 == VARINT else data[start:at]
            message.setdefault(name, []).append(part)
    return message


def _varint(data: View, at: int) -> tuple[int, int]:
    """An integer, and where the next field begins."""
    value = shift = 0
    while shift <= MAX_VARINT_BITS:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (2**64 - 1), at
        shift += 7
    raise _Refused(MALFORMED)


def _integers(value: Value) -> Iterator[int]:
    """Integers that stand alone or packed."""
    if isinstance(value, int):
        yield value
        return
    at = 0
    while at < len(value):
        number, at = _varint(value, at)
        yield number


def _single(message: Message, name: str, default: bytes | None = None) -> Value:
    """The value of a field that a message has once: of two, another reader may take the other."""
    values = message.get(name, [])
    if not values and default is not None:
        return default
    if len(values) != 1:
        raise _Refused(f"a message has {len(values)} values of the field {name}")
    return values[0]


def _view(value: Value) -> View:
    if isinstance(value, int):
        raise _Refused(MALFORMED)
    return value


def _int(value: Value) -> int:
    if not isinstance(value, int):
        raise _Refused(MALFORMED)
    return value


def _shown(name: bytes) -> str:
    return quote(name.decode(errors="backslashreplace"))
