"""What was found of an experiment so far, and what follows from it."""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert4so.errors import UserError
from bert4so.experiments.plan import Cell, Experiment, grid_cells

Facts = Mapping[str, Any]


class Results:
    """An experiment, and what was found of it so far: by the name of a cell."""

    def __init__(self, experiment: Experiment, found: Mapping[str, Facts]) -> None:
        self.experiment = experiment
        self.found = found
        self.cells = {grid: grid_cells(experiment, grid) for grid in experiment.grids}

    def planned(self, grid: str, **wanted: Any) -> list[Cell]:
        """The cells of a grid that have these attributes."""
        return [cell for cell in self.cells.get(grid, []) if _is(cell, wanted)]

    def finished(self, grid: str, **wanted: Any) -> list[Facts]:
        """What was found in those of them that are finished."""
        return self.of(self.planned(grid, **wanted))

    def of(self, cells: Sequence[Cell]) -> list[Facts]:
        """What was found in those of some cells that are finished."""
        return [self.found[cell.name] for cell in cells if cell.name in self.found]

    def decided(self, grid: str, **wanted: Any) -> bool:
        """Whether it is known which is the best: all are there, and were trained alike."""
        cells = self.planned(grid, **wanted)
        found = self.of(cells)
        return len(found) == len(cells) and of_equal_training(found)

    def corpora(self, grid: str) -> list[str]:
        """The corpora of a grid; none, where there is no such grid."""
        return self.experiment.grids[grid].corpora if grid in self.experiment.grids else []

    def called(self, corpus: str) -> str:
        """The name of a corpus, and whether it is the paper's."""
        return f"{corpus} (stand-in)" if self.experiment.corpora[corpus].stand_in else corpus


def _is(cell: Cell, wanted: Mapping[str, Any]) -> bool:
    return all(getattr(cell, name) == value for name, value in wanted.items())


def of_one_machine(cells: Iterable[Facts]) -> bool:
    """Whether the times of some runs can be compared."""
    return len({machine(cell) for cell in cells}) <= 1


def of_equal_training(cells: Iterable[Facts]) -> bool:
    """Whether what some runs of one corpus have learned can be compared.

    An epoch is the same everywhere; ten minutes are not worth the same on two machines. Seeds may
    be shared among machines: none of the systems that they are runs of has an advantage by it.
    """
    runs = [(cell["metrics"]["run"], cell) for cell in cells]
    timed = [(run["seed"], cell) for run, cell in runs if run["minutes"]]
    return all(of_one_machine(c for s, c in timed if s == seed) for seed, _ in timed)


def machine(facts: Facts) -> str:
    """What a run was made on, as far as times depend on it.

    Threads that spin while they wait count as working: their CPU time is worth less.
    """
    known = facts["metrics"]["machine"]
    spinning = " that spin" if known.get("OMP_WAIT_POLICY") == "active" else ""
    return f"{known['processor']}, {facts['threads']} threads{spinning}"


def cost_ratios(ours: Facts, theirs: Facts) -> tuple[float, float, float]:
    """How many times the time of ours theirs takes: training, an epoch of it, and ordering."""
    epoch = epoch_seconds(theirs) / epoch_seconds(ours)
    epochs = [facts["metrics"]["run"]["train"]["epochs"] for facts in (theirs, ours)]
    training = epoch * epochs[0] / epochs[1]
    return training, epoch, ordering_seconds(theirs) / ordering_seconds(ours)


def epochs_seen(facts: Facts) -> float:
    """How often each training document was seen, on average."""
    metrics = facts["metrics"]
    steps_an_epoch = ceil(metrics["training_documents"] / metrics["run"]["train"]["batch"])
    return float(metrics["steps"] / steps_an_epoch)


def epoch_seconds(facts: Facts) -> float:
    """The CPU time that all training documents take once.

    By their tokens: of a run that saw few documents, these may have been short or long.
    """
    metrics = facts["metrics"]
    return float(60 * metrics["cpu_minutes"] / metrics["tokens"] * metrics["epoch_tokens"])


def ordering_seconds(facts: Facts) -> float:
    """The CPU time that a test document takes to be ordered."""
    metrics = facts["metrics"]
    return float(metrics["test_cpu_seconds"] / metrics["test"]["documents"])


def differences(ours: Sequence[Facts], theirs: Sequence[Facts], metric: str) -> NDArray[np.float64]:
    """By how much ours is better, document by document."""
    if len({cell["puzzles"] for cell in [*ours, *theirs]}) > 1:
        names = ", ".join(cell["cell"] for cell in [*ours, *theirs])
        raise UserError(f"{names}: tested on different documents: they cannot be compared")
    return by_document(ours, metric) - by_document(theirs, metric)


def by_document(cells: Sequence[Facts], metric: str) -> NDArray[np.float64]:
    """The metric of each document, the mean over the cells: runs with other seeds."""
    taus = np.array([cell["documents"]["tau"] for cell in cells])
    values = taus if metric == "τ" else (taus > 1 - 1e-6).astype(float)
    return np.asarray(values.mean(0))
