"""A run under way: what it has learned so far, and what is left."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator

from bert4so.common.progress import say
from bert4so.common.value_trees import difference
from bert4so.config.schema import RunConfig, Values
from bert4so.config.toml import dump_toml
from bert4so.data.batches import Batching, epoch_batches
from bert4so.data.corpus import Corpus, hash_splits
from bert4so.data.shuffle import shuffle
from bert4so.document import Document, Puzzle
from bert4so.errors import UserError, quote, shorten
from bert4so.evaluation.evaluate import measure
from bert4so.inference.backend import fits
from bert4so.io.atomic import write_atomic
from bert4so.io.on_error import OnBad, stop
from bert4so.modeling.base import OrderingModel
from bert4so.systems.run_config import make_run
from bert4so.training.checkpoint import load_weights, save_input, save_model
from bert4so.training.clock import Clock
from bert4so.training.distributed import on_cpu, refuse_together, solve_together
from bert4so.training.history import History, Step, Validation
from bert4so.training.learner import Learner
from bert4so.training.schedule import by_epoch, by_time, linear, linear_in_time
from bert4so.training.snapshot import Snapshot, write_snapshot
from bert4so.training.start import first_model


class Trainer:
    """A run under way. In each of many processes there is one, and the first writes the folder."""

    def __init__(
        self,
        run: RunConfig,
        splits: Corpus,
        folder: Path,
        on_bad: OnBad = stop,
        batching: Batching = epoch_batches,
    ) -> None:
        self.run, self.folder, self.batching = run, folder, batching
        self.accelerator = Accelerator(
            cpu=on_cpu(),
            mixed_precision="bf16" if run.train.precision == "bf16" else "no",
            gradient_accumulation_steps=run.train.accumulate,
        )
        self.first = self.accelerator.is_main_process
        torch.manual_seed(run.seed)
        # What the first finds out of the documents, and keeps, the others find there.
        with self.accelerator.main_process_first():
            self.model = first_model(run, splits.train)
            self.model.input.prepare([*splits.valid, *splits.test])
        self.splits = _fitting(self.model, splits, on_bad)
        _check_enough(self.splits, has_test=bool(splits.test))
        self.documents = hash_splits(self.splits)
        self.sizes = [self.model.input.size(shuffle(d, run.seed)) for d in self.splits.train]
        self.steps_an_epoch = -(-len(self.splits.train) // run.train.batch)
        # How many they will be is not known of a run by the clock.
        self.steps = None if run.minutes else run.train.epochs * self.steps_an_epoch
        self.learner = Learner(self.accelerator, self.model, run.train)
        # The weights start the same in every process; what is dropped out differs.
        torch.manual_seed(run.seed + self.accelerator.process_index)
        self.history = History()

    def begin(self, snapshot: Snapshot | None) -> None:
        """Prepare the folder, and return to the state of the snapshot."""
        with refuse_together():
            _utf_8(str(self.folder))  # TensorBoard needs it
            configuration = _utf_8(dump_toml(self.run))
            if snapshot is not None:
                self._restore(snapshot)
        if self.first:
            self.folder.mkdir(parents=True, exist_ok=True)
            # Not those of an earlier run in this folder, nor damaged files.
            save_input(self.folder, self.model)
            write_atomic(self.folder / "run.toml", configuration)
        self.accelerator.wait_for_everyone()
        with refuse_together():
            if not (self.folder / "run.toml").exists():
                raise UserError(f"{self.folder} must be a folder that all machines share")

    def _restore(self, snapshot: Snapshot) -> None:
        check_same(snapshot.run, self.run, self.folder)
        if snapshot.documents:
            check_documents(snapshot.documents, self.documents, self.folder)
        else:
            say(
                f"{self.folder}: the snapshot is of an earlier version and has no hashes of the "
                "documents: cannot check whether the corpus has changed"
            )
        if snapshot.history.validations:
            load_weights(self.folder / "model.safetensors")  # the best so far: it may be the last
        self.learner.restore(snapshot.tensors, snapshot.learner)
        self.history = snapshot.history

    def epochs(self) -> Iterator[int]:
        """The epochs that are left, to the last that patience or the clock allows."""
        for epoch in count(self.history.steps[-1].epoch if self.history.steps else 1):
            yield epoch
            waited = not self.run.minutes and self.history.waited(self.run.train.patience)
            if self.spent >= 1 or waited:
                return

    @property
    def spent(self) -> float:
        """The share of the run that is over."""
        return self._share(len(self.history.steps))

    def _share(self, taken: int) -> float:
        """The share of the run that so many steps are: of its time, where that has a limit."""
        if self.steps is not None:
            return taken / self.steps
        return self.history.steps[taken - 1].spent / (60 * self.run.minutes) if taken else 0.0

    @property
    def is_due(self) -> bool:
        """Whether the model is to be validated now, after the last step."""
        taken, shares = len(self.history.steps), self.run.validations
        last = self.history.validations[-1].step if self.history.validations else 0
        if last == taken:
            return False
        if shares:
            return int(shares * self.spent) > int(shares * self._share(last))
        return taken % self.steps_an_epoch == 0 or self.spent >= 1

    def learn(self, epoch: int) -> Iterator[Step]:
        """See every document once, freshly shuffled; tells of each step.

        What the history has of the epoch is passed over. Ends when the time is up.
        """
        seen = len(self.history.steps) - (epoch - 1) * self.steps_an_epoch
        for chosen in self._batches(epoch)[seen:]:
            if self.run.minutes and self.spent >= 1:
                return
            last = self.history.steps[-1] if self.history.steps else None
            clock = Clock(on_cpu=self.accelerator.device.type == "cpu")
            taken = self.learner.step(self._puzzles(chosen, epoch), self._rate())
            step = Step(
                step=len(self.history.steps) + 1,
                epoch=epoch,
                loss=taken.loss,
                learning_rate=taken.learning_rate,
                tokens=taken.tokens,
                cells=taken.cells,
                # What is done between two steps is not counted.
                seconds=(last.seconds if last else 0.0) + clock.seconds(),
                spent=(last.spent if last else 0.0) + self._together(clock.spent()),
            )
            self.history.steps.append(step)
            yield step

    def validate(self) -> Validation:
        """Measure the model, and keep it where it is the best so far."""
        epoch = self.history.steps[-1].epoch
        metrics = measure(solve_together(self.model, self.splits.valid, self.splits.seed))
        validation = Validation(len(self.history.steps), epoch, metrics)
        self.history.validations.append(validation)
        if self.first:
            loss = self.history.steps[-1].loss
            of = "" if self.run.minutes else f"/{self.run.train.epochs}"
            say(f"epoch {epoch}{of}  loss {loss:.3f}  validation {metrics}")
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
        """Write the state of the run to disk."""
        tensors, facts = self.learner.state()
        if self.first:
            values = self.run.model_dump()
            write_snapshot(
                self.folder, Snapshot(values, self.history, facts, tensors, self.documents)
            )

    def _rate(self) -> float:
        """The share of the highest learning rate that is due."""
        training, taken = self.run.train, len(self.history.steps)
        if self.steps is None:
            if training.schedule == "epochs":
                return by_time(training.epochs, training.decay)(self.spent)
            return linear_in_time(training.warmup)(self.spent)
        if training.schedule == "epochs":
            return by_epoch(self.steps_an_epoch, training.decay)(taken)
        return linear(self.steps, training.warmup)(taken)

    def _together(self, seconds: float) -> float:
        """The mean over the processes: all must do the same at the same time."""
        own = torch.tensor(seconds, device=self.accelerator.device)
        return float(self.accelerator.reduce(own, "mean"))

    def _batches(self, epoch: int) -> list[list[int]]:
        ids = [document.id for document in self.splits.train]
        return self.batching(ids, self.sizes, self.run.train.batch, self.run.seed, epoch)

    def _puzzles(self, chosen: Sequence[int], epoch: int) -> list[Puzzle]:
        return [shuffle(self.splits.train[i], f"{self.run.seed}/{epoch}") for i in chosen]


def _fitting(model: OrderingModel[Any], splits: Corpus, on_bad: OnBad) -> Corpus:
    """The documents that the model can order; `on_bad` gets an error for each of the others.

    This happens before training, not in the final test.
    """

    def fitting(documents: Sequence[Document]) -> list[Document]:
        return [
            d
            for d in documents
            if fits(model, Puzzle(d.sentences), f'document "{shorten(d.id)}"', on_bad)
        ]

    return replace(
        splits,
        train=fitting(splits.train),
        valid=fitting(splits.valid),
        test=fitting(splits.test),
    )


def _check_enough(splits: Corpus, has_test: bool) -> None:
    """Refuse splits that cannot be trained or measured on; a corpus may have no test split."""
    parts = {"training": splits.train, "validation": splits.valid, "test": splits.test}
    for name, documents in parts.items():
        if not documents and (name != "test" or has_test):
            raise UserError(f"no {name} document can be used: training needs at least one")
        if documents and all(len(document.sentences) == 1 for document in documents):
            raise UserError(
                f"every {name} document has only one sentence: "
                "at least one must have two, to have an order"
            )


def _utf_8(text: str) -> bytes:
    """The text as bytes; refuse a path in it whose bytes are not UTF-8."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        line = text.splitlines()[text.count("\n", 0, error.start)]
        raise UserError(
            f"not UTF-8: {quote(line)}: rename this file or folder, or choose another"
        ) from None


def check_same(begun: Values, asked: RunConfig, folder: Path) -> None:
    """Refuse to resume a run with another configuration.

    Keys that are newer than the run have their defaults.
    """
    known = make_run(begun, str(folder))
    if found := difference(known.model_dump(), asked.model_dump()):
        key, was, now = found
        raise UserError(
            f"{folder} was started with {key} = {was}: cannot resume with {key} = {now}"
        )


def check_documents(begun: dict[str, str], now: dict[str, str], folder: Path) -> None:
    """Refuse to resume a run with other documents, or with other shuffles of them."""
    names = {
        "train": "training documents",
        "valid": "validation documents",
        "test": "test documents",
        "seed": "shuffle seed (in corpus.json)",
    }
    changed = [name for key, name in names.items() if begun.get(key) != now[key]]
    if changed:
        raise UserError(
            f"{folder}: cannot resume: changed since the run was started: {', '.join(changed)}; "
            "restore the corpus, or choose another folder with --out"
        )
