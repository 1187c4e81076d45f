"""BERT4SO without PyTorch: an exported model on onnxruntime.

A folder that `bert4so export` wrote holds

model.onnx                     rows to what the model's heads say
tokenizer.json, layout.json    sentences to rows
config.json                    the encoder's, for those who train on
export.json                    what it was made of, how near it came to that, the search's weights
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
from bert4so.ranking.search import Reading, decide
from bert4so.text.packing import Packer, Row

# onnxruntime 1.29 and later send data about models to Microsoft by default, and a forked process
# waits at its end for the thread that does. This has to be set before the import.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime

FORMAT = 2
READABLE = (1, FORMAT)
"""The format of the folder, and those that this version reads. Since format 2 a graph may have the
outputs `before` and `next` beside `scores`, and export.json the weights of the search for them."""

JOINT = ["scores", "before", "next"]
"""The outputs of a graph of a system that says more than scores."""

BUDGET = 256
"""Tokens, padding included, that a core scores at once."""

Table = NDArray[np.float32]

FATAL_ONLY = 4
"""Log level of onnxruntime: its errors reach the user as exceptions, in one line."""


class ExportedModel:
    """An exported model: a `Backend`. It answers a puzzle alone as it does among others.

    It may be used by many threads at once, and by processes that are forked from this one.

    weights: of the search, for a graph with outputs beside the scores; None for scores alone.
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
        self._file = path.absolute()  # it is opened again where the current folder may be another
        self._sessions: dict[int, onnxruntime.InferenceSession] = {}
        _MODELS.add(self)
        self.wanted = [wanted.name for wanted in self._session(self.threads).get_inputs()]
        self.heads = JOINT if weights else JOINT[:1]

    @classmethod
    def load(cls, folder: Path, threads: int | None = None) -> "ExportedModel":
        """The model of a folder, which may come from a stranger."""
        facts = check_format(folder / "export.json")
        outputs = check_onnx(folder / "model.onnx")
        weights = _weights(folder / "export.json", facts) if len(outputs) > 1 else None
        return cls(folder / "model.onnx", Packer.load(folder), weights, threads)

    def _session(self, threads: int) -> onnxruntime.InferenceSession:
        """The session with so many threads, opened where it is needed for the first time.

        Without a lock, which a fork could leave locked: at worst two threads open a session each,
        and one of them is dropped.
        """
        if threads not in self._sessions:
            self._sessions.setdefault(threads, _open(self._file, threads))
        return self._sessions[threads]

    def abandon_sessions(self) -> None:
        """Let a forked process open its own sessions.

        It has those of its parent, but not their threads: to use one, or to close one at the end of
        the process, would wait for these forever. So one more reference keeps each of them open.
        """
        import ctypes

        for session in self._sessions.values():
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(session))
        self._sessions = {}

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
            session = self._session(self.threads)
            yield from (self._ask(session, rows) for rows in batches)
            return
        # One batch per core is faster than all cores on one batch.
        session = self._session(1)
        with ThreadPoolExecutor(self.threads) as pool:
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


_MODELS = WeakSet[ExportedModel]()


def _abandon_all() -> None:
    for model in _MODELS:
        model.abandon_sessions()


if sys.platform != "win32":  # which does not fork
    os.register_at_fork(after_in_child=_abandon_all)


def _check_tables(tables: Sequence[Table], mask: NDArray[np.bool_]) -> None:
    """Refuse outputs without a value for each sentence, each pair and each successor."""
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


def _open(path: Path, threads: int) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.log_severity_level = FATAL_ONLY
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
