"""The one training loop: a system, a corpus, and a folder to be filled."""

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.utils import gather_object

from bert4so.atomic import write_whole
from bert4so.checkpoint import save_model
from bert4so.config import Run, dump_toml
from bert4so.curves import Recorder
from bert4so.data.batches import epoch_batches
from bert4so.data.corpus import read_split
from bert4so.data.shuffle import shuffle
from bert4so.document import Document, Puzzle
from bert4so.errors import Stopped, UserError
from bert4so.evaluate import Solved, measure, solve
from bert4so.history import History, Step, Validation
from bert4so.interrupt import Interrupt
from bert4so.learner import Learner
from bert4so.model import OrderingModel
from bert4so.models import MODELS
from bert4so.progress import progress_bar, say
from bert4so.snapshot import Snapshot, newest_snapshot, write_snapshot


def train(
    run: Run, corpus: Path, folder: Path, resume: bool = False, snapshot_minutes: float = 5
) -> History | None:
    """Learn from the training documents; leave in the folder what validation finds best.

    Where the run is stopped, by whatever, `resume` goes on from its last snapshot, to the same
    weights. Of many processes, the first gives the history; the others give None.
    """
    trainer = Trainer(run, read_split(corpus, "train"), read_split(corpus, "valid"), folder)
    trainer.begin(newest_snapshot(folder) if resume else None)
    saved = time.monotonic()
    with (
        Interrupt() as interrupt,
        Recorder(folder if trainer.first else None, trainer.history) as recorder,
        progress_bar(f"training {run.system}", trainer.steps, trainer.first) as advance,
    ):
        advance(len(trainer.history.steps))
        for epoch in range(1, run.train.epochs + 1):
            for step in trainer.learn(epoch):
                recorder.step(step)
                advance(1, f"epoch {epoch}  loss {step.loss:.3f}")
                overdue = time.monotonic() - saved >= 60 * snapshot_minutes
                if trainer.agree(overdue or interrupt.asked):
                    trainer.snapshot()
                    saved = time.monotonic()
                if trainer.agree(interrupt.asked):
                    raise Stopped(f"stopped; {folder} can be continued with --resume")
            if len(trainer.history.validations) < epoch:
                recorder.validation(trainer.validate(epoch))
                trainer.snapshot()
    return trainer.history if trainer.first else None


class Trainer:
    """A run under way. In each of many processes there is one, and the first writes the folder."""

    def __init__(
        self, run: Run, learned: Sequence[Document], held_out: Sequence[Document], folder: Path
    ) -> None:
        self.run, self.learned, self.held_out, self.folder = run, learned, held_out, folder
        self.accelerator = Accelerator(
            # Not asked to use the CPU, accelerate lets each process of many there train by itself.
            cpu=not torch.accelerator.is_available(),
            mixed_precision="bf16" if run.train.precision == "bf16" else "no",
            gradient_accumulation_steps=run.train.accumulate,
        )
        self.first = self.accelerator.is_main_process
        torch.manual_seed(run.seed)
        self.model = _start(run, learned)
        self.sizes = _sizes(self.model, learned)
        _sizes(self.model, held_out)
        self.steps_an_epoch = -(-len(learned) // run.train.batch)
        self.steps = run.train.epochs * self.steps_an_epoch
        self.learner = Learner(self.accelerator, self.model, run.train, self.steps)
        # The weights start the same in every process; what is dropped out differs.
        torch.manual_seed(run.seed + self.accelerator.process_index)
        self.history = History()

    def begin(self, snapshot: Snapshot | None) -> None:
        """Make the folder ready, and go to where the snapshot was taken."""
        if snapshot is not None:
            _check_same(snapshot.run, self.run.model_dump(), self.folder)
            self.learner.restore(snapshot.tensors, snapshot.learner)
            self.history = snapshot.history
        if self.first:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(self.folder / "run.toml", dump_toml(self.run).encode())

    def learn(self, epoch: int) -> Iterator[Step]:
        """See every document once, freshly shuffled; tells of each step.

        What the history has of the epoch is passed over.
        """
        seen = len(self.history.steps) - (epoch - 1) * self.steps_an_epoch
        before = self.history.steps[-1].seconds if self.history.steps else 0.0
        began = time.perf_counter()
        for chosen in self._batches(epoch)[max(seen, 0) :]:
            taken = self.learner.step(self._puzzles(chosen, epoch))
            step = Step(
                step=len(self.history.steps) + 1,
                epoch=epoch,
                loss=taken.loss,
                learning_rate=taken.learning_rate,
                tokens=taken.tokens,
                cells=taken.cells,
                seconds=before + time.perf_counter() - began,
            )
            self.history.steps.append(step)
            yield step

    def validate(self, epoch: int) -> Validation:
        """Measure the model, and keep it where it is the best so far."""
        metrics = measure(self._solve_together())
        validation = Validation(len(self.history.steps), epoch, metrics)
        self.history.validations.append(validation)
        if self.first:
            loss = self.history.steps[-1].loss
            say(f"epoch {epoch}/{self.run.train.epochs}  loss {loss:.3f}  validation {metrics}")
        if self.first and self.history.best is validation:
            save_model(self.folder, self.run, self.model)
        return validation

    def agree(self, wanted: bool) -> bool:
        """Whether any of the processes wants it: all must do the same."""
        if wanted:
            self.accelerator.set_trigger()
        agreed: bool = self.accelerator.check_trigger()
        return agreed

    def snapshot(self) -> None:
        """Put on disk where the run stands."""
        tensors, facts = self.learner.state()
        if self.first:
            write_snapshot(
                self.folder, Snapshot(self.run.model_dump(), self.history, facts, tensors)
            )

    def _batches(self, epoch: int) -> list[list[int]]:
        ids = [document.id for document in self.learned]
        return epoch_batches(ids, self.sizes, self.run.train.batch, self.run.seed, epoch)

    def _puzzles(self, chosen: Sequence[int], epoch: int) -> list[Puzzle]:
        return [shuffle(self.learned[i], f"{self.run.seed}/{epoch}") for i in chosen]

    def _solve_together(self) -> list[Solved]:
        """The validation documents, each solved by one of the processes."""
        accelerator = self.accelerator
        own = self.held_out[accelerator.process_index :: accelerator.num_processes]
        solved: list[Solved] = gather_object(solve(self.model, own))
        return solved


def _start(run: Run, documents: Sequence[Document]) -> OrderingModel[Any]:
    """The model as it is before it has learned anything here."""
    system = MODELS[run.system]
    model = system.build(run.model, system.make_input(run.model, documents))
    system.initialize(model, run.model)
    return model


def _sizes(model: OrderingModel[Any], documents: Sequence[Document]) -> list[int]:
    """The size of each document; an error names the one that does not fit."""
    sizes = []
    for document in documents:
        try:
            sizes.append(model.input.size(Puzzle(document.sentences)))
        except UserError as error:
            raise UserError(f'document "{document.id}": {error}') from None
    return sizes


def _check_same(begun: dict[str, Any], asked: dict[str, Any], folder: Path) -> None:
    """Refuse to go on with a run by another configuration."""
    before, now = dict(_leaves(begun)), dict(_leaves(asked))
    for key in sorted(before.keys() | now.keys()):
        if before.get(key) != now.get(key):
            was = f"{key} = {before.get(key)!r}"
            raise UserError(f"{folder} was begun with {was}: it cannot go on with {now.get(key)!r}")


def _leaves(values: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a tree, each by its dotted name."""
    for key, value in values.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value
