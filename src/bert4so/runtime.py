"""BERT4SO without PyTorch: an exported model on onnxruntime.

A folder that `bert4so export` wrote holds

model.onnx                     rows to scores
tokenizer.json, layout.json    sentences to rows
config.json                    the encoder's, for those who train on
export.json                    what it was made of, and how near it came to that
README.md                      the model card
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
from numpy.typing import NDArray

from bert4so.data.batches import within_budget
from bert4so.document import Ordering, Puzzle
from bert4so.errors import UserError
from bert4so.machine import cores
from bert4so.packing import Packer, Row
from bert4so.ranking import ranked

FORMAT = 1
"""The form of the folder. A folder of another form is refused, not guessed at."""

BUDGET = 1024
"""Tokens, padding included, that are scored at once."""

QUIET = 3
"""onnxruntime's number for: errors only."""


class ExportedModel:
    """An exported model: a `Backend`. It answers a puzzle alone as it does among others."""

    def __init__(self, session: onnxruntime.InferenceSession, packer: Packer) -> None:
        self.session = session
        self.packer = packer
        self.wanted = [wanted.name for wanted in session.get_inputs()]

    @classmethod
    def load(cls, folder: Path) -> "ExportedModel":
        """The model of a folder, on as many threads as there are cores."""
        _check_form(folder / "export.json")
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = cores()
        options.log_severity_level = QUIET
        # To plan which tensors share memory takes most of a session's start, and saves none.
        options.enable_mem_reuse = False
        path = folder / "model.onnx"
        try:
            session = onnxruntime.InferenceSession(
                path, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime has no exception of its own that is public
            reason = str(error).strip().splitlines()[0]
            raise UserError(f"{path}: not a model that onnxruntime can read: {reason}") from None
        return cls(session, Packer.load(folder))

    def check(self, puzzle: Puzzle) -> None:
        """Raise `UserError` for a puzzle that does not fit a row."""
        self.packer.pack(puzzle.sentences)

    def order(self, puzzles: Sequence[Puzzle]) -> list[Ordering]:
        """One ordering a puzzle, in the order of the puzzles."""
        rows = self.packer.pack_all([puzzle.sentences for puzzle in puzzles])
        found: dict[int, Ordering] = {}
        for chosen in within_budget([len(row.ids) for row in rows], BUDGET):
            for i, scores in zip(chosen, self.scores([rows[i] for i in chosen]), strict=True):
                cut = np.flatnonzero(rows[i].cut).tolist()
                found[i] = Ordering.of(puzzles[i], ranked(scores), cut)
        return [found[i] for i in range(len(puzzles))]

    def scores(self, rows: Sequence[Row]) -> list[NDArray[np.float32]]:
        """The scores of the sentences of each row."""
        stacked = vars(self.packer.stack(rows))
        table: Any = self.session.run(None, {name: stacked[name] for name in self.wanted})[0]
        return [line[: len(row.cut)] for line, row in zip(table, rows, strict=True)]


def _check_form(path: Path) -> None:
    """Refuse a folder that is not of the form that this version reads."""
    try:
        form = json.loads(path.read_text(encoding="utf-8"))["format"]
    except (OSError, ValueError, KeyError, TypeError):
        raise UserError(f"{path.parent}: not what `bert4so export` wrote") from None
    if form != FORMAT:
        raise UserError(
            f"{path.parent}: of form {form}, but this version reads form {FORMAT}: "
            "pip install --upgrade bert4so"
        )
