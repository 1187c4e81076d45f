"""The one training loop: a system, a corpus, and a folder to be filled."""

import time
from pathlib import Path

from bert4so.common.progress import progress_bar
from bert4so.config.schema import RunConfig
from bert4so.data.corpus import Corpus
from bert4so.errors import Stopped
from bert4so.evaluation.metrics import Metrics
from bert4so.io.on_error import OnBad, stop
from bert4so.training.curves import Recorder
from bert4so.training.interrupt import Interrupt
from bert4so.training.run_report import write_report
from bert4so.training.snapshot import clear_snapshots, newest_snapshot
from bert4so.training.trainer import Trainer


def train(
    run: RunConfig,
    splits: Corpus,
    folder: Path,
    command: str,
    resume: bool = False,
    snapshot_minutes: float = 5,
    on_bad: OnBad = stop,
) -> dict[str, Metrics]:
    """Train a model and keep the one with the best validation in the folder.

    resume:  continue from the newest snapshot, if there is one, to the same weights as without a
             stop.
    command: for the report.

    No other process may use the folder: see `hold_folder`.
    """
    trainer = Trainer(run, splits, folder, on_bad)
    trainer.begin(newest_snapshot(folder) if resume else None)
    _learn(trainer, snapshot_minutes)
    epoch_tokens = sum(trainer.sizes)
    measured = write_report(run, trainer.splits, folder, trainer.history, epoch_tokens, command)
    if trainer.first:
        clear_snapshots(folder)
    return measured


def _learn(trainer: "Trainer", snapshot_minutes: float) -> None:
    """Take all steps that are left, with a snapshot now and then."""
    folder, saved = trainer.folder, time.monotonic()
    with (
        Interrupt() as interrupt,
        Recorder(folder if trainer.first else None, trainer.history) as recorder,
        progress_bar(f"training {trainer.run.system}", trainer.steps, trainer.first) as advance,
    ):
        advance(len(trainer.history.steps))
        _validate(trainer, recorder)  # what was stopped between a step and its validation
        for epoch in trainer.epochs():
            for step in trainer.learn(epoch):
                recorder.step(step)
                advance(1, f"epoch {epoch}  loss {step.loss:.3f}")
                overdue = time.monotonic() - saved >= 60 * snapshot_minutes
                asked = trainer.agree(interrupt.asked)  # once: it may come at any moment
                if asked or trainer.agree(overdue):
                    trainer.snapshot()
                    saved = time.monotonic()
                if asked:
                    raise Stopped(f"stopped; {folder} can be continued with --resume")
                _validate(trainer, recorder)


def _validate(trainer: "Trainer", recorder: Recorder) -> None:
    """Validate where it is time, and put on disk that it was done."""
    if trainer.is_due:
        recorder.validation(trainer.validate())
        trainer.snapshot()
