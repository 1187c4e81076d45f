"""Validate an ONNX file before loading it: accept only what `bert4so export` writes.

onnxruntime has a large attack surface: loops, functions, custom operators, weights in other files.
An exported model uses little of it. This module reads the protobuf wire format
(https://protobuf.dev/programming-guides/encoding) and rejects every unknown field; it skips weights
by their length. Field numbers are those of onnx.proto
(https://github.com/onnx/onnx/blob/main/onnx/onnx.proto).
"""

import mmap
import struct
from collections.abc import Collection, Iterator, Mapping
from math import prod
from pathlib import Path

from bert4so.errors import UserError, quote

MAX_FILE_BYTES = 2**31 - 1
"""Protobuf's own limit."""

MAX_NODES = 20_000
"""Maximum number of nodes in the graph; BERT-large in int8 has about 2,000."""

MAX_WEIGHTS = 20_000
"""Maximum number of weight tensors."""

MAX_DIMENSIONS = 8
"""Maximum number of dimensions of a weight."""

MAX_SHAPE_VALUE = 1 << 24
"""Largest absolute value in an int64 weight, which a node could use as a shape."""

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
"""Allowed operators by domain: those that the exporter writes, and other numeric ones."""

FLOAT, BOOL, INT64 = 1, 9, 7
BYTES_PER_VALUE = {FLOAT: 4, 2: 1, 3: 1, 6: 4, INT64: 8, BOOL: 1}
"""By ONNX data type: float32, uint8, int8, int32, int64, bool."""

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
"""Data type and number of dimensions of each output: scores only, or also pairs and successors."""

SLICE_ENDS = (2**63 - 1, -(2**63))
"""Also allowed in an int64 weight, as an open end of a slice; invalid as a shape."""

VARINT, LENGTH = 0, 2
FIXED_BYTES = {1: 8, 5: 4}
WIRE_TYPES = {VARINT, LENGTH, *FIXED_BYTES}
"""Wire types, and the size in bytes of those with a fixed size. ONNX has no groups (3 and 4)."""

MAX_COPY_BYTES = 4096
"""Messages shorter than this are copied from the mapped file: bytes are faster to read."""

MALFORMED = "truncated, or not in the ONNX format"

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
"""The allowed fields of each message; "-" marks fields that are not validated."""

