"""How fast sentences are put in order, against the alternatives, in one run:

    python benchmarks/speed.py RUN CORPUS... --out results/speed.json

RUN is a folder of `bert4so train`: it is exported, and all its forms are asked for the same
documents by turns, several times over; what is reported is the median, and ratios of medians. They
are documents that fit a row; how fast all are, of which some are read by windows, is told beside.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnxruntime
import torch
from onnx import TensorProto
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
from onnx.numpy_helper import from_array

from bert4so.common.machine import cores, machine
from bert4so.config.schema import checked
from bert4so.data.corpus import find_corpus, read_split, sampled
from bert4so.data.shuffle import shuffle
from bert4so.document import Puzzle
from bert4so.export.to_onnx import export
from bert4so.inference.orderer import Orderer
from bert4so.inference.windows import fits_a_row
from bert4so.modeling.base import OrderingModel
from bert4so.modeling.inputs.pairs_input import PairsInput
from bert4so.systems import SYSTEMS
from bert4so.training.checkpoint import load_model

REPEATS = 5
DOCUMENTS = 128
CHECKED = 500
"""Documents by which the exported forms are checked."""

PAIRS = 8
"""Of the documents, those that B-TSort orders: it takes long for them."""

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
    checked_on = sampled(read_split(find_corpus(asked.corpora[0]), "valid"), CHECKED)
    with TemporaryDirectory() as place:
        folders = {form: Path(place) / form for form in ("float32", "int8")}
        for form, folder in folders.items():
            export(*load_model(asked.run), folder, checked_on, form == "int8", "a benchmark")
        forms = {form: Orderer.from_pretrained(folder) for form, folder in folders.items()}
        facts = {
            "command": " ".join(["python", *sys.argv]),
            "machine": machine(),
            "corpora": {Path(name).name: measured(name, model, forms) for name in asked.corpora},
            "cold_start": cold_start(folders["int8"]),
        }
    asked.out.write_text(json.dumps(facts, indent=1) + "\n")


def measured(corpus: str, model: OrderingModel[Any], forms: dict[str, Orderer]) -> dict[str, Any]:
    """Documents a second of every way to order the documents of a corpus."""
    documents = sampled(read_split(find_corpus(corpus), "test"), DOCUMENTS)
    everything = [shuffle(document, seed=0).without_answer() for document in documents]
    puzzles = [puzzle for puzzle in everything if fits_a_row(model.input.packer, puzzle)]
    few = puzzles[:PAIRS]
    pairs = pair_system(model)
    ways: dict[str, tuple[Callable[[], object], int]] = {
        **{form: (partial(ordered, forms[form], puzzles), len(puzzles)) for form in forms},
        "PyTorch, batches of 32": (lambda: padded(model, puzzles, 32), len(puzzles)),
        "PyTorch, one by one": (lambda: padded(model, puzzles, 1), len(puzzles)),
        "int8, few": (lambda: ordered(forms["int8"], few), len(few)),
        "B-TSort, few": (lambda: pairs.order(few), len(few)),
    }
    if len(everything) > len(puzzles):
        ways["int8, and long ones by windows"] = (
            lambda: ordered(forms["int8"], everything),
            len(everything),
        )
    products = {"float32": product(np.float32), "int8": product(np.uint8)}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    peaks: dict[str, list[float]] = {name: [] for name in products}
    for turn in range(REPEATS + 1):
        for name, (order, count) in ways.items():
            taken = timed(order) / count
            seconds[name] += [taken] if turn else []  # the first turn warms up
        for form, multiply in products.items():
            peaks[form].append(timed(multiply))
    operations = statistics.mean(needed(model, tokens) for tokens in lengths(model, puzzles))
    return {
        "documents": len(puzzles),
        "documents_of_b_tsort": len(few),
        "by_windows": len(everything) - len(puzzles),
        "documents_per_second": {name: rates(some) for name, some in seconds.items()},
        "operations_per_document": round(operations),
        "share_of_limit": {
            form: round(
                operations
                / statistics.median(seconds[form])
                / (2 * SIDE**3 / statistics.median(peaks[form])),
                3,
            )
            for form in products
        },
    }


def timed(job: Callable[[], object]) -> float:
    """How many seconds it takes."""
    began = time.perf_counter()
    job()
    return time.perf_counter() - began


def rates(seconds: Sequence[float]) -> dict[str, float]:
    """Documents a second."""
    return {
        "median": round(1 / statistics.median(seconds), 2),
        "slowest": round(1 / max(seconds), 2),
        "fastest": round(1 / min(seconds), 2),
    }


def ordered(orderer: Orderer, puzzles: Sequence[Puzzle]) -> None:
    """As users have it."""
    for _ in orderer.order_all([puzzle.sentences for puzzle in puzzles]):
        pass


@torch.inference_mode()
def padded(model: OrderingModel[Any], puzzles: Sequence[Puzzle], batch: int) -> None:
    """As public code does: so many at a time as they come, padded to the longest, cut to a row."""
    for start in range(0, len(puzzles), batch):
        some = model.input(puzzles[start : start + batch])
        model.decoder.order(model.encode(some), some)


def pair_system(model: OrderingModel[Any]) -> OrderingModel[Any]:
    """B-TSort on the same encoder; what it has learned does not matter for the time it takes."""
    system = SYSTEMS["b-tsort"]
    config = checked(system.Config, {**system.CPU_PRESET["model"], "pooling": "mean"}, "b-tsort")
    input = PairsInput(model.input.packer, model.input.encoder_config, both_directions=False)
    built = system.build(config, input)
    encoder = model.get_submodule("sentence_encoder.row").encoder
    built.get_submodule("sentence_encoder.row").encoder = encoder
    return built.eval()


def lengths(model: OrderingModel[Any], puzzles: Sequence[Puzzle]) -> list[int]:
    """The tokens of each, as one row."""
    rows = model.input.packer.pack_all([puzzle.sentences for puzzle in puzzles])
    return [len(row.ids) for row in rows]


def needed(model: OrderingModel[Any], tokens: int) -> int:
    """The operations of the encoder for a row of so many tokens."""
    config = model.get_submodule("sentence_encoder.row").encoder.config
    width, inner = config.hidden_size, config.intermediate_size
    a_layer = 2 * tokens * (4 * width * width + 2 * width * inner) + 4 * width * tokens * tokens
    return int(config.num_hidden_layers * a_layer)


def product(kind: type) -> Callable[[], object]:
    """A large product of matrices of a type."""
    integer = kind is np.uint8
    operator = "MatMulInteger" if integer else "MatMul"
    types = (TensorProto.UINT8, TensorProto.INT32) if integer else (TensorProto.FLOAT,) * 2
    draw = np.random.default_rng(0)
    weight = draw.integers(-63, 64, (SIDE, SIDE)).astype(np.int8 if integer else kind)
    graph = make_graph(
        [make_node(operator, ["a", "b"], ["c"])],
        "product",
        [make_tensor_value_info("a", types[0], [SIDE, SIDE])],
        [make_tensor_value_info("c", types[1], [SIDE, SIDE])],
        [from_array(weight, "b")],
    )
    built = make_model(graph, opset_imports=[make_opsetid("", 21)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = cores()
    session = onnxruntime.InferenceSession(built.SerializeToString(), options)
    given = {"a": draw.integers(0, 255, (SIDE, SIDE)).astype(kind)}
    return lambda: session.run(None, given)


def cold_start(model: Path) -> dict[str, Any]:
    """Seconds from the start of a process to its end: median, least and most."""
    order = [sys.executable, "-m", "bert4so", "order", "--model", str(model)]
    load = [sys.executable, "-c", "import bert4so"]
    bare = [sys.executable, "-c", "pass"]
    return {"order": process(order), "import bert4so": process(load), "python": process(bare)}


def process(command: list[str]) -> list[float]:
    """The median time of a process, the least and the most."""
    seconds = [
        timed(
            partial(
                subprocess.run, command, input=STORY, text=True, capture_output=True, check=True
            )
        )
        for _ in range(2 * REPEATS)
    ]
    return [round(some, 3) for some in (statistics.median(seconds), min(seconds), max(seconds))]


if __name__ == "__main__":
    main()
