"""How many cells of an experiment are left, and how long they will take."""

from collections.abc import Sequence
from statistics import median

from bert4so.experiments.finished_cell import FinishedCell
from bert4so.experiments.plan_file import PlannedCell
from bert4so.experiments.store import CellStore


def remaining(store: CellStore, part: Sequence[str], name: str) -> str:
    """The line that is shown when a cell of a part begins.

    The time left is estimated from all finished cells of the experiment, those of other parts too.
    """
    finished = store.finished()
    left = [store.plan.cells[one] for one in part if one not in finished]
    expected = [_expected(cell, list(finished.values())) for cell in left]
    line = f"cell {part.index(name) + 1} of {len(part)}: {name}; {len(left)} left"
    if any(expected):
        hours, minutes = divmod(round(sum(expected)), 60)
        unknown = expected.count(0)
        line += f", about {hours}:{minutes:02} h"
        line += f" and {unknown} by epochs" if unknown else ""
    return line


def _expected(cell: PlannedCell, finished: Sequence[FinishedCell]) -> float:
    """The median minutes of the finished cells that are most like a cell.

    If there are none: its time limit, which is 0 for a run by epochs.
    """
    limit = float(cell.settings["minutes"])
    # A run by the clock says nothing of one by epochs, nor that of another length.
    alike = [one for one in finished if one.settings.minutes == limit]
    of_corpus = [one for one in alike if one.corpus == cell.corpus]
    of_system = [one for one in of_corpus if one.system == cell.system]
    # By the clock, another corpus still shows how long validation and testing take.
    nearest = of_system or of_corpus or (alike if limit else [])
    return median(one.wall_minutes for one in nearest) if nearest else limit