FORBIDDEN = {
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
"""Names of some forbidden fields, for error messages."""

View = memoryview | bytes
Value = int | View
Message = Mapping[str, list[Value]]
"""The values of a message by field name."""


class _InvalidError(Exception):
    """The reason why a file is invalid; becomes a UserError."""


def check_onnx(path: Path) -> frozenset[str]:
    """Raise `UserError` for a file that is not safe to load; return the names of its outputs."""
    if not path.is_file():
        raise UserError(f"{path}: no such file")
    size = path.stat().st_size
    if not 0 < size <= MAX_FILE_BYTES:
        raise UserError(f"{path}: must have 1 to {MAX_FILE_BYTES:,} bytes (has {size:,})")
    with path.open("rb") as file:
        # Mapped, so that weights are not read from disk. Closed with its last view.
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    try:
        return _check_model(memoryview(data))
    except (_InvalidError, IndexError) as error:
        reason = MALFORMED if isinstance(error, IndexError) else error
        raise UserError(f"{path}: not a model that `bert4so export` wrote: {reason}") from None


def _check_model(view: View) -> frozenset[str]:
    model = _message(view, "the model", MODEL)
    for opset in model.get("opset", []):
        _known_domain(_message(opset, "the list of operators", OPSET))
    graph = _message(_single(model, "graph"), "the graph", GRAPH)
    for part, limit in (("node", MAX_NODES), ("weight", MAX_WEIGHTS)):
        if len(graph.get(part, [])) > limit:
            raise _InvalidError(
                f"the graph must have at most {limit:,} {part}s (has {len(graph.get(part, [])):,})"
            )
    for node in graph.get("node", []):
        _check_node(_message(node, "a node", NODE))
    for weight in graph.get("weight", []):
        _check_weight(_message(weight, "a weight", TENSOR))
    inputs = dict(_port(value) for value in graph.get("input", []))
    outputs = dict(_port(value) for value in graph.get("output", []))
    if not inputs.items() <= INPUTS.items() or b"ids" not in inputs:
        raise _InvalidError("unexpected inputs of the graph")
    if outputs not in (OUTPUTS, JOINT_OUTPUTS):
        raise _InvalidError("unexpected outputs of the graph")
    return frozenset(name.decode() for name in outputs)


def _known_domain(message: Message) -> frozenset[bytes]:
    """The allowed operators of the domain that a message names."""
    domain = bytes(_view(_single(message, "domain", b"")))
    if domain not in OPERATORS:
        raise _InvalidError(f"operators of the domain {_shown(domain)} are not allowed")
    return OPERATORS[domain]


def _check_node(node: Message) -> None:
    operator = bytes(_view(_single(node, "operator")))
    if operator not in _known_domain(node):
        raise _InvalidError(f"the operator {_shown(operator)} is not allowed")
    for attribute in node.get("attribute", []):
        _message(attribute, "an attribute", ATTRIBUTE)


def _check_weight(weight: Message) -> None:
    dims = [dim for value in weight.get("dims", []) for dim in _integers(value)]
    kind, data = _single(weight, "type"), _view(_single(weight, "data", b""))
    if _int(kind) not in BYTES_PER_VALUE:
        raise _InvalidError(f"a weight has the data type {kind!r}, which is not allowed")
    # The data is at most as long as the file, so this also limits the dimensions.
    if len(dims) > MAX_DIMENSIONS or prod(dims) * BYTES_PER_VALUE[_int(kind)] != len(data):
        raise _InvalidError(f"a weight of shape {quote(dims)} has {len(data):,} bytes")
    if kind == INT64 and data:
        _check_integers(struct.unpack(f"<{len(data) // BYTES_PER_VALUE[INT64]}q", data))


def _check_integers(values: Collection[int]) -> None:
    for value in values:
        if abs(value) > MAX_SHAPE_VALUE and value not in SLICE_ENDS:
            raise _InvalidError(
                f"integers in weights must be at most {MAX_SHAPE_VALUE:,} (got {value})"
            )


def _port(value: Value) -> tuple[bytes, tuple[int, int]]:
    """The name of an input or output, its data type and its number of dimensions."""
    port = _message(value, "an input", PORT)
    whole = _message(_single(port, "type"), "the type of an input", TYPE)
    tensor = _message(_single(whole, "tensor"), "the type of an input", TENSOR_TYPE)
    shape = _message(_single(tensor, "shape"), "the shape of an input", SHAPE)
    kind = _int(_single(tensor, "type")), len(shape.get("dimension", []))
    return bytes(_view(_single(port, "name"))), kind


def _message(value: Value, what: str, known: Mapping[int, str]) -> Message:
    """The fields of a message; raises for fields that are not allowed."""
    # This loop takes most of the time: reading bytes is faster than reading a view.
    view = _view(value)
    data = bytes(view) if len(view) < MAX_COPY_BYTES else view
    message: dict[str, list[Value]] = {}
    at, end = 0, len(data)
    while at < end:
        tag, at = (data[at], at + 1) if data[at] < 0x80 else _varint(data, at)
        name = known.get(tag >> 3)
        if name is None:
            field = FORBIDDEN.get((what, tag >> 3), f"a field {tag >> 3}")
            raise _InvalidError(f"{what} has {field}, which is not allowed")
        number, start = _varint(data, at) if tag & 7 in (VARINT, LENGTH) else (0, at)
        at = start if tag & 7 == VARINT else start + FIXED_BYTES.get(tag & 7, number)
        if at > end or tag & 7 not in WIRE_TYPES:
            raise _InvalidError(MALFORMED)
        if name != "-":
            part = number if tag & 7 == VARINT else data[start:at]
            message.setdefault(name, []).append(part)
    return message


def _varint(data: View, at: int) -> tuple[int, int]:
    """Read an integer; also returns the position after it."""
    value = shift = 0
    while shift <= MAX_VARINT_BITS:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & (2**64 - 1), at
        shift += 7
    raise _InvalidError(MALFORMED)


def _integers(value: Value) -> Iterator[int]:
    """The integers of a repeated field, which may be packed."""
    if isinstance(value, int):
        yield value
        return
    at = 0
    while at < len(value):
        number, at = _varint(value, at)
        yield number


def _single(message: Message, name: str, default: bytes | None = None) -> Value:
    """The value of a field that must occur once: of two values, parsers may take either."""
    values = message.get(name, [])
    if not values and default is not None:
        return default
    if len(values) != 1:
        raise _InvalidError(f"a message has {len(values)} values of the field {name}")
    return values[0]


def _view(value: Value) -> View:
    if isinstance(value, int):
        raise _InvalidError(MALFORMED)
    return value


def _int(value: Value) -> int:
    if not isinstance(value, int):
        raise _InvalidError(MALFORMED)
    return value


def _shown(name: bytes) -> str:
    return quote(name.decode(errors="backslashreplace"))
