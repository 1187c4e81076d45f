"""int8 by the formula, in loops: each token has a scale of its own."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
from onnx.numpy_helper import from_array, to_array

from bert4so.export import quantization
from bert4so.export.quantization import in_bits, quantized

TOKENS, WIDTH, OUT, WORDS = 7, 24, 11, 13


@pytest.fixture
def weights(monkeypatch):
    monkeypatch.setattr(quantization, "FEW", 0)
    draw = np.random.default_rng(0)
    product = draw.normal(size=(WIDTH, OUT)).astype(np.float32)
    product[:, 3] = 0  # a column that says nothing
    return product, draw.normal(size=(WORDS, WIDTH)).astype(np.float32)


def session(weights, int8=True):
    """embedding(ids) + x, times the weight."""
    nodes = [
        make_node("Gather", ["table", "ids"], ["found"]),
        make_node("Add", ["found", "x"], ["sum"]),
        make_node("MatMul", ["sum", "w"], ["y"]),
    ]
    inputs = [
        make_tensor_value_info("ids", TensorProto.INT64, ["b", "m"]),
        make_tensor_value_info("x", TensorProto.FLOAT, ["b", "m", WIDTH]),
    ]
    outputs = [make_tensor_value_info("y", TensorProto.FLOAT, ["b", "m", OUT])]
    product, table = weights
    graph = make_graph(
        nodes, "g", inputs, outputs, [from_array(product, "w"), from_array(table, "table")]
    )
    model = make_model(graph, opset_imports=[make_opsetid("", 21)], ir_version=10)
    model = quantized(model) if int8 else model
    return model, onnxruntime.InferenceSession(model.SerializeToString())


def given(seed=1):
    draw = np.random.default_rng(seed)
    x = draw.normal(size=(1, TOKENS, WIDTH)).astype(np.float32)
    x[0, 2] *= 1000  # a token much louder than the others
    return {"ids": draw.integers(0, WORDS, (1, TOKENS)), "x": x}


def test_a_product_by_hand(weights):
    product, table = weights
    feed = given()
    (found,) = session(weights)[1].run(None, feed)
    for t in range(TOKENS):
        row = table[feed["ids"][0, t]]
        row = np.rint(row / (np.abs(row).max() / 127)) * (np.abs(row).max() / 127)
        x = row + feed["x"][0, t]
        s = max(abs(value) for value in x) / 127
        for k in range(OUT):
            top = max(abs(product[i, k]) for i in range(WIDTH)) or 63
            total = sum(round(x[i] / s) * round(product[i, k] / (top / 63)) for i in range(WIDTH))
            # Where x / s is all but a half, float32 may round it to the other side.
            assert found[0, t, k] == pytest.approx(total * s * top / 63, abs=1.01 * float(s * top))


def test_it_is_near_the_product_in_float32(weights):
    feed = given()
    (near,), (exact,) = (
        session(weights)[1].run(None, feed),
        session(weights, False)[1].run(None, feed),
    )
    loudness = np.abs(exact).max(-1, keepdims=True)
    assert np.abs((near - exact) / loudness).max() < 0.03


def test_a_token_does_not_depend_on_its_neighbors(weights):
    _, run = session(weights)
    feed = given()
    (together,) = run.run(None, feed)
    for t in range(TOKENS):
        (alone,) = run.run(None, {name: value[:, t : t + 1] for name, value in feed.items()})
        assert (alone[0, 0] == together[0, t]).all()


def test_a_token_of_zeros_stays_a_number(weights):
    product, table = weights
    feed = given() | {"x": -table[given()["ids"]]}
    (found,) = session((product, table))[1].run(None, feed)
    assert np.isfinite(found).all()


def test_two_products_fit_16_bits(weights):
    model, _ = session(weights)
    kept = {weight.name: to_array(weight) for weight in model.graph.initializer}
    assert kept["w.int8"].dtype == np.int8
    assert 255 * 2 * int(np.abs(kept["w.int8"]).max()) < 2**15
    assert "w" not in kept
    assert "table" not in kept


@pytest.mark.parametrize("greatest", [63, 127])
def test_the_greatest_of_each_line_is_kept(greatest):
    weight = np.random.default_rng(3).normal(size=(5, 9)).astype(np.float32)
    for axis in (0, 1):
        units, scale = in_bits(weight, greatest, axis)
        back = units * np.expand_dims(scale, axis)
        assert (np.abs(units).max(axis) == greatest).all()
        assert (np.abs(back - weight) <= 0.5001 * np.expand_dims(scale, axis)).all()


@pytest.mark.parametrize("turned", [0, 1])
@pytest.mark.parametrize("raised", [0, 1])
def test_a_product_with_a_sum_is_the_product_and_the_sum(weights, turned, raised):
    product, _ = weights
    x = given()["x"][0]
    bias = raised * np.arange(OUT, dtype=np.float32)
    weight = np.ascontiguousarray(product.T) if turned else product
    graph = make_graph(
        [make_node("Gemm", ["x", "w", *["b"] * raised], ["y"], transB=turned)],
        "g",
        [make_tensor_value_info("x", TensorProto.FLOAT, ["m", WIDTH])],
        [make_tensor_value_info("y", TensorProto.FLOAT, ["m", OUT])],
        [from_array(weight, "w"), from_array(bias, "b")],
    )
    model = quantized(make_model(graph, opset_imports=[make_opsetid("", 21)], ir_version=10))
    assert "Gemm" not in {node.op_type for node in model.graph.node}
    (found,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    for t in range(TOKENS):
        s = max(abs(value) for value in x[t]) / 127
        for k in range(OUT):
            top = max(abs(product[i, k]) for i in range(WIDTH)) or 63
            total = sum(
                round(x[t, i] / s) * round(product[i, k] / (top / 63)) for i in range(WIDTH)
            )
            wanted = total * s * top / 63 + bias[k]
            assert found[t, k] == pytest.approx(wanted, abs=1.01 * float(s * top))
