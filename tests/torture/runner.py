"""Runs the trials of a kind, and counts what they come to."""

import shutil
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from torture.trial import Kind, Outcome, Trial, Verdict, failed
from torture.workspace import Workspace

MAX_FAILURES = 50
"""Per kind, that are kept; all are counted."""


@dataclass
class Tally:
    """What the trials of a kind came to. `failures` are (number of the trial, what happened)."""

    kind: Kind
    seed: int
    trials: int = 0
    counts: Counter[Verdict] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, number: int, outcome: Outcome) -> None:
        self.counts[outcome.verdict] += outcome.tries
        if outcome.verdict is Verdict.failed and len(self.failures) < MAX_FAILURES:
            self.failures.append((number, outcome.note))

    def reproduce(self, number: int) -> str:
        where = f"--only {self.kind.name} --seed {self.seed} --number {number}"
        return f"PYTHONPATH=tests python -m torture {where}"


def run_kind(
    kind: Kind,
    workspace: Workspace,
    seed: int,
    numbers: Iterable[int],
    on_failure: Callable[[str], object],
) -> Tally:
    """Run the trials of these numbers; `on_failure` gets each failure, and how to reproduce it."""
    tally, began = Tally(kind, seed), time.monotonic()
    for number in numbers:
        tally.trials += 1
        for outcome in _outcomes(kind, workspace, seed, number):
            tally.add(number, outcome)
            if outcome.verdict is Verdict.failed:
                on_failure(f"{outcome.note}\n  {tally.reproduce(number)}")
    tally.seconds = time.monotonic() - began
    return tally


def _outcomes(kind: Kind, workspace: Workspace, seed: int, number: int) -> list[Outcome]:
    folder = workspace.folder / "trial"
    folder.mkdir()
    rng = Random(f"{seed}/{kind.name}/{number}")
    try:
        return list(kind.run(Trial(workspace, folder, rng, seed, number)))
    except Exception:  # the suite goes on: the failure is reported with its traceback
        return [failed(traceback.format_exc().rstrip())]
    finally:
        shutil.rmtree(folder)


@contextmanager
def temporary_workspace() -> Iterator[Workspace]:
    """A workspace in memory, where there is such a place: disks may be slow to sync."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Workspace(Path(folder))
