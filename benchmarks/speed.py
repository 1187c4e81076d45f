"""How fast sentences are put in order, against the alternatives, in one run:

    python benchmarks/speed.py RUN CORPUS... --out results/speed.json

RUN is a folder of `bert4so train`: it is exported, and all its forms are asked for the same
documents by turns, several times over; what is reported is the median, and ratios of medians. They
are documents that fit a row; how fast all are, of which some are read by windows, is told beside.
"""

import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import onnxruntime
import torch
from numpy.typing import NDArray
from onnx import TensorProto
from onnx.helper import make_graph, make_model, make_node, make_opsetid, make_tensor_value_info
from onnx.numpy_helper import from_array

from bert4so.common.machine import cores
from bert4so.config.schema import checked
from bert4so.data.corpus import find_corpus, read_split, sample_documents
from bert4so.data.shuffle import shuffle
from bert4so.document import Document, Puzzle
from bert4so.errors import UserError
from bert4so.export.to_onnx import export
from bert4so.inference.orderer import Orderer
from bert4so.inference.windows import fits_a_row
from bert4so.modeling.base import OrderingModel
from bert4so.modeling.inputs.joined_input import JoinedInput
from bert4so.modeling.inputs.pairs_input import PairsInput
from bert4so.systems import SYSTEMS
from bert4so.training.checkpoint import load_model
from harness import TURNS, arguments, by_turns, rates, seconds, show, write_results

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
    parser = arguments(__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--documents", type=int, default=DOCUMENTS)
    parser.add_argument("--turns", type=int, default=TURNS)
    args = parser.parse_args()
    _, model = load_model(args.run)
    checked_on = sample_documents(read_split(find_corpus(args.corpora[0]), "valid"), CHECKED)
    with TemporaryDirectory() as place:
        folders = {form: Path(place) / form for form in ("float32", "int8")}
        for form, folder in folders.items():
            export(*load_model(args.run), folder, checked_on, form == "int8", "a benchmark")
        forms = {form: Orderer.from_pretrained(folder) for form, folder in folders.items()}
        found = {}
        for corpus in args.corpora:
            documents = sample_documents(read_split(find_corpus(corpus), "test"), args.documents)
            found[Path(corpus).name] = measured(documents, model, forms, args.turns)
            show(corpus, found[Path(corpus).name])
        facts = {"corpora": found, "cold_start": cold_start(folders["int8"], 2 * args.turns)}
    write_results(args.out, facts)


def measured(
    documents: Sequence[Document],
    model: OrderingModel[Any],
    forms: dict[str, Orderer],
    turns: int,
) -> dict[str, Any]:
    """Documents per second of every way to order some documents."""
    everything = [shuffle(document, seed=0).without_answer() for document in documents]
    puzzles = [puzzle for puzzle in everything if fits_a_row(rows_of(model).packer, puzzle)]
    few = puzzles[:PAIRS]
    ways = all_ways(model, forms, everything, puzzles, few)
    products = {"float32": product(np.float32), "int8": product(np.uint8)}
    jobs = {name: partial(seconds, order) for name, (order, _) in ways.items()}
    limits = {f"limit of {form}": partial(seconds, job) for form, job in products.items()}
    taken = by_turns({**jobs, **limits}, turns)
    operations = statistics.mean(needed(model, tokens) for tokens in lengths(model, puzzles))
    return {
        "documents": len(puzzles),
        "documents_of_b_tsort": len(few),
        "by_windows": len(everything) - len(puzzles),
        "documents_per_second": {
            name: rates([count / one for one in taken[name]], 2)
            for name, (_, count) in ways.items()
        },
        "operations_per_document": round(operations),
        "share_of_limit": {
            form: round(
                (operations * len(puzzles) / statistics.median(taken[form]))
                / (2 * SIDE**3 / statistics.median(taken[f"limit of {form}"])),
                3,
            )
            for form in products
        },
    }


def all_ways(
    model: OrderingModel[Any],
    forms: dict[str, Orderer],
    everything: Sequence[Puzzle],
    puzzles: Sequence[Puzzle],
    few: Sequence[Puzzle],
) -> dict[str, tuple[Callable[[], object], int]]:
    """Every way to order, with its number of documents: those that fit a row, or a few of them."""
    pairs = pair_system(model)
    ways: dict[str, tuple[Callable[[], object], int]] = {
        **{form: (partial(ordered, forms[form], puzzles), len(puzzles)) for form in forms},
        "PyTorch, batches of 32": (partial(padded, model, puzzles, 32), len(puzzles)),
        "PyTorch, one by one": (partial(padded, model, puzzles, 1), len(puzzles)),
        "int8, few": (partial(ordered, forms["int8"], few), len(few)),
        "B-TSort, few": (partial(pairs.order, few), len(few)),
    }
    if len(everything) > len(puzzles):
        long = partial(ordered, forms["int8"], everything)
        ways["int8, and long ones by windows"] = (long, len(everything))
    return ways


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
    rows = rows_of(model)
    input = PairsInput(rows.packer, rows.encoder_config, both_directions=False)
    built = system.build(config, input)
    encoder = model.get_submodule("sentence_encoder.row").encoder
    built.get_submodule("sentence_encoder.row").encoder = encoder
    return built.eval()


def rows_of(model: OrderingModel[Any]) -> JoinedInput:
    """The input of a model that reads a document as one row."""
    if not isinstance(model.input, JoinedInput):
        raise UserError("RUN must be of a system that reads a document as one row: bert4so")
    return model.input


def lengths(model: OrderingModel[Any], puzzles: Sequence[Puzzle]) -> list[int]:
    """The tokens of each, as one row."""
    rows = rows_of(model).packer.pack_all([puzzle.sentences for puzzle in puzzles])
    return [len(row.ids) for row in rows]


def needed(model: OrderingModel[Any], tokens: int) -> int:
    """The operations of the encoder for a row of so many tokens."""
    config = rows_of(model).encoder_config
    width, inner = config.hidden_size, config.intermediate_size
    a_layer = 2 * tokens * (4 * width * width + 2 * width * inner) + 4 * width * tokens * tokens
    return int(config.num_hidden_layers * a_layer)


def product(kind: type) -> Callable[[], object]:
    """A large product of matrices of a type."""
    integer = kind is np.uint8
    operator = "MatMulInteger" if integer else "MatMul"
    types = (TensorProto.UINT8, TensorProto.INT32) if integer else (TensorProto.FLOAT,) * 2
    draw = np.random.default_rng(0)
    weight: NDArray[Any] = draw.integers(-63, 64, (SIDE, SIDE)).astype(np.int8 if integer else kind)
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
    given: dict[str, NDArray[Any]] = {"a": draw.integers(0, 255, (SIDE, SIDE)).astype(kind)}
    return lambda: session.run(None, given)


def cold_start(model: Path, turns: int) -> dict[str, list[float]]:
    """Seconds from the start of a process to its end: median, least and most."""
    commands = {
        "order": [sys.executable, "-m", "bert4so", "order", "--model", str(model)],
        "import bert4so": [sys.executable, "-c", "import bert4so"],
        "python": [sys.executable, "-c", "pass"],
    }
    taken = by_turns({name: partial(seconds, process(c)) for name, c in commands.items()}, turns)
    return {
        name: [round(one, 3) for one in (statistics.median(some), min(some), max(some))]
        for name, some in taken.items()
    }


def process(command: list[str]) -> Callable[[], object]:
    """A process that is given a story."""
    return partial(subprocess.run, command, input=STORY, text=True, capture_output=True, check=True)


if __name__ == "__main__":
    main()
