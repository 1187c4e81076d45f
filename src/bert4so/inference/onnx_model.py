"""Run an exported model with onnxruntime, without PyTorch.

A folder that `bert4so export` wrote contains

model.onnx                     the graph, from rows of tokens to the outputs of the heads
tokenizer.json, layout.json    convert sentences to rows
config.json                    the configuration of the encoder, to fine-tune the model
export.json                    the run, the comparison with the PyTorch model, the search weights
README.md                      the model card
"""

import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from weakref import WeakSet

import numpy as np
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
from bert4so.ranking.search import HeadOutputs, decide
from bert4so.text.packing import Packer, Row

# onnxruntime 1.29 and later send telemetry about models to Microsoft by default, and a forked
# process hangs at exit, waiting for the telemetry thread. Must be set before the import.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime

FORMAT = 2
READABLE_FORMATS = (1, FORMAT)
"""The format of the folder, and those that this version reads. Since format 2 a graph may have the
outputs `before` and `next` in addition to `scores`, and export.json the search weights for them."""

OUTPUT_NAMES = ["scores", "before", "next"]
"""The outputs of a graph with three heads; other graphs have only the first."""

MAX_BATCH_TOKENS = 256
"""Maximum number of tokens per batch and core, including padding."""

Table = NDArray[np.float32]

FATAL_ONLY = 4
"""Log level of onnxruntime: its errors reach the user as exceptions, in one line."""


class ExportedModel:
    """An exported model: a `Backend`. Results do not depend on the other puzzles of a batch.

    It can be used by several threads at the same time, and by forked processes.

    weights: search weights, for a graph with three outputs; None for a graph with scores only.
    threads: maximum number of threads; None: one per core.
    """

    def __init__(
        self,
        path: Path,
        packer: Packer,
        weights: HeadWeights | None = None,
        threads: int | None = None,
    ) -> None:
        self.path = path
        self.packer = packer
        self.weights = weights
        self.threads = threads or cores()
        self._file = path.absolute()  # may be opened again after the current folder has changed
        self._sessions: dict[int, onnxruntime.InferenceSession] = {}
        _MODELS.add(self)
        self.input_names = [one.name for one in self._session(self.threads).get_inputs()]
        self.output_names = OUTPUT_NAMES if weights else OUTPUT_NAMES[:1]

    @classmethod
    def load(cls, folder: Path, threads: int | None = None) -> "ExportedModel":
        """Load the model of a folder, which may be untrusted."""
        facts = check_format(folder / "export.json")
        outputs = check_onnx(folder / "model.onnx")
        weights = _weights(folder / "export.json", facts) if len(outputs) > 1 else None
        return cls(folder / "model.onnx", Packer.load(folder), weights, threads)

    def _session(self, threads: int) -> onnxruntime.InferenceSession:
        """The session with this number of threads, opened on first use.

        Without a lock, because a fork could leave it locked: at worst, two threads each open a
        session, and one of these is dropped.
        """
        if threads not in self._sessions:
            self._sessions.setdefault(threads, _open(self._file, threads))
        return self._sessions[threads]

    def abandon_sessions(self) -> None:
        """Make a forked process open its own sessions.

        It inherits its parent's sessions without their threads. Using an inherited session, or
        closing it at exit, would wait for these threads forever, so an extra reference keeps each
        of them open.
        """
        import ctypes

        for session in self._sessions.values():
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(session))
        self._sessions = {}

    def check(self, puzzle: Puzzle) -> None:
        """Raise `UserError` for a puzzle that does not fit a row."""
        self.packer.pack(puzzle.sentences)

    def order(self, puzzles: Sequence[Puzzle]) -> list[Ordering]:
        """Return one ordering per puzzle, in the order of the puzzles."""
        rows = self.packer.pack_all([puzzle.sentences for puzzle in puzzles])
        outputs: dict[int, list[Table]] = {}
        batches = within_budget([len(row.ids) for row in rows], MAX_BATCH_TOKENS)
        results = self._run_all([[rows[i] for i in chosen] for chosen in batches])
        for chosen, tables in zip(batches, results, strict=True):
            outputs.update(zip(chosen, map(list, zip(*tables, strict=True)), strict=True))
        decisions = self._decide([(outputs[i], len(row.cut)) for i, row in enumerate(rows)])
        return [
            Ordering.of(puzzle, decision, np.flatnonzero(row.cut).tolist())
            for puzzle, decision, row in zip(puzzles, decisions, rows, strict=True)
        ]

    def _decide(self, outputs: Sequence[tuple[list[Table], int]]) -> list[Decision]:
        """Decide from the outputs for each document and its number of sentences."""
        if self.weights is None:
            return [ranked(scores[:n]) for (scores,), n in outputs]
        return decide([HeadOutputs.of_row(tables, n) for tables, n in outputs], self.weights)

    def _run_all(self, batches: Sequence[Sequence[Row]]) -> Iterator[list[Table]]:
        """The outputs for each batch: one array per head, with one row per document."""
        if len(batches) < 2:
            session = self._session(self.threads)
            yield from (self._run(session, rows) for rows in batches)
            return
        # One batch per core is faster than all cores on one batch.
        session = self._session(1)
        with ThreadPoolExecutor(self.threads) as pool:
            yield from pool.map(lambda rows: self._run(session, rows), batches)

    def _run(self, session: onnxruntime.InferenceSession, rows: Sequence[Row]) -> list[Table]:
        stacked = vars(self.packer.stack(rows))
        try:
            tables: list[Table] = session.run(
                self.output_names, {name: stacked[name] for name in self.input_names}
            )
            _check_tables(tables, stacked["mask"])
        except NotFiniteError as error:
            raise UserError(f"{self.path.parent}: {error}") from None
        except Exception as error:  # onnxruntime has no public exception class
            raise UserError(f"{self.path}: running the model failed: {first_line(error)}") from None
        return tables


