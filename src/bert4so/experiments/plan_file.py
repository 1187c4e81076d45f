"""`plan.json`: the runs of an experiment and their settings, as the tables read them.

`experiment run` writes it before its first run. Reading it needs no configuration and no system.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bert4so.errors import UserError

FILE = "plan.json"

VERSION = 1
"""Version of the file format."""


@dataclass(frozen=True)
class PlannedCorpus:
    """A corpus of an experiment.

    folder:   path, or name under a folder of corpora.
    stand_in: how it differs from the paper's corpus; empty if it is the same.
    """

    folder: str
    stand_in: str


@dataclass(frozen=True)
class PlannedSystem:
    """A system of an experiment.

    system:         name in this package.
    paper_settings: all settings of a run at the paper's scale, on the corpus of its first run in
                    the main table; empty if it has no run there.
    """

    system: str
    paper_settings: Mapping[str, Any]


@dataclass(frozen=True)
class PlannedGrid:
    """The runs of one table.

    vary:  values to run, by dotted name of the setting.
    cells: the varied values of each run, by name of the run. A run can belong to several grids.
    """

    systems: Sequence[str]
    corpora: Sequence[str]
    seeds: Sequence[int]
    vary: Mapping[str, Sequence[Any]]
    cells: Mapping[str, Mapping[str, Any]]


@dataclass(frozen=True)
class PlannedCell:
    """One run.

    system:   name in the experiment.
    corpus:   name in the paper.
    settings: all settings of the run, as JSON values.
    changed:  dotted names of the settings that differ from the system's defaults at this scale.
    """

    name: str
    system: str
    corpus: str
    settings: Mapping[str, Any]
    changed: Sequence[str]


@dataclass(frozen=True)
class Plan:
    """All runs of an experiment, and the facts about it that the tables need.

    minutes:     time limit that all runs share; None if there is none.
    least_gap:   lower bound of γ - F in the loss.
    kept_tokens: steps with more tokens recompute activations to save memory.
    corpora:     corpora by name in the paper.
    systems:     systems by name in the experiment, in its order.
    grids:       grids by the table that shows them.
    cells:       cells by name, in the order in which they run.
    """

    minutes: float | None
    least_gap: float
    kept_tokens: int
    corpora: Mapping[str, PlannedCorpus]
    systems: Mapping[str, PlannedSystem]
    grids: Mapping[str, PlannedGrid]
    cells: Mapping[str, PlannedCell]


def write_plan(plan: Plan, folder: Path) -> Path:
    """Write the plan to a folder of results."""
    text = json.dumps({"version": VERSION, **asdict(plan)}, indent=1, ensure_ascii=False)
    # Written in place: shards that start together write the same bytes, and with a temporary file
    # they would rename each other's.
    (folder / FILE).write_bytes(f"{text}\n".encode())
    return folder / FILE


def read_plan(folder: Path) -> Plan:
    """Read the plan in a folder of results."""
    path = folder / FILE
    if not path.is_file():
        raise UserError(
            f"{folder}: no {FILE}: write it with `bert4so experiment plan CONFIG.toml --out "
            f"{folder}`"
        )
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        version = facts.pop("version")
        if version == VERSION:
            return _plan(**facts)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path}: not a plan of an experiment: {error}") from None
    raise UserError(f"{path}: version {version}; this bert4so reads version {VERSION}")


def _plan(
    corpora: Mapping[str, Any],
    systems: Mapping[str, Any],
    grids: Mapping[str, Any],
    cells: Mapping[str, Any],
    **rest: Any,
) -> Plan:
    return Plan(
        corpora={name: PlannedCorpus(**facts) for name, facts in corpora.items()},
        systems={name: PlannedSystem(**facts) for name, facts in systems.items()},
        grids={name: PlannedGrid(**facts) for name, facts in grids.items()},
        cells={name: PlannedCell(**facts) for name, facts in cells.items()},
        **rest,
    )
