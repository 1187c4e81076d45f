"""Write the history of a run as JSON lines, as TensorBoard files, and as a plot."""

import json
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from bert4so.training.history import History, Step, Validation

KEYS = {"padded_tokens": "cells", "cpu_seconds": "spent"}
"""Keys in history.jsonl that differ from the names of the fields of `Step`."""


class Recorder:
    """Writes history.jsonl during training, and TensorBoard files if TensorBoard is installed."""

    def __init__(self, folder: Path | None, history: History) -> None:
        """Rewrite the history so far, without steps after the snapshot that a run resumes from.

        folder: None, in all processes except the main one, writes nothing.
        """
        self.folder = folder or Path()
        self.lines = None if folder is None else (folder / "history.jsonl").open("w")
        self.board = None if folder is None else _board(folder, len(history.steps) + 1)
        self.usual_hook = threading.excepthook
        events: list[Step | Validation] = [*history.steps, *history.validations]
        for event in sorted(events, key=lambda event: event.step):
            self._write(event)

    def __enter__(self) -> Self:
        threading.excepthook = self._in_thread
        return self

    def __exit__(self, *error: object) -> None:
        with ExitStack() as steps:  # runs all of them even if one fails, the last one first
            steps.callback(setattr, threading, "excepthook", self.usual_hook)
            steps.callback(self._close_board)
            steps.callback(self._close_lines)

    def step(self, step: Step) -> None:
        """Write a step."""
        self._write(step)
        self._plot(step.step, {"train/loss": step.loss, "train/learning_rate": step.learning_rate})

    def validation(self, validation: Validation) -> None:
        """Write a validation."""
        self._write(validation)
        metrics = validation.metrics
        self._plot(validation.step, {"valid/tau": metrics.tau, "valid/pmr": metrics.pmr})

    def _write(self, event: Step | Validation) -> None:
        if self.lines is not None:
            with _naming(self.folder / "history.jsonl"):
                record = {KEYS.get(name, name): value for name, value in asdict(event).items()}
                self.lines.write(json.dumps(record) + "\n")
                self.lines.flush()

    def _plot(self, step: int, values: dict[str, float]) -> None:
        if self.board is not None:
            with _naming(self.folder / "tensorboard"):
                for name, value in values.items():
                    self.board.add_scalar(name, value, step)

    def _close_lines(self) -> None:
        if self.lines is not None:
            with _naming(self.folder / "history.jsonl"):
                self.lines.close()

    def _close_board(self) -> None:
        if self.board is not None:
            with _naming(self.folder / "tensorboard"):
                self.board.close()

    def _in_thread(self, args: threading.ExceptHookArgs) -> None:
        """Ignore OS errors, such as a full disk, in TensorBoard's thread: the next call raises."""
        if not issubclass(args.exc_type, OSError):
            self.usual_hook(args)


@contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Add the path to an OSError: that of a failed write has none."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None


def _board(folder: Path, step: int) -> Any:
    """TensorBoard's writer, or None if it is not installed; discards events from `step` on."""
    if find_spec("tensorboard") is None:
        return None
    from torch.utils.tensorboard import SummaryWriter

    return SummaryWriter(str(folder / "tensorboard"), purge_step=step)


def plot_history(history: History, path: Path) -> None:
    """Write a PNG: the loss on the left, validation metrics on the right."""
    figure = Figure(figsize=(9, 3.5), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    left.plot([s.step for s in history.steps], [s.loss for s in history.steps], linewidth=0.8)
    left.set(xlabel="step", ylabel="loss", title="training")
    steps = [v.step for v in history.validations]
    right.plot(steps, [v.metrics.tau for v in history.validations], "o-", label="τ")
    right.plot(steps, [v.metrics.pmr for v in history.validations], "s-", label="PMR")
    right.axvline(history.best.step, color="gray", linestyle=":", label="chosen")
    right.set(xlabel="step", title="validation")
    right.legend()
    figure.savefig(path, dpi=120)
