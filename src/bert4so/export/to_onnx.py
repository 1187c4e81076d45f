"""Export a trained model to a folder that needs no PyTorch: see `bert4so.inference.onnx_model`."""

import json
import logging
import shutil
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import torch
from onnx.helper import make_node
from onnx.numpy_helper import from_array
from torch import Tensor, nn

from bert4so.common.machine import machine
from bert4so.config.schema import RunConfig
from bert4so.document import Document, HeadWeights, Puzzle
from bert4so.errors import UserError
from bert4so.evaluation.evaluate import Prediction, measure, solve
from bert4so.export.graph_weights import Weights, rename_weights
from bert4so.export.quantization import quantize
from bert4so.inference.backend import fits
from bert4so.inference.onnx_model import FORMAT, OUTPUT_NAMES, ExportedModel
from bert4so.io.atomic import write_atomic
from bert4so.modeling.base import OrderingModel
from bert4so.modeling.decoders.joint import JointDecoder
from bert4so.modeling.decoders.scores import ScoreDecoder
from bert4so.modeling.inputs.joined_input import JoinedBatch, JoinedInput
from bert4so.ranking.objective import Objective
from bert4so.ranking.search import solve_all
from bert4so.systems.bert4so_joint import Config as JointConfig

OPSET = 23
"""The first version that has attention as one operator."""


MIN_SAME_ORDER = 0.99
"""Minimum fraction of documents with the same order as in PyTorch, for float32."""

SINGLE_HEADS = {
    "scores": HeadWeights(1, 0, 0),
    "before": HeadWeights(0, 1, 0),
    "next": HeadWeights(0, 0, 1),
}
"""Search weights that use a single head."""

MAX_TAU_LOSS = 0.005
"""Maximum decrease of Kendall's tau, for int8."""


@dataclass(frozen=True)
class Comparison:
    """A comparison of an exported model with the PyTorch model.

    same:     fraction of documents that both put in the same order.
    tau:      Kendall's tau of the PyTorch model.
    exported: Kendall's tau of the exported model.
    """

    documents: int
    same: float
    tau: float
    exported: float

    @classmethod
    def of(cls, before: Sequence[Prediction], after: Sequence[Prediction]) -> "Comparison":
        """Compare the predictions of the PyTorch model with those of the exported one."""
        pairs = zip(before, after, strict=True)
        same = [one.ordering.order == other.ordering.order for one, other in pairs]
        return cls(len(same), float(np.mean(same)), measure(before).tau, measure(after).tau)

    def check(self, int8: bool) -> None:
        """Raise `UserError` if the exported model differs too much."""
        if int8 and self.tau - self.exported > MAX_TAU_LOSS:
            raise UserError(f"{self}: tau must decrease by at most {MAX_TAU_LOSS} in int8")
        if not int8 and self.same < MIN_SAME_ORDER:
            raise UserError(f"{self}: at least {MIN_SAME_ORDER:.0%} must be the same in float32")

    def __str__(self) -> str:
        return (
            f"{self.same:.2%} of {self.documents} documents in the same order; "
            f"tau {self.tau:.4f} in PyTorch, {self.exported:.4f} exported"
        )


def export(
    run: RunConfig,
    model: OrderingModel[Any],
    out: Path,
    documents: Sequence[Document],
    int8: bool,
    command: str,
) -> Comparison:
    """Export the model of a run to a new folder, and compare the orders of `documents`.

    Raises `UserError`, and leaves no folder, if the exported model differs too much.
    """
    documents = [d for d in documents if fits(model, Puzzle(d.sentences), d.id, lambda bad: None)]
    if not documents:
        raise UserError("cannot compare the exported model: all documents are too long")
    partial = out.with_name(f"{out.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        _input_of(model).save(partial)
        graph = expand_inputs(_graph(model, documents))
        onnx.save(quantize(graph) if int8 else graph, partial / "model.onnx")
        _write_facts(partial, run, {"command": command, "int8": int8})
        compared, heads = _compared(model, ExportedModel.load(partial), documents, int8)
        facts = {
            "command": command,
            "int8": int8,
            "compared": {**asdict(compared), **{name: asdict(own) for name, own in heads.items()}},
        }
        _write_facts(partial, run, facts)
        write_atomic(partial / "README.md", _card(run, out, compared, facts).encode())
        partial.rename(out)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return compared


def _input_of(model: OrderingModel[Any]) -> JoinedInput:
    if not isinstance(model.input, JoinedInput) or not isinstance(
        model.decoder, ScoreDecoder | JointDecoder
    ):
        raise UserError(
            "cannot export this system: only systems that read a document as one row and score "
            "its sentences can be exported"
        )
    return model.input


def _weights(model: OrderingModel[Any]) -> Weights:
    """The weights of the model by their names in the export."""
    return {name: weight.numpy() for name, weight in _Heads(model).state_dict().items()}


class _Heads(nn.Module):
    """The exported part of a model: from rows to the outputs of the decoder's heads."""

    def __init__(self, model: OrderingModel[JoinedBatch]) -> None:
        super().__init__()
        self.model = model

    def forward(
        self,
        ids: Tensor,
        real: Tensor,
        segments: Tensor,
        starts: Tensor,
        owners: Tensor,
        mask: Tensor,
    ) -> tuple[Tensor, ...]:
        used_segments = segments if _input_of(self.model).packer.layout.segments else None
        batch = JoinedBatch(
            mask=mask,
            order=None,
            cut=mask,
            ids=ids,
            real=real,
            segments=used_segments,
            starts=starts,
            owners=owners,
        )
        states, decoder = self.model.encode(batch), self.model.decoder
        if isinstance(decoder, JointDecoder):
            return decoder.heads(states)
        assert isinstance(decoder, ScoreDecoder)
        return (decoder.scores(states),)


def _graph(model: OrderingModel[Any], documents: Sequence[Document]) -> onnx.ModelProto:
    """The model as an ONNX graph, traced on the first documents."""
    packer = _input_of(model).packer
    rows = packer.stack(packer.pack_all([d.sentences for d in documents[:4]]))
    names = ["ids", "real", "segments", "starts", "owners", "mask"]
    batch, tokens, sentences = (torch.export.Dim(n) for n in ("documents", "tokens", "sentences"))
    second = {name: sentences if name in ("starts", "mask") else tokens for name in names}
    with _quietly():
        program = torch.onnx.export(
            _Heads(model).eval(),
            tuple(torch.from_numpy(getattr(rows, name)) for name in names),
            dynamo=True,
            opset_version=OPSET,
            input_names=names,
            output_names=OUTPUT_NAMES
            if isinstance(model.decoder, JointDecoder)
            else OUTPUT_NAMES[:1],
            dynamic_shapes={name: {0: batch, 1: second[name]} for name in names},
            verbose=False,
        )
    assert program is not None
    graph = rename_weights(program.model_proto, _weights(model))
    # Remove a megabyte of metadata about the source code of each node.
    for node in graph.graph.node:
        node.ClearField("metadata_props")
    graph.graph.ClearField("value_info")
    return graph


def expand_inputs(model: onnx.ModelProto) -> onnx.ModelProto:
    """Expand attention masks and rotary embeddings to their full size; changes the model.

    PyTorch broadcasts a mask of one query to all queries, and the rotations of one row to all rows;
    onnxruntime does not.
    """
    graph, nodes = model.graph, []
    for node in graph.node:
        if node.op_type == "Attention" and len(node.input) > 3 and node.input[3]:
            nodes += _expand(node, 3, axis=2, before=2, after=1)
        if node.op_type == "RotaryEmbedding" and len(node.input) == 3:
            nodes += _expand(node, 1, axis=0, before=0, after=2)
            nodes += _expand(node, 2, axis=0, before=0, after=2)
        nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)
    graph.initializer.extend(from_array(np.ones(k, np.int64), _ones(k)) for k in range(3))
    return model


