"""`order --out` is killed again and again; in the end OUT is as if it had not been."""

import subprocess
import time
from collections.abc import Iterable
from pathlib import Path

from torture.answers import difference, read_answers
from torture.commands import bert4so_process, fault, in_new_process
from torture.trial import Kind, Outcome, Trial, Verdict, failed
from torture.workspace import ANSWER_FORMS, contents, size

KILLS = 5
"""Per OUT."""

LATEST_SECONDS = 2.0
"""After the start of the process; by then it has written something on most machines."""

LATEST_SECONDS_AFTER_WRITE = 0.2


def kill_order(trial: Trial) -> Iterable[Outcome]:
    form = ANSWER_FORMS[trial.number % len(ANSWER_FORMS)]
    out = trial.folder / f"out{form}"
    command = trial.workspace.order(trial.folder, form)
    kills = sum(_kill(trial, command, out, after_write=bool(k % 2)) for k in range(KILLS))
    result = in_new_process(*command)
    yield (
        _judged(trial, form, kills)
        if result.code == 0
        else failed(f"{form}: after {kills} kills: {fault(result) or result.err}", kills)
    )


def _kill(trial: Trial, command: list[object], out: Path, after_write: bool) -> bool:
    """Start the command and kill it; whether it was killed before its end."""
    process = bert4so_process(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    before = size(out)
    while after_write and process.poll() is None and size(out) <= before:
        time.sleep(0.002)
    time.sleep(trial.rng.random() * (LATEST_SECONDS_AFTER_WRITE if after_write else LATEST_SECONDS))
    process.kill()
    return process.wait() < 0


def _judged(trial: Trial, form: str, kills: int) -> Outcome:
    out = trial.folder / f"out{form}"
    expected = read_answers(trial.workspace.answers(form) / out.name)
    if wrong := difference(read_answers(out), expected):
        return failed(f"{form}: after {kills} kills: {wrong}", kills)
    before = contents(trial.folder)
    result = in_new_process(*trial.workspace.order(trial.folder, form))
    if result.code or contents(trial.folder) != before:
        return failed(f"{form}: once complete, --resume changes it or fails: {result.err}", kills)
    return Outcome(Verdict.held, tries=kills)


KIND = Kind(
    name="kill-order",
    what="kill -9 of `order --out` (bundled model, all forms), resumed",
    trials=20,
    sample=1,
    run=kill_order,
)
