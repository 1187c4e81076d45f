"""int8 against the formula in loops: each token has its own scale."""

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
from onnx.numpy_helper import from_array, to_array

from bert4so.export import quantization
from bert4so.export.quantization import quantize, to_integers

TOKENS, WIDTH, OUT, WORDS = 7, 24, 11, 13


@pytest.fixture
def weights(monkeypatch):
    monkeypatch.setattr(quantization, "MAX_FLOAT_VALUES", 0)
    rng = np.random.default_rng(0)
    product = rng.normal(size=(WIDTH, OUT)).astype(np.float32)
    product[:, 3] = 0  # a column of zeros
    return product, rng.normal(size=(WORDS, WIDTH)).astype(np.float32)


def session(weights, int8=True):
    """embedding(ids) + x, times the weight."""
    nodes = [
        make_node("Gather", ["table", "ids"], ["embedding"]),
        make_node("Add", ["embedding", "x"], ["sum"]),
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
    model = quantize(model) if int8 else model
    return model, onnxruntime.InferenceSession(model.SerializeToString())


def random_inputs(seed=1):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(1, TOKENS, WIDTH)).astype(np.float32)
    x[0, 2] *= 1000  # a token with much larger values than the others
    return {"ids": rng.integers(0, WORDS, (1, TOKENS)), "x": x}


def test_a_product_follows_the_formula(weights):
    product, table = weights
    feed = random_inputs()
    (output,) = session(weights)[1].run(None, feed)
    for t in range(TOKENS):
        row = table[feed["ids"][0, t]]
        row = np.rint(row / (np.abs(row).max() / 127)) * (np.abs(row).max() / 127)
        x = row + feed["x"][0, t]
        s = max(abs(value) for value in x) / 127
        for k in range(OUT):
            top = max(abs(product[i, k]) for i in range(WIDTH)) or 63
            total = sum(round(x[i] / s) * round(product[i, k] / (top / 63)) for i in range(WIDTH))
            # If x / s is close to a half, float32 may round it the other way.
            assert output[0, t, k] == pytest.approx(total * s * top / 63, abs=1.01 * float(s * top))


def test_a_product_is_close_to_the_one_in_float32(weights):
    feed = random_inputs()
    (quantized,), (exact,) = (
        session(weights)[1].run(None, feed),
        session(weights, False)[1].run(None, feed),
    )
    scale = np.abs(exact).max(-1, keepdims=True)
    assert np.abs((quantized - exact) / scale).max() < 0.03


def test_a_token_does_not_depend_on_its_neighbors(weights):
    _, run = session(weights)
    feed = random_inputs()
    (together,) = run.run(None, feed)
    for t in range(TOKENS):
        (alone,) = run.run(None, {name: value[:, t : t + 1] for name, value in feed.items()})
        assert (alone[0, 0] == together[0, t]).all()


def test_a_token_of_zeros_stays_finite(weights):
    product, table = weights
    feed = random_inputs() | {"x": -table[random_inputs()["ids"]]}
    (output,) = session((product, table))[1].run(None, feed)
    assert np.isfinite(output).all()


def test_two_products_fit_16_bits(weights):
    model, _ = session(weights)
    kept = {weight.name: to_array(weight) for weight in model.graph.initializer}
    assert kept["w.int8"].dtype == np.int8
    assert 255 * 2 * int(np.abs(kept["w.int8"]).max()) < 2**15
    assert "w" not in kept
    assert "table" not in kept


@pytest.mark.parametrize("maximum", [63, 127])
def test_the_largest_value_of_each_line_becomes_the_maximum(maximum):
    weight = np.random.default_rng(3).normal(size=(5, 9)).astype(np.float32)
    for axis in (0, 1):
        integers, scale = to_integers(weight, maximum, axis)
        back = integers * np.expand_dims(scale, axis)
        assert (np.abs(integers).max(axis) == maximum).all()
        assert (np.abs(back - weight) <= 0.5001 * np.expand_dims(scale, axis)).all()


@pytest.mark.parametrize("transposed", [0, 1])
@pytest.mark.parametrize("biased", [0, 1])
def test_a_product_with_a_bias_is_the_product_plus_the_bias(weights, transposed, biased):
    product, _ = weights
    x = random_inputs()["x"][0]
    bias = biased * np.arange(OUT, dtype=np.float32)
    weight = np.ascontiguousarray(product.T) if transposed else product
    graph = make_graph(
        [make_node("Gemm", ["x", "w", *["b"] * biased], ["y"], transB=transposed)],
        "g",
        [make_tensor_value_info("x", TensorProto.FLOAT, ["m", WIDTH])],
        [make_tensor_value_info("y", TensorProto.FLOAT, ["m", OUT])],
        [from_array(weight, "w"), from_array(bias, "b")],
    )
    model = quantize(make_model(graph, opset_imports=[make_opsetid("", 21)], ir_version=10))
    assert "Gemm" not in {node.op_type for node in model.graph.node}
    (output,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    for t in range(TOKENS):
        s = max(abs(value) for value in x[t]) / 127
        for k in range(OUT):
            top = max(abs(product[i, k]) for i in range(WIDTH)) or 63
            total = sum(
                round(x[t, i] / s) * round(product[i, k] / (top / 63)) for i in range(WIDTH)
            )
            expected = total * s * top / 63 + bias[k]
            assert output[t, k] == pytest.approx(expected, abs=1.01 * float(s * top))
