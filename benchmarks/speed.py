"""How fast sentences are put in order, against the alternatives, in one run:

    python benchmarks/speed.py RUN CORPUS... --out results/speed.json

RUN is a folder of `bert4so train`: it is exported, and all its forms are asked for the same
documents by turns, several times over; what is reported is the median, and ratios of medians.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnxruntime
import torch
from onnx import TensorProto
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
from onnx.numpy_helper import from_array

from bert4so.checkpoint import load_model
from bert4so.config import checked
from bert4so.data.corpus import find_corpus, read_split, sampled
from bert4so.data.shuffle import shuffle
from bert4so.document import Puzzle
from bert4so.export import export
from bert4so.machine import machine
from bert4so.model import OrderingModel
from bert4so.models import MODELS
from bert4so.ranking import ranked
from bert4so.runtime import ExportedModel

REPEATS = 5
DOCUMENTS = 256
CHECKED = 100
"""Documents by which the exported forms are checked."""

PAIRS = 16
"""Documents that B-TSort orders: it takes long for them."""

STORY = "She ate it.\nA girl found an apple.\nIt was red.\nShe washed it.\nThen she felt full.\n"
SIDE = 2048
"""Of the matrices whose product is the limit."""


def main() -> None:
    """Measure, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    _, model = load_model(asked.run)
    checked_on = read_split(find_corpus(asked.corpora[0]), "valid")[:CHECKED]
    with TemporaryDirectory() as place:
        folders = {form: Path(place) / form for form in ("float32", "int8")}
        for form, folder in folders.items():
            export(asked.run, folder, checked_on, form == "int8", "a benchmark")
        exported = {form: ExportedModel.load(folder) for form, folder in folders.items()}
        corpora = {name: measured(name, model, exported) for name in asked.corpora}
        facts = {
            "command": " ".join(["python", *sys.argv]),
            "machine": machine(),
            "corpora": corpora,
            "limit": limits(model, corpora),
            "cold_start": cold_start(folders["int8"]),
        }
    asked.out.write_text(json.dumps(facts, indent=1) + "\n")


def measured(
    corpus: str, model: OrderingModel[Any], exported: dict[str, ExportedModel]
) -> dict[str, Any]:
    """Documents a second of every way to order the documents of a corpus."""
    documents = sampled(read_split(find_corpus(corpus), "test"), DOCUMENTS)
    puzzles = [shuffle(document, seed=0).without_answer() for document in documents]
    puzzles = [puzzle for puzzle in puzzles if fits(model, puzzle)]
    pairs = pair_system(model)
    ways: dict[str, tuple[Callable[[], object], int]] = {
        "int8": (lambda: exported["int8"].order(puzzles), len(puzzles)),
        "float32": (lambda: exported["float32"].order(puzzles), len(puzzles)),
        "pytorch, batches of 32": (lambda: padded(model, puzzles, 32), len(puzzles)),
        "pytorch, one by one": (lambda: padded(model, puzzles, 1), len(puzzles)),
        "b-tsort, same encoder": (lambda: pairs.order(puzzles[:PAIRS]), PAIRS),
    }
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(REPEATS):
        for name, (order, count) in ways.items():
            began = time.perf_counter()
            order()
            seconds[name].append((time.perf_counter() - began) / count)
    tokens = [len(exported["int8"].packer.pack(p.sentences).ids) for p in puzzles]
    return {
        "documents": len(puzzles),
        "tokens_per_document": statistics.mean(tokens),
        "squared_tokens_per_document": statistics.mean(t * t for t in tokens),
        "documents_per_second": {n: round(1 / statistics.median(s), 2) for n, s in seconds.items()},
        "spread": {n: round(max(s) / min(s), 2) for n, s in seconds.items()},
    }


def fits(model: OrderingModel[Any], puzzle: Puzzle) -> bool:
    """Whether it can be read as one row."""
    try:
        model.check(puzzle)
    except Exception:
        return False
    return True


@torch.inference_mode()
def padded(model: OrderingModel[Any], puzzles: Sequence[Puzzle], batch: int) -> None:
    """As public code does: so many at a time as they come, padded to the longest."""
    for start in range(0, len(puzzles), batch):
        some = model.input(puzzles[start : start + batch])
        for decision in model.decoder.order(model.encode(some), some):
            ranked(np.array(decision.scores))


def pair_system(model: OrderingModel[Any]) -> OrderingModel[Any]:
    """B-TSort on the same encoder; what it has learned does not matter for the time it takes."""
    system = MODELS["b-tsort"]
    config = checked(system.Config, {**system.DESK["model"], "pooling": "mean"}, "b-tsort")
    built = system.build(config, system.make_input(config, []))
    encoder = model.get_submodule("sentence_encoder.row").encoder
    built.get_submodule("sentence_encoder.row").encoder = encoder
    return built.eval()


def limits(model: OrderingModel[Any], corpora: dict[str, Any]) -> dict[str, Any]:
    """The operations that the model needs, over the time, against a large product of matrices."""
    peak = {"float32": product(np.float32), "int8": product(np.uint8)}
    config = model.get_submodule("sentence_encoder.row").encoder.config
    layers, width, inner = (
        config.num_hidden_layers,
        config.hidden_size,
        config.intermediate_size,
    )
    a_token = 2 * layers * (4 * width * width + 2 * width * inner)
    found: dict[str, Any] = {"operations_per_second": {k: round(v) for k, v in peak.items()}}
    for name, facts in corpora.items():
        attention = 4 * layers * width * facts["squared_tokens_per_document"]
        operations = a_token * facts["tokens_per_document"] + attention
        found[name] = {
            form: round(operations * facts["documents_per_second"][form] / peak[form], 3)
            for form in peak
        }
    return found


def product(kind: type) -> float:
    """Operations a second in a large product of matrices of a type."""
    whole = kind is np.uint8
    operator = "MatMulInteger" if whole else "MatMul"
    types = (TensorProto.UINT8, TensorProto.INT32) if whole else (TensorProto.FLOAT,) * 2
    draw = np.random.default_rng(0)
    weight = draw.integers(-63, 64, (SIDE, SIDE)).astype(np.int8 if whole else kind)
    graph = make_graph(
        [make_node(operator, ["a", "b"], ["c"])],
        "product",
        [make_tensor_value_info("a", types[0], [SIDE, SIDE])],
        [make_tensor_value_info("c", types[1], [SIDE, SIDE])],
        [from_array(weight, "b")],
    )
    built = make_model(graph, opset_imports=[make_opsetid("", 21)], ir_version=10)
    session = onnxruntime.InferenceSession(built.SerializeToString())
    given = {"a": draw.integers(0, 255, (SIDE, SIDE)).astype(kind)}
    seconds = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        session.run(None, given)
        seconds.append(time.perf_counter() - began)
    return float(2 * SIDE**3 / min(seconds))


def cold_start(model: Path) -> dict[str, float]:
    """Seconds from the start of a process to its end."""
    order = [sys.executable, "-m", "bert4so", "order", "--model", str(model)]
    load = [sys.executable, "-c", "import bert4so"]
    bare = [sys.executable, "-c", "pass"]
    return {
        "order": process(order),
        "import": round(process(load) - process(bare), 3),
    }


def process(command: list[str]) -> float:
    """The median time of a process."""
    seconds = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        subprocess.run(command, input=STORY, text=True, capture_output=True, check=True)
        seconds.append(time.perf_counter() - began)
    return round(statistics.median(seconds), 3)


if __name__ == "__main__":
    main()
