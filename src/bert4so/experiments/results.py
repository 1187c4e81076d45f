"""The finished runs of an experiment, and what follows from them."""

from collections.abc import Iterable, Mapping, Sequence
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bert4so.errors import UserError
from bert4so.experiments.finished_cell import FinishedCell
from bert4so.experiments.plan_file import Plan, PlannedCell


class Results:
    """The plan of an experiment, and its finished cells by name."""

    def __init__(self, plan: Plan, found: Mapping[str, FinishedCell]) -> None:
        self.plan = plan
        self.found = found

    def planned(
        self,
        grid: str,
        system: str | None = None,
        corpus: str | None = None,
        varied: Mapping[str, Any] | None = None,
    ) -> list[PlannedCell]:
        """The cells of a grid, or those of a system, of a corpus, or with some varied values."""
        if grid not in self.plan.grids:
            return []
        cells = self.plan.grids[grid].cells.items()
        named = [self.plan.cells[name] for name, values in cells if varied in (None, values)]
        return [
            cell
            for cell in named
            if system in (None, cell.system) and corpus in (None, cell.corpus)
        ]

    def finished(
        self,
        grid: str,
        system: str | None = None,
        corpus: str | None = None,
        varied: Mapping[str, Any] | None = None,
    ) -> list[FinishedCell]:
        """Those of them that are finished."""
        return self.of(self.planned(grid, system, corpus, varied))

    def of(self, cells: Sequence[PlannedCell]) -> list[FinishedCell]:
        """Those of some cells that are finished."""
        return [self.found[cell.name] for cell in cells if cell.name in self.found]

    def decided(self, grid: str, corpus: str | None = None) -> bool:
        """Whether it is known which is the best: all are finished, and were trained alike."""
        cells = self.planned(grid, corpus=corpus)
        found = self.of(cells)
        return len(found) == len(cells) and of_equal_training(found)

    def corpora(self, grid: str) -> Sequence[str]:
        """The corpora of a grid; none if there is no such grid."""
        return self.plan.grids[grid].corpora if grid in self.plan.grids else []

    def called(self, corpus: str) -> str:
        """The name of a corpus, and whether it is the paper's."""
        return f"{corpus} (stand-in)" if self.plan.corpora[corpus].stand_in else corpus


def of_one_machine(cells: Iterable[FinishedCell]) -> bool:
    """Whether the times of some runs can be compared."""
    return len({cell.machine.label for cell in cells}) <= 1


def of_equal_training(cells: Iterable[FinishedCell]) -> bool:
    """Whether what some runs of one corpus have learned can be compared.

    An epoch is the same everywhere; ten minutes are not worth the same on two machines. Seeds may
    be shared among machines: none of the systems that they are runs of has an advantage by it.
    """
    timed = [cell for cell in cells if cell.settings.minutes]
    seeds = {cell.settings.seed for cell in timed}
    return all(of_one_machine(c for c in timed if c.settings.seed == seed) for seed in seeds)


def cost_ratios(ours: FinishedCell, theirs: FinishedCell) -> tuple[float, float, float]:
    """How many times the time of ours theirs takes: training, an epoch of it, and ordering."""
    epoch = epoch_seconds(theirs) / epoch_seconds(ours)
    training = epoch * theirs.settings.epochs / ours.settings.epochs
    return training, epoch, ordering_seconds(theirs) / ordering_seconds(ours)


def epochs_seen(cell: FinishedCell) -> float:
    """How often each training document was seen, on average."""
    return cell.steps / ceil(cell.training_documents / cell.settings.batch)


def epoch_seconds(cell: FinishedCell) -> float:
    """The CPU time that all training documents take once.

    By their tokens: of a run that saw few documents, these may have been short or long.
    """
    return 60 * cell.cpu_minutes / cell.tokens * cell.epoch_tokens


def ordering_seconds(cell: FinishedCell) -> float:
    """The CPU time that a test document takes to be ordered."""
    return cell.test_cpu_seconds / cell.test.documents


def differences(
    ours: Sequence[FinishedCell], theirs: Sequence[FinishedCell], metric: str
) -> NDArray[np.float64]:
    """By how much ours is better, document by document."""
    if len({cell.test_set for cell in [*ours, *theirs]}) > 1:
        names = ", ".join(cell.name for cell in [*ours, *theirs])
        raise UserError(f"{names}: tested on different documents: they cannot be compared")
    return by_document(ours, metric) - by_document(theirs, metric)


def by_document(cells: Sequence[FinishedCell], metric: str) -> NDArray[np.float64]:
    """The metric of each document, the mean over the cells: runs with other seeds."""
    taus = np.array([cell.taus for cell in cells])
    values = taus if metric == "τ" else (taus > 1 - 1e-6).astype(float)
    return np.asarray(values.mean(0))
