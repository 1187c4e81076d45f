"""BERT4SO without PyTorch: an exported model on onnxruntime.

A folder that `bert4so export` wrote holds

model.onnx                     rows to what the model's heads say
tokenizer.json, layout.json    sentences to rows
config.json                    the encoder's, for those who train on
export.json                    what it was made of, how near it came to that, the search's weights
README.md                      the model card
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from bert4so.common.machine import cores
from bert4so.data.batches import within_budget
from bert4so.document import Decision, HeadWeights, Ordering, Puzzle
from bert4so.errors import UserError, quote
from bert4so.inference.onnx_check import check_onnx
from bert4so.io.model_files import (
    check_keys,
    first_line,
    inner_object,
    number,
    read_object,
    string,
)
from bert4so.ranking.objective import MAX_WEIGHT
from bert4so.ranking.plackett_luce import NotFiniteError, check_finite, ranked
from bert4so.ranking.search import Reading, decide
from bert4so.text.packing import Packer, Row

FORMAT = 2
READABLE = (1, FORMAT)
"""The format of the folder, and those that this version reads. Since format 2 a graph may have the
outputs `before` and `next` beside `scores`, and export.json the weights of the search for them."""

JOINT = ["scores", "before", "next"]
"""The outputs of a graph of a system that says more than scores."""

BUDGET = 256
"""Tokens, padding included, that a core scores at once."""

Table = NDArray[np.float32]

QUIET = 3
"""onnxruntime's number for: errors only."""


class ExportedModel:
    """An exported model: a `Backend`. It answers a puzzle alone as it does among others."""

    def __init__(self, path: Path, packer: Packer, weights: HeadWeights | None) -> None:
        """weights: of the search, where the graph gives more than scores."""
        self.path = path
        self.packer = packer
        self.weights = weights
        self.all_cores = _session(path, threads=cores())
        self.wanted = [wanted.name for wanted in self.all_cores.get_inputs()]
        self.heads = JOINT if weights else JOINT[:1]

    @classmethod
    def load(cls, folder: Path) -> "ExportedModel":
        """The model of a folder, which may come from a stranger."""
        facts = check_format(folder / "export.json")
        outputs = check_onnx(folder / "model.onnx")
        weights = _weights(folder / "export.json", facts) if len(outputs) > 1 else None
        return cls(folder / "model.onnx", Packer.load(folder), weights)

    @cached_property
    def one_core(self) -> onnxruntime.InferenceSession:
        """Many batches are scored sooner one a core than one after the other on all of them."""
        return _session(self.path, threads=1)

    def check(self, puzzle: Puzzle) -> None:
        """Raise `UserError` for a puzzle that does not fit a row."""
        self.packer.pack(puzzle.sentences)

    def order(self, puzzles: Sequence[Puzzle]) -> list[Ordering]:
        """One ordering a puzzle, in the order of the puzzles."""
        rows = self.packer.pack_all([puzzle.sentences for puzzle in puzzles])
        said: dict[int, list[Table]] = {}
        batches = within_budget([len(row.ids) for row in rows], BUDGET)
        answered = self._answered([[rows[i] for i in chosen] for chosen in batches])
        for chosen, tables in zip(batches, answered, strict=True):
            said.update(zip(chosen, map(list, zip(*tables, strict=True)), strict=True))
        decisions = self._decide([(said[i], len(row.cut)) for i, row in enumerate(rows)])
        return [
            Ordering.of(puzzle, decision, np.flatnonzero(row.cut).tolist())
            for puzzle, decision, row in zip(puzzles, decisions, rows, strict=True)
        ]

    def _decide(self, said: Sequence[tuple[list[Table], int]]) -> list[Decision]:
        """The decisions on what the heads say of some documents, of so many sentences each."""
        if self.weights is None:
            return [ranked(scores[:n]) for (scores,), n in said]
        return decide([Reading.of_row(tables, n) for tables, n in said], self.weights)

    def _answered(self, batches: Sequence[Sequence[Row]]) -> Iterator[list[Table]]:
        """What each head says of each batch: a table of each, a document a row."""
        if len(batches) < 2:
            yield from (self._ask(self.all_cores, rows) for rows in batches)
            return
        session = self.one_core
        with ThreadPoolExecutor(cores()) as pool:
            yield from pool.map(lambda rows: self._ask(session, rows), batches)

    def _ask(self, session: onnxruntime.InferenceSession, rows: Sequence[Row]) -> list[Table]:
        stacked = vars(self.packer.stack(rows))
        try:
            tables: list[Table] = session.run(
                self.heads, {name: stacked[name] for name in self.wanted}
            )
            _check_tables(tables, stacked["mask"])
        except NotFiniteError as error:
            raise UserError(f"{self.path.parent}: {error}") from None
        except Exception as error:  # onnxruntime has no exception of its own that is public
            raise UserError(f"{self.path}: the model fails: {first_line(error)}") from None
        return tables


def _check_tables(tables: Sequence[Table], mask: NDArray[np.bool_]) -> None:
    """Refuse tables that do not say something of each sentence, each pair and each successor."""
    documents, n = mask.shape
    shapes = [mask.shape, (documents, n, n), (documents, n + 1, n + 1)]
    ends = np.concatenate([mask, np.ones((documents, 1), np.bool_)], axis=1)
    real = [mask, mask[:, :, None] & mask[:, None], ends[:, :, None] & ends[:, None]]
    for name, table, shape, own in zip(JOINT, tables, shapes, real, strict=False):
        if table.shape != shape:
            raise ValueError(f"it gives {name} of the shape {table.shape}, not {shape}")
        check_finite(table[own])


def _weights(path: Path, facts: dict[str, Any]) -> HeadWeights:
    """The weights of the search in an export.json: those of its own aim."""
    search = inner_object(path, facts, "search")
    presets = inner_object(path, search, "weights")
    chosen = inner_object(path, presets, string(path, search, "decode"))
    check_keys(path, chosen, JOINT)
    return HeadWeights(*(number(path, chosen, head, 0, MAX_WEIGHT) for head in JOINT))


def _session(path: Path, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = QUIET
    # To plan which tensors share memory takes most of a session's start, and saves none.
    options.enable_mem_reuse = False
    try:
        return onnxruntime.InferenceSession(
            path,
            options,
            providers=["CPUExecutionProvider"],
            # Else it prints, to stdout, that it tries the same once more.
            enable_fallback=0,
        )
    except Exception as error:  # onnxruntime has no exception of its own that is public
        reason = first_line(error)
        raise UserError(f"{path}: not a model that onnxruntime can read: {reason}") from None


def check_format(path: Path) -> dict[str, Any]:
    """The content of an export.json, refused where this version does not read its format."""
    given = read_object(path)
    if "format" not in given:
        raise UserError(f"{path.parent}: not written by `bert4so export`: no format in {path.name}")
    if given["format"] not in READABLE:
        raise UserError(
            f"{path.parent}: has format {quote(given['format'])}, but this version reads formats "
            f"{' and '.join(map(str, READABLE))}: pip install --upgrade bert4so"
        )
    return given
