"""How much of an experiment is left, and how long it will take."""

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from bert4so.experiments.cells import file_of
from bert4so.experiments.plan import Cell


def remaining(results: Path, cells: Sequence[Cell], part: Sequence[Cell], cell: Cell) -> str:
    """What is said when a cell of a part begins; time is reckoned by all cells finished so far."""
    left = [one for one in part if not file_of(results, one).exists()]
    known = [(one, _minutes(results, one)) for one in cells if file_of(results, one).exists()]
    expected = [_expected(one, known) for one in left]
    line = f"cell {part.index(cell) + 1} of {len(part)}: {cell.name}; {len(left)} left"
    if any(expected):
        hours, rest = divmod(round(sum(expected)), 60)
        unknown = expected.count(0)
        line += f", about {hours}:{rest:02} h"
        line += f" and {unknown} by epochs" if unknown else ""
    return line


def _expected(cell: Cell, known: Sequence[tuple[Cell, float]]) -> float:
    """The minutes that those finished took, in the middle, which are the most like the cell.

    Where there are none: what it may train for, which is 0 of a run by epochs.
    """
    limit = cell.run.minutes
    # A run by the clock says nothing of one by epochs, nor that of another length.
    alike = [(one, minutes) for one, minutes in known if one.run.minutes == limit]
    there = [(one, minutes) for one, minutes in alike if one.corpus == cell.corpus]
    same = [(one, minutes) for one, minutes in there if one.system == cell.system]
    # By the clock, another corpus tells at least what it takes to choose and to test.
    nearest = same or there or (alike if limit else [])
    return median(minutes for _, minutes in nearest) if nearest else limit


def _minutes(results: Path, cell: Cell) -> float:
    return float(json.loads(file_of(results, cell).read_text())["wall_minutes"])