def _expand(
    node: onnx.NodeProto, which: int, axis: int, before: int, after: int
) -> list[onnx.NodeProto]:
    """Nodes that expand one input of a node to the length of its first input along an axis.

    before, after: number of axes of the input before and after the expanded one.
    """
    name = f"{node.output[0]}.{which}"
    length, shape, whole = (f"{name}.{part}" for part in ("length", "shape", "whole"))
    made = [
        make_node("Shape", [node.input[0]], [length], start=axis, end=axis + 1),
        make_node("Concat", [_ones(before), length, _ones(after)], [shape], axis=0),
        make_node("Expand", [node.input[which], shape], [whole]),
    ]
    node.input[which] = whole
    return made


def _ones(count: int) -> str:
    return f"ones.{count}"


@contextmanager
def _quietly() -> Iterator[None]:
    """Suppress the warnings and logs of PyTorch's exporter."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


def _compared(
    model: OrderingModel[Any], exported: ExportedModel, documents: Sequence[Document], int8: bool
) -> tuple[Comparison, dict[str, Comparison]]:
    """Compare the models and, if there are several heads, also the orders by each head alone.

    Raises `UserError` if they differ too much.
    """
    before, after = solve(model, documents), solve(exported, documents)
    compared = Comparison.of(before, after)
    compared.check(int8)
    alone = SINGLE_HEADS if isinstance(model.decoder, JointDecoder) else {}
    heads = {
        name: Comparison.of(_decided_by(before, weights), _decided_by(after, weights))
        for name, weights in alone.items()
    }
    for name, own in heads.items():
        try:
            own.check(int8)
        except UserError as error:
            raise UserError(f'with the head "{name}" alone: {error}') from None
    return compared, heads


def _decided_by(solved: Sequence[Prediction], weights: HeadWeights) -> list[Prediction]:
    """Repeat the search with other weights."""
    orderings = [replace(one.ordering, weights=weights) for one in solved]
    solutions = solve_all([Objective.of(ordering) for ordering in orderings])
    return [
        replace(one, ordering=replace(ordering, order=solution.order))
        for one, ordering, solution in zip(solved, orderings, solutions, strict=True)
    ]


def _write_facts(folder: Path, run: RunConfig, facts: dict[str, Any]) -> None:
    whole = {
        "format": FORMAT,
        **facts,
        **_search_of(run),
        "run": json.loads(run.model_dump_json()),
        "machine": machine(),
    }
    write_atomic(folder / "export.json", (json.dumps(whole, indent=1) + "\n").encode())


def _search_of(run: RunConfig) -> dict[str, Any]:
    """The search weights, if the run's system has a search."""
    if not isinstance(run.model, JointConfig):
        return {}
    return {"search": run.model.model_dump(include={"decode", "weights"})}


def _card(run: RunConfig, out: Path, compared: Comparison, facts: dict[str, Any]) -> str:
    form = "int8, with one scale per token" if facts["int8"] else "float32"
    return f"""# {run.system} on {Path(run.corpus).name}, exported

Puts sentences in order, without PyTorch: `bert4so order text.txt --model {out}`.
Exported by `{facts["command"]}`, in {form}. Compared with the PyTorch model: {compared}.
"""
