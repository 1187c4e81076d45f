"""The finished runs of an experiment, and quantities computed from them."""

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

    def __init__(self, plan: Plan, cells: Mapping[str, FinishedCell]) -> None:
        self.plan = plan
        self.cells = cells

    def planned(
        self,
        grid: str,
        system: str | None = None,
        corpus: str | None = None,
        varied: Mapping[str, Any] | None = None,
    ) -> list[PlannedCell]:
        """The planned cells of a grid, optionally of one system, corpus or set of varied values."""
        if grid not in self.plan.grids:
            return []
        cells = self.plan.grids[grid].cells.items()
        of_values = [self.plan.cells[name] for name, values in cells if varied in (None, values)]
        return [
            cell
            for cell in of_values
            if system in (None, cell.system) and corpus in (None, cell.corpus)
        ]

    def finished(
        self,
        grid: str,
        system: str | None = None,
        corpus: str | None = None,
        varied: Mapping[str, Any] | None = None,
    ) -> list[FinishedCell]:
        """The finished cells of a grid, with the same filters as `planned`."""
        return self.finished_of(self.planned(grid, system, corpus, varied))

    def finished_of(self, planned: Sequence[PlannedCell]) -> list[FinishedCell]:
        """The finished cells among the planned ones."""
        return [self.cells[cell.name] for cell in planned if cell.name in self.cells]

    def is_decided(self, grid: str, corpus: str | None = None) -> bool:
        """Whether the best cell is known: all are finished and equally trained."""
        planned = self.planned(grid, corpus=corpus)
        finished = self.finished_of(planned)
        return len(finished) == len(planned) and equally_trained(finished)

    def corpora(self, grid: str) -> Sequence[str]:
        """The corpora of a grid; none if there is no such grid."""
        return self.plan.grids[grid].corpora if grid in self.plan.grids else []

    def corpus_title(self, corpus: str) -> str:
        """The name of a corpus for tables, which marks stand-ins."""
        return f"{corpus} (stand-in)" if self.plan.corpora[corpus].stand_in else corpus


def on_one_machine(cells: Iterable[FinishedCell]) -> bool:
    """Whether all cells ran on machines with the same label, so that times are comparable."""
    return len({cell.machine.label for cell in cells}) <= 1


def equally_trained(cells: Iterable[FinishedCell]) -> bool:
    """Whether the accuracy of runs on one corpus can be compared.

    Epochs are equal on all machines, but a time limit is not. Different seeds may run on different
    machines, as long as all systems of a seed run on the same one.
    """
    timed = [cell for cell in cells if cell.settings.minutes]
    seeds = {cell.settings.seed for cell in timed}
    return all(on_one_machine(c for c in timed if c.settings.seed == seed) for seed in seeds)


def cost_ratios(ours: FinishedCell, theirs: FinishedCell) -> tuple[float, float, float]:
    """The time of `theirs` divided by that of `ours`: all training, one epoch, and ordering."""
    epoch = epoch_seconds(theirs) / epoch_seconds(ours)
    training = epoch * theirs.settings.epochs / ours.settings.epochs
    return training, epoch, ordering_seconds(theirs) / ordering_seconds(ours)


def epochs_seen(cell: FinishedCell) -> float:
    """The number of epochs: how often each training document was seen, on average."""
    return cell.steps / ceil(cell.training_documents / cell.settings.batch)


def epoch_seconds(cell: FinishedCell) -> float:
    """The CPU time of one epoch over all training documents.

    Extrapolated by tokens: if a run saw few documents, they may have been short or long.
    """
    return 60 * cell.cpu_minutes / cell.tokens * cell.epoch_tokens


def ordering_seconds(cell: FinishedCell) -> float:
    """The mean CPU time to order a test document."""
    return cell.test_cpu_seconds / cell.test.documents


def differences(
    ours: Sequence[FinishedCell], theirs: Sequence[FinishedCell], metric: str
) -> NDArray[np.float64]:
    """The metric of `ours` minus that of `theirs`, per document."""
    if len({cell.test_set for cell in [*ours, *theirs]}) > 1:
        names = ", ".join(cell.name for cell in [*ours, *theirs])
        raise UserError(f"{names}: tested on different documents: cannot compare them")
    return by_document(ours, metric) - by_document(theirs, metric)


def by_document(cells: Sequence[FinishedCell], metric: str) -> NDArray[np.float64]:
    """The metric of each document, averaged over the cells (runs with different seeds)."""
    taus = np.array([cell.taus for cell in cells])
    values = taus if metric == "τ" else (taus > 1 - 1e-6).astype(float)
    return np.asarray(values.mean(0))