_MODELS = WeakSet[ExportedModel]()


def _abandon_all() -> None:
    for model in _MODELS:
        model.abandon_sessions()


if sys.platform != "win32":  # Windows has no fork
    os.register_at_fork(after_in_child=_abandon_all)


def _check_tables(tables: Sequence[Table], mask: NDArray[np.bool_]) -> None:
    """Raise unless there is a finite value for each sentence, each pair and each successor."""
    documents, n = mask.shape
    shapes = [mask.shape, (documents, n, n), (documents, n + 1, n + 1)]
    ends = np.concatenate([mask, np.ones((documents, 1), np.bool_)], axis=1)
    real = [mask, mask[:, :, None] & mask[:, None], ends[:, :, None] & ends[:, None]]
    for name, table, shape, own in zip(OUTPUT_NAMES, tables, shapes, real, strict=False):
        if table.shape != shape:
            raise ValueError(f"the output {name} must have shape {shape} (has {table.shape})")
        check_finite(table[own])


def _weights(path: Path, facts: dict[str, Any]) -> HeadWeights:
    """The search weights in an export.json, of the preset that it selects."""
    search = inner_object(path, facts, "search")
    presets = inner_object(path, search, "weights")
    chosen = inner_object(path, presets, string(path, search, "decode"))
    check_keys(path, chosen, OUTPUT_NAMES)
    return HeadWeights(*(number(path, chosen, head, 0, MAX_WEIGHT) for head in OUTPUT_NAMES))


def _open(path: Path, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = FATAL_ONLY
    # Planning which tensors share memory takes most of the start-up time and saves no memory.
    options.enable_mem_reuse = False
    try:
        return onnxruntime.InferenceSession(
            path,
            options,
            providers=["CPUExecutionProvider"],
            # Otherwise it prints to stdout that it tries again.
            enable_fallback=0,
        )
    except Exception as error:  # onnxruntime has no public exception class
        reason = first_line(error)
        raise UserError(f"{path}: not a model that onnxruntime can read: {reason}") from None


def check_format(path: Path) -> dict[str, Any]:
    """Read an export.json; raise `UserError` if this version does not support its format."""
    facts = read_object(path)
    if "format" not in facts:
        raise UserError(f"{path.parent}: not written by `bert4so export`: no format in {path.name}")
    if facts["format"] not in READABLE_FORMATS:
        raise UserError(
            f"{path.parent}: has format {quote(facts['format'])}, but this version reads formats "
            f"{' and '.join(map(str, READABLE_FORMATS))}: pip install --upgrade bert4so"
        )
    return facts
