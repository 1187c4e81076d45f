"""Hostile folders of models: refused in one line, or harmless."""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from random import Random

import hostile
from bert4so.inference.orderer import BUNDLED
from torture.trial import HELD, REFUSED, Kind, Outcome, Trial, failed

FOLDERS = 5
"""Per trial, tried by one process."""

SECONDS = 300


def models(trial: Trial) -> Iterable[Outcome]:
    """Every other trial has exported models, the others runs; of each there are 100 folders."""
    number, is_run = divmod(trial.number, 2)
    mutations = hostile.run_mutations() if is_run else hostile.export_mutations()
    good = trial.workspace.run if is_run else BUNDLED
    names = hostile.chosen(mutations, Random(trial.seed))[FOLDERS * number :][:FOLDERS]
    folders = [
        hostile.hostile_copy(good, trial.folder, trial.seed, mutations, name) for name in names
    ]
    while folders:
        outcomes = list(_tried(folders, trial.folder))
        yield from outcomes
        folders = folders[len(outcomes) :]
    if (trial.folder / hostile.MARKER).exists():
        yield failed(f"one of {', '.join(names)} executed code")


def _tried(folders: list[Path], place: Path) -> Iterable[Outcome]:
    """What each folder comes to, up to the first that ends the process."""
    command = [sys.executable, hostile.__file__, "order", *map(str, folders)]
    try:
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=SECONDS)
        out, end = done.stdout, f"exit code {done.returncode}: {done.stderr[-1000:]}"
    except subprocess.TimeoutExpired as error:
        out, end = (error.stdout or b"").decode(), f"it took more than {SECONDS} seconds"
    lines = out.splitlines()
    for line in lines:
        yield HELD if line.endswith("\tordered") else REFUSED
    if len(lines) < len(folders):
        yield failed(f"{folders[len(lines)].name}: {end}")


KIND = Kind(
    name="models",
    what="hostile folders of models (100 exported, 100 runs)",
    trials=40,
    sample=2,
    run=models,
)
