"""Run several kinds at once, each in a process and a workspace of its own."""

import sys
from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

from torture.kinds import KINDS
from torture.runner import Tally, run_kind, temporary_workspace


def run_kinds(trials: Mapping[str, range], seed: int, jobs: int) -> list[Tally]:
    """The tallies of kinds, by name and the numbers of their trials."""
    # A forked process would share the threads of this one.
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        tallies = [pool.submit(_run, name, seed, numbers) for name, numbers in trials.items()]
        return [tally.result() for tally in tallies]


def _run(name: str, seed: int, numbers: range) -> Tally:
    kind = KINDS[name]
    _say(f"{kind.name}: {kind.what}")
    with temporary_workspace() as workspace:
        tally = run_kind(kind, workspace, seed, numbers, lambda line: _say(f"FAILED {line}"))
    _say(f"{kind.name}: finished in {tally.seconds:.0f} s")
    return tally


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
