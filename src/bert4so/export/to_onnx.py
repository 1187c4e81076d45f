"""Export a trained model as a folder that needs no PyTorch: see `bert4so.inference.onnx_model`."""

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
from bert4so.export.graph_weights import Weights, named
from bert4so.export.quantization import quantized
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
"""The first in which attention is one operator."""


SAME = 0.99
"""In float32, the least share of documents that must come out in the same order."""

ALONE = {
    "scores": HeadWeights(1, 0, 0),
    "before": HeadWeights(0, 1, 0),
    "next": HeadWeights(0, 0, 1),
}
"""The weights of a search by one head."""

LOST = 0.005
"""In int8, the most of tau that may be lost."""


@dataclass(frozen=True)
class Comparison:
    """How near the orders of an exported model come to those of the one it was made of.

    same:          the share of documents that both put in the same order.
    tau, exported: Kendall's tau of either.
    """

    documents: int
    same: float
    tau: float
    exported: float

    @classmethod
    def of(cls, before: Sequence[Prediction], after: Sequence[Prediction]) -> "Comparison":
        """Compare what two models made of the same documents."""
        pairs = zip(before, after, strict=True)
        same = [one.ordering.order == other.ordering.order for one, other in pairs]
        return cls(len(same), float(np.mean(same)), measure(before).tau, measure(after).tau)

    def check(self, int8: bool) -> None:
        """Refuse a model that is not near enough."""
        if int8 and self.tau - self.exported > LOST:
            raise UserError(f"{self}: in int8 more than {LOST} of tau is lost")
        if not int8 and self.same < SAME:
            raise UserError(f"{self}: in float32 fewer than {SAME:.0%} come out in the same order")

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
    """Write the model of a run to a new folder; refuse if it differs too much from the model."""
    documents = [d for d in documents if fits(model, Puzzle(d.sentences), d.id, lambda bad: None)]
    if not documents:
        raise UserError("none of the documents to compare on fits the model")
    partial = out.with_name(f"{out.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        _input_of(model).save(partial)
        graph = stretched(_graph(model, documents))
        onnx.save(quantized(graph) if int8 else graph, partial / "model.onnx")
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
        raise UserError("only systems that score the sentences of one joined row can be exported")
    return model.input


def _weights(model: OrderingModel[Any]) -> Weights:
    """Those of the model, called as in what is exported."""
    return {name: weight.numpy() for name, weight in _Heads(model).state_dict().items()}


class _Heads(nn.Module):
    """What is exported: rows to what the heads of the decoder say."""

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
        known = segments if _input_of(self.model).packer.layout.segments else None
        batch = JoinedBatch(
            mask=mask,
            order=None,
            cut=mask,
            ids=ids,
            real=real,
            segments=known,
            starts=starts,
            owners=owners,
        )
        states, decoder = self.model.encode(batch), self.model.decoder
        if isinstance(decoder, JointDecoder):
            return decoder.heads(states)
        assert isinstance(decoder, ScoreDecoder)
        return (decoder.scores(states),)


def _graph(model: OrderingModel[Any], documents: Sequence[Document]) -> onnx.ModelProto:
    """The model as an ONNX graph, traced on some documents."""
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
    made = named(program.model_proto, _weights(model))
    # What the exporter knows of the source of each node is a megabyte.
    for node in made.graph.node:
        node.ClearField("metadata_props")
    made.graph.ClearField("value_info")
    return made


def stretched(model: onnx.ModelProto) -> onnx.ModelProto:
    """The model with masks and rotations as large as what they are for.

    PyTorch stretches a mask of one query over all queries, and the rotations of one row over all
    rows; onnxruntime does not.
    """
    graph, nodes = model.graph, []
    for node in graph.node:
        if node.op_type == "Attention" and len(node.input) > 3 and node.input[3]:
            nodes += _stretch(node, 3, axis=2, before=2, after=1)
        if node.op_type == "RotaryEmbedding" and len(node.input) == 3:
            nodes += _stretch(node, 1, axis=0, before=0, after=2)
            nodes += _stretch(node, 2, axis=0, before=0, after=2)
        nodes.append(node)
    del graph.node[:]
    graph.node.extend(nodes)
    graph.initializer.extend(from_array(np.ones(k, np.int64), _ones(k)) for k in range(3))
    return model


def _stretch(
    node: onnx.NodeProto, which: int, axis: int, before: int, after: int
) -> list[onnx.NodeProto]:
    """Makes one input of a node as long as its first is along an axis; so many others stand
    before it and after it.
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
    """Without what the exporter tells its developers."""
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
    """How near the orders come, and those that each head would give alone where there are several.

    Raises `UserError` where they are not near enough.
    """
    before, after = solve(model, documents), solve(exported, documents)
    compared = Comparison.of(before, after)
    compared.check(int8)
    alone = ALONE if isinstance(model.decoder, JointDecoder) else {}
    heads = {
        name: Comparison.of(_decided_by(before, weights), _decided_by(after, weights))
        for name, weights in alone.items()
    }
    for name, own in heads.items():
        try:
            own.check(int8)
        except UserError as error:
            raise UserError(f"by {name} alone: {error}") from None
    return compared, heads


def _decided_by(solved: Sequence[Prediction], weights: HeadWeights) -> list[Prediction]:
    """The orders that the search finds by other weights."""
    said = [replace(one.ordering, weights=weights) for one in solved]
    solutions = solve_all([Objective.of(ordering) for ordering in said])
    return [
        replace(one, ordering=replace(ordering, order=solution.order))
        for one, ordering, solution in zip(solved, said, solutions, strict=True)
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
    """The weights of the search, where a run's system has one."""
    if not isinstance(run.model, JointConfig):
        return {}
    return {"search": run.model.model_dump(include={"decode", "weights"})}


def _card(run: RunConfig, out: Path, compared: Comparison, facts: dict[str, Any]) -> str:
    form = "int8, each token by its own scale" if facts["int8"] else "float32"
    return f"""# {run.system} on {Path(run.corpus).name}, exported

Puts sentences in order, without PyTorch: `bert4so order text.txt --model {out}`.
Made by `{facts["command"]}`, in {form}. Against the model it was made of: {compared}.
"""
