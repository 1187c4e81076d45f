"""The state of a run: its model, optimizer and history, and what remains to do."""

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
from bert4so.training.start import initial_model


class Trainer:
    """A run in progress. In a distributed job every process has one; the main process writes."""

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
        self.is_main = self.accelerator.is_main_process
        torch.manual_seed(run.seed)
        # The main process first: the others use what it has cached.
        with self.accelerator.main_process_first():
            self.model = initial_model(run, splits.train)
            self.model.input.prepare([*splits.valid, *splits.test])
        self.splits = _fitting(self.model, splits, on_bad)
        _check_enough(self.splits, has_test=bool(splits.test))
        self.documents = hash_splits(self.splits)
        self.sizes = [self.model.input.size(shuffle(d, run.seed)) for d in self.splits.train]
        self.steps_per_epoch = -(-len(self.splits.train) // run.train.batch)
        # Unknown for a run with a time limit.
        self.steps = None if run.minutes else run.train.epochs * self.steps_per_epoch
        self.learner = Learner(self.accelerator, self.model, run.train)
        # All processes start with the same weights, but their dropout differs.
        torch.manual_seed(run.seed + self.accelerator.process_index)
        self.history = History()

    def begin(self, snapshot: Snapshot | None) -> None:
        """Prepare the folder, and restore the snapshot if there is one."""
        with refuse_together():
            _utf_8(str(self.folder))  # TensorBoard needs it
            configuration = _utf_8(dump_toml(self.run))
            if snapshot is not None:
                self._restore(snapshot)
        if self.is_main:
            self.folder.mkdir(parents=True, exist_ok=True)
            # Replace the input of an earlier run in this folder, or damaged files.
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
        """The remaining epochs, until the end of the run or of its patience."""
        for epoch in count(self.history.steps[-1].epoch if self.history.steps else 1):
            yield epoch
            patience = 0 if self.run.minutes else self.run.train.patience
            if self.progress >= 1 or self.history.patience_exhausted(patience):
                return

    @property
    def progress(self) -> float:
        """The fraction of the run that is completed."""
        return self._progress_after(len(self.history.steps))

    def _progress_after(self, taken: int) -> float:
        """The fraction of the run completed after `taken` steps: of its time, if it is limited."""
        if self.steps is not None:
            return taken / self.steps
        return self.history.steps[taken - 1].cpu_seconds / (60 * self.run.minutes) if taken else 0.0

    @property
    def is_due(self) -> bool:
        """Whether to validate now, after the last step."""
        taken, shares = len(self.history.steps), self.run.validations
        last = self.history.validations[-1].step if self.history.validations else 0
        if last == taken:
            return False
        if shares:
            return int(shares * self.progress) > int(shares * self._progress_after(last))
        return taken % self.steps_per_epoch == 0 or self.progress >= 1

    def learn(self, epoch: int) -> Iterator[Step]:
        """Train on every document once, shuffled anew; yields each step.

        Skips the steps of the epoch that are in the history. Stops when the time is up.
        """
        seen = len(self.history.steps) - (epoch - 1) * self.steps_per_epoch
        for chosen in self._batches(epoch)[seen:]:
            if self.run.minutes and self.progress >= 1:
                return
            last = self.history.steps[-1] if self.history.steps else None
            clock = Clock(on_cpu=self.accelerator.device.type == "cpu")
            result = self.learner.step(self._puzzles(chosen, epoch), self._rate())
            step = Step(
                step=len(self.history.steps) + 1,
                epoch=epoch,
                loss=result.loss,
                learning_rate=result.learning_rate,
                tokens=result.tokens,
                padded_tokens=result.padded_tokens,
                # Time between steps does not count.
                seconds=(last.seconds if last else 0.0) + clock.seconds(),
                cpu_seconds=(last.cpu_seconds if last else 0.0) + self._mean(clock.cpu_seconds()),
            )
            self.history.steps.append(step)
            yield step

    def validate(self) -> Validation:
        """Evaluate the model on the validation documents; save it if it is the best so far."""
        epoch = self.history.steps[-1].epoch
        metrics = measure(solve_together(self.model, self.splits.valid, self.splits.seed))
        validation = Validation(len(self.history.steps), epoch, metrics)
        self.history.validations.append(validation)
        if self.is_main:
            loss = self.history.steps[-1].loss
            total = "" if self.run.minutes else f"/{self.run.train.epochs}"
            say(f"epoch {epoch}{total}  loss {loss:.3f}  validation {metrics}")
        if self.is_main and self.history.best is validation:
            save_model(self.folder, self.run, self.model)
        return validation

    def agree(self, own: bool) -> bool:
        """Whether `own` is true in any process, so that all processes do the same."""
        if own:
            self.accelerator.set_trigger()
        agreed: bool = self.accelerator.check_trigger()
        return agreed

    def snapshot(self) -> None:
        """Write the state of the run to disk."""
        tensors, facts = self.learner.state()
        if self.is_main:
            values = self.run.model_dump()
            write_snapshot(
                self.folder, Snapshot(values, self.history, facts, tensors, self.documents)
            )

    def _rate(self) -> float:
        """The current fraction of the maximum learning rate."""
        training, taken = self.run.train, len(self.history.steps)
        if self.steps is None:
            if training.schedule == "epochs":
                return by_time(training.epochs, training.decay)(self.progress)
            return linear_in_time(training.warmup)(self.progress)
        if training.schedule == "epochs":
            return by_epoch(self.steps_per_epoch, training.decay)(taken)
        return linear(self.steps, training.warmup)(taken)

    def _mean(self, seconds: float) -> float:
        """The mean over the processes, so that all of them stop and validate at the same step."""
        own = torch.tensor(seconds, device=self.accelerator.device)
        return float(self.accelerator.reduce(own, "mean"))

    def _batches(self, epoch: int) -> list[list[int]]:
        ids = [document.id for document in self.splits.train]
        return self.batching(ids, self.sizes, self.run.train.batch, self.run.seed, epoch)

    def _puzzles(self, chosen: Sequence[int], epoch: int) -> list[Puzzle]:
        return [shuffle(self.splits.train[i], f"{self.run.seed}/{epoch}") for i in chosen]


def _fitting(model: OrderingModel[Any], splits: Corpus, on_bad: OnBad) -> Corpus:
    """The documents that the model can order; calls `on_bad` for each of the others.

    Also checks the test documents, so that errors come before training.
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
    """Raise for splits that are too small to train or evaluate on; a test split is optional."""
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
    """Encode the text; raise `UserError` for a path in it that is not UTF-8."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        line = text.splitlines()[text.count("\n", 0, error.start)]
        raise UserError(
            f"not UTF-8: {quote(line)}: rename this file or folder, or choose another"
        ) from None


def check_same(saved: Values, run: RunConfig, folder: Path) -> None:
    """Raise `UserError` if a run would be resumed with another configuration.

    Keys that the saved configuration lacks, because they are newer, have their defaults.
    """
    started = make_run(saved, str(folder))
    if changed := difference(started.model_dump(), run.model_dump()):
        key, was, now = changed
        raise UserError(
            f"{folder} was started with {key} = {was}: cannot resume with {key} = {now}"
        )


def check_documents(saved: dict[str, str], now: dict[str, str], folder: Path) -> None:
    """Raise `UserError` if a run would be resumed with other documents or other shuffles.

    saved, now: hashes of the splits and the shuffle seed; see `data.corpus.hashes`.
    """
    names = {
        "train": "training documents",
        "valid": "validation documents",
        "test": "test documents",
        "seed": "shuffle seed (in corpus.json)",
    }
    changed = [name for key, name in names.items() if saved.get(key) != now[key]]
    if changed:
        raise UserError(
            f"{folder}: cannot resume: changed since the run was started: {', '.join(changed)}; "
            "restore the corpus, or choose another folder with --out"
        )
