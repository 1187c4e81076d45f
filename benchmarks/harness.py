"""What the benchmarks share: arguments, repeats by turns, and the file of results."""

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bert4so.common.machine import machine

TURNS = 5
"""How often each way is measured; the ways take turns, so that all meet the same disturbances."""


def arguments(doc: str | None) -> argparse.ArgumentParser:
    """A parser that knows `--out`, the file of results."""
    parser = argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, required=True, metavar="FILE.json")
    return parser


def write_results(out: Path, facts: Mapping[str, Any]) -> None:
    """Write the results, with the command that made them and the machine it ran on."""
    known = {"command": " ".join(["python", *sys.argv]), "machine": machine()}
    out.write_text(json.dumps({**known, **facts}, indent=1) + "\n")


def show(name: str, facts: object) -> None:
    """Print a result as soon as it is there."""
    sys.stdout.write(f"{name}: {facts}\n")


def by_turns(jobs: Mapping[str, Callable[[], float]], turns: int = TURNS) -> dict[str, list[float]]:
    """What each job measured in each turn, after one turn that warms up and is not counted."""
    for job in jobs.values():
        job()
    measured: dict[str, list[float]] = {name: [] for name in jobs}
    for _ in range(turns):
        for name, job in jobs.items():
            measured[name].append(job())
    return measured


def seconds(job: Callable[[], object]) -> float:
    """How long a job takes."""
    began = time.perf_counter()
    job()
    return time.perf_counter() - began


def rates(values: Sequence[float], digits: int | None = None) -> dict[str, float]:
    """The median of some rates, the lowest and the highest."""
    return {
        "median": round(statistics.median(values), digits),
        "slowest": round(min(values), digits),
        "fastest": round(max(values), digits),
    }
