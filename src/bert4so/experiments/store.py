"""Finished cells of an experiment on disk: one JSON file per cell."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bert4so.common.value_trees import difference, leaves
from bert4so.errors import UserError
from bert4so.experiments.finished_cell import FinishedCell, parse_cell
from bert4so.experiments.plan_file import Plan, PlannedCell
from bert4so.io.atomic import write_atomic

TIMED_LENGTHS = (5, 10, 20, 40)
"""Numbers of sentences for which the time to order one document is measured."""

TIMED_REPEATS = 3
"""Number of documents per length; the median time is stored."""


class CellStore:
    """The finished cells of a plan in a folder; each file is read and parsed once."""

    def __init__(self, folder: Path, plan: Plan) -> None:
        self.folder = folder
        self.plan = plan
        self._parsed: dict[str, FinishedCell] = {}

    def path(self, name: str) -> Path:
        """The file of a finished cell."""
        return self.folder / f"{name}.json"

    def get(self, name: str) -> FinishedCell | None:
        """A cell; None if it is not finished. Refuses a cell with other settings."""
        if name not in self._parsed and self.path(name).exists():
            cell = _read(self.path(name))
            check_settings(self.plan.cells[name], cell, self.path(name))
            self._parsed[name] = cell
        return self._parsed.get(name)

    def is_finished(self, name: str) -> bool:
        """Whether a cell is finished. Refuses a cell with other settings."""
        return self.get(name) is not None

    def finished(self) -> dict[str, FinishedCell]:
        """All finished cells of the plan, by name."""
        cells = {name: self.get(name) for name in self.plan.cells}
        return {name: cell for name, cell in cells.items() if cell is not None}

    def write(self, name: str, facts: Mapping[str, Any]) -> None:
        """Store a finished cell."""
        write_atomic(self.path(name), (json.dumps(facts) + "\n").encode())


def check_settings(planned: PlannedCell, finished: FinishedCell, path: Path) -> None:
    """Refuse a cell that was run with other settings than planned.

    A setting that is newer than the cell must have its default in the plan.
    """
    before, now = dict(leaves(finished.settings.all)), dict(leaves(planned.settings))
    newer = now.keys() - before.keys() - set(planned.changed)
    changed = difference(before, {key: now[key] for key in now if key not in newer})
    if changed:
        key, old, new = changed
        raise UserError(f"{path} was started with {key} = {old}: cannot resume with {key} = {new}")


def _read(path: Path) -> FinishedCell:
    try:
        return parse_cell(json.loads(path.read_text(encoding="utf-8")))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(
            f"{path}: not a finished cell ({error!r}): delete it to run the cell again"
        ) from None
