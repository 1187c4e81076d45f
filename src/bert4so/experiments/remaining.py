"""How much of an experiment is left, and how long it will take."""

import json
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from statistics import median

from bert4so.experiments.cells import file_of
from bert4so.experiments.plan import Cell


def remaining(results: Path, cells: Sequence[Cell], cell: Cell) -> str:
    """What is said when a cell begins."""
    done = [file for file in (file_of(results, one) for one in cells) if file.exists()]
    left = len(cells) - len(done)
    line = f"cell {cells.index(cell) + 1} of {len(cells)}: {cell.name}; {left} left"
    # Before any is done, as long as it trains; of runs by epochs that is not known.
    known = [json.loads(file.read_text())["wall_minutes"] for file in done] or [cell.run.minutes]
    minutes = left * median(known)
    return f"{line}, about {timedelta(minutes=round(minutes))} h" if minutes else line
