"""BERT4SO without PyTorch: an exported model on onnxruntime.

A folder that `bert4so export` wrote holds

model.onnx                     rows to scores
tokenizer.json, layout.json    sentences to rows
config.json                    the encoder's, for those who train on
export.json                    what it was made of, and how near it came to that
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
from bert4so.document import Ordering, Puzzle
from bert4so.errors import UserError, quote
from bert4so.inference.onnx_check import check_onnx
from bert4so.io.model_files import first_line, read_object
from bert4so.ranking.plackett_luce import NotFiniteError, check_finite, ranked
from bert4so.text.packing import Packer, Row

# onnxruntime 1.29 and later send data about models to Microsoft by default, and a forked process
# waits at its end for the thread that does. This has to be set before the import.
os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")

import onnxruntime

FORMAT = 1
"""The format of the folder. A folder of another format is refused."""

BUDGET = 256
"""Tokens, padding included, that a core scores at once."""

QUIET = 3
"""onnxruntime's number for: errors only."""


class ExportedModel:
    """An exported model: a `Backend`. It answers a puzzle alone as it does among others.

    It may be used by many threads at once, and by processes that are forked from this one.

    threads: how many it may use; None: one per core.
    """

    def __init__(self, path: Path, packer: Packer, threads: int | None = None) -> None:
        self.path = path
        self.packer = packer
        self.threads = threads or cores()
        self._file = path.absolute()  # it is opened again where the current folder may be another
        self._sessions: dict[int, onnxruntime.InferenceSession] = {}
        _MODELS.add(self)
        self.wanted = [wanted.name for wanted in self._session(self.threads).get_inputs()]

    @classmethod
    def load(cls, folder: Path, threads: int | None = None) -> "ExportedModel":
        """The model of a folder, which may come from a stranger."""
        check_format(folder / "export.json")
        check_onnx(folder / "model.onnx")
        return cls(folder / "model.onnx", Packer.load(folder), threads)

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
        found: dict[int, Ordering] = {}
        batches = within_budget([len(row.ids) for row in rows], BUDGET)
        scored = self._scored([[rows[i] for i in chosen] for chosen in batches])
        for chosen, table in zip(batches, scored, strict=True):
            for i, scores in zip(chosen, table, strict=True):
                cut = np.flatnonzero(rows[i].cut).tolist()
                found[i] = Ordering.of(puzzles[i], ranked(scores[: len(rows[i].cut)]), cut)
        return [found[i] for i in range(len(puzzles))]

    def _scored(self, batches: Sequence[Sequence[Row]]) -> Iterator[NDArray[np.float32]]:
        """A line of scores for each row of each batch."""
        if len(batches) < 2:
            session = self._session(self.threads)
            yield from (self._scores(session, rows) for rows in batches)
            return
        # One batch per core is faster than all cores on one batch.
        session = self._session(1)
        with ThreadPoolExecutor(self.threads) as pool:
            yield from pool.map(lambda rows: self._scores(session, rows), batches)

    def _scores(
        self, session: onnxruntime.InferenceSession, rows: Sequence[Row]
    ) -> NDArray[np.float32]:
        stacked = vars(self.packer.stack(rows))
        try:
            table: NDArray[np.float32] = session.run(
                ["scores"], {name: stacked[name] for name in self.wanted}
            )[0]
            _check_scores(table, stacked["mask"])
        except NotFiniteError as error:
            raise UserError(f"{self.path.parent}: {error}") from None
        except Exception as error:  # onnxruntime has no exception of its own that is public
            raise UserError(f"{self.path}: the model fails: {first_line(error)}") from None
        return table


_MODELS = WeakSet[ExportedModel]()


def _abandon_all() -> None:
    for model in _MODELS:
        model.abandon_sessions()


if sys.platform != "win32":  # which does not fork
    os.register_at_fork(after_in_child=_abandon_all)


def _check_scores(table: NDArray[np.float32], mask: NDArray[np.bool_]) -> None:
    """Refuse a table of scores that does not have one for each sentence."""
    if table.shape != mask.shape:
        raise ValueError(f"it gives scores of the shape {table.shape}, not {mask.shape}")
    check_finite(table[mask])


def _open(path: Path, threads: int) -> onnxruntime.InferenceSession:
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
    if given["format"] != FORMAT:
        raise UserError(
            f"{path.parent}: has format {quote(given['format'])}, but this version reads format "
            f"{FORMAT}: pip install --upgrade bert4so"
        )
    return given
