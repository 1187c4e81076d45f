"""The training loop of all systems."""

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
    """Train a model; write the one with the best validation, and a report, to the folder.

    resume:  continue from the newest snapshot, if there is one; the resulting weights are the same
             as without interruption.
    command: the command to show in the report.

    The caller must reserve the folder: see `hold_folder`.
    """
    trainer = Trainer(run, splits, folder, on_bad)
    trainer.begin(newest_snapshot(folder) if resume else None)
    _learn(trainer, snapshot_minutes)
    epoch_tokens = sum(trainer.sizes)
    measured = write_report(run, trainer.splits, folder, trainer.history, epoch_tokens, command)
    if trainer.is_main:
        clear_snapshots(folder)
    return measured


def _learn(trainer: "Trainer", snapshot_minutes: float) -> None:
    """Train to the end, with regular snapshots."""
    folder, saved = trainer.folder, time.monotonic()
    with (
        Interrupt() as interrupt,
        Recorder(folder if trainer.is_main else None, trainer.history) as recorder,
        progress_bar(f"training {trainer.run.system}", trainer.steps, trainer.is_main) as advance,
    ):
        advance(len(trainer.history.steps))
        _validate(trainer, recorder)  # if the run was stopped between a step and its validation
        for epoch in trainer.epochs():
            for step in trainer.learn(epoch):
                recorder.step(step)
                advance(1, f"epoch {epoch}  loss {step.loss:.3f}")
                overdue = time.monotonic() - saved >= 60 * snapshot_minutes
                stopping = trainer.agree(interrupt.requested)  # read once: it may change any time
                if stopping or trainer.agree(overdue):
                    trainer.snapshot()
                    saved = time.monotonic()
                if stopping:
                    raise Stopped(f"stopped; {folder} can be continued with --resume")
                _validate(trainer, recorder)


def _validate(trainer: "Trainer", recorder: Recorder) -> None:
    """Validate if a validation is due, and save a snapshot with the result."""
    if trainer.is_due:
        recorder.validation(trainer.validate())
        trainer.snapshot()
