"""How much of an experiment is left, and how long it will take."""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median

from bert4so.experiments.cells import file_of
from bert4so.experiments.plan import Cell


def remaining(results: Path, cells: Sequence[Cell], cell: Cell) -> str:
    """What is said when a cell begins."""
    left = [one for one in cells if not file_of(results, one).exists()]
    line = f"cell {cells.index(cell) + 1} of {len(cells)}: {cell.name}; {len(left)} left"
    minutes, unknown = 0.0, 0
    # A run by the clock says nothing of one by epochs, nor that of another length.
    for limit in {one.run.minutes for one in left}:
        count = sum(one.run.minutes == limit for one in left)
        each = _minutes(results, (one for one in cells if one.run.minutes == limit)) or limit
        minutes, unknown = minutes + count * each, unknown + (0 if each else count)
    if minutes:
        hours, rest = divmod(round(minutes), 60)
        line += f", about {hours}:{rest:02} h"
        line += f" and {unknown} by epochs" if unknown else ""
    return line


def _minutes(results: Path, cells: Iterable[Cell]) -> float:
    """How long one of the cells took, in the middle; 0 where none is finished."""
    files = (file_of(results, cell) for cell in cells)
    known = [json.loads(file.read_text())["wall_minutes"] for file in files if file.exists()]
    return median(known) if known else 0.0
