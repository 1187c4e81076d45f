"""The cells (runs) that an experiment file describes."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from bert4so.common.value_trees import branch, leaves, merge
from bert4so.config.schema import RunConfig, Settings, Values, checked
from bert4so.config.toml import read_toml
from bert4so.errors import UserError
from bert4so.experiments.plan_file import (
    Plan,
    PlannedCell,
    PlannedCorpus,
    PlannedGrid,
    PlannedSystem,
)
from bert4so.modeling.losses import LEAST_GAP
from bert4so.modeling.sentence_encoders.row_encoder import MAX_STORED_TOKENS
from bert4so.systems.run_config import make_run


class ExperimentCorpus(Settings):
    """A corpus of an experiment.

    folder:   path, or name under a folder of corpora.
    stand_in: how it differs from the paper's corpus; empty if it is the same.
    set:      settings of all runs on it.
    """

    folder: str
    stand_in: str = ""
    set: dict[str, Any] = Field(default_factory=dict)


class Grid(Settings):
    """All combinations of systems, corpora, seeds and varied values.

    systems: names in the experiment.
    corpora: names in the paper.
    vary:    values by setting; all combinations are run.
    join:    corpora to add to the training documents.
    set:     settings of all runs of the grid; their names then contain the grid's name.
    """

    systems: list[str]
    corpora: list[str]
    seeds: list[int] = Field(default_factory=lambda: [1])
    vary: dict[str, Any] = Field(default_factory=dict)
    join: list[str] = Field(default_factory=list)
    set: dict[str, Any] = Field(default_factory=dict)


class Experiment(Settings):
    """The content of a file in `configs/experiments`.

    set:     settings of all runs.
    corpora: corpora by name in the paper.
    systems: settings of the runs of each system; `system` names the system of this package if it
             differs from the name in the experiment.
    grids:   grids by the table that shows them.
    """

    scale: Literal["paper", "desk"]
    set: dict[str, Any] = Field(default_factory=dict)
    corpora: dict[str, ExperimentCorpus]
    systems: dict[str, dict[str, Any]]
    grids: dict[str, Grid]


@dataclass(frozen=True)
class Cell:
    """One run of an experiment.

    name:   name of its file.
    system: name in the experiment.
    corpus: name in the paper.
    varied: values that the grid varies, by dotted name of the setting.
    """

    name: str
    system: str
    corpus: str
    varied: Mapping[str, Any]
    run: RunConfig


def read_experiment(path: Path) -> Experiment:
    """Read and check the TOML file of an experiment."""
    experiment = checked(Experiment, read_toml(path), str(path))
    if "table-1" not in experiment.grids:
        raise UserError(f"{path}: no [grids.table-1]: add the runs of the main table")
    for name, grid in experiment.grids.items():
        for kind, used, known in (
            ("corpus", [*grid.corpora, *grid.join], experiment.corpora),
            ("system", grid.systems, experiment.systems),
        ):
            unknown = [one for one in used if one not in known]
            if unknown:
                raise UserError(
                    f'{path} [grids.{name}]: unknown {kind} "{unknown[0]}": define it in the file'
                )
    return experiment


def all_cells(experiment: Experiment) -> list[Cell]:
    """The cells of all grids without duplicates, in the order in which they run.

    Grids keep the order of the file. Within a grid, seeds come first, so that every cell runs with
    the first seed before any runs with the second.
    """
    cells = [cell for name in experiment.grids for cell in grid_cells(experiment, name)]
    return list({cell.name: cell for cell in cells}.values())


def grid_cells(experiment: Experiment, name: str) -> list[Cell]:
    """The cells of a grid."""
    grid = experiment.grids[name]
    varied = dict(leaves(grid.vary))
    return [
        _cell(experiment, name, system, corpus, seed, dict(zip(varied, values, strict=True)))
        for seed, corpus, system in product(grid.seeds, grid.corpora, grid.systems)
        for values in product(*varied.values())
    ]


def _cell(
    experiment: Experiment, name: str, system: str, corpus: str, seed: int, varied: dict[str, Any]
) -> Cell:
    grid = experiment.grids[name]
    defaults: Values = {
        "system": system,
        "corpus": experiment.corpora[corpus].folder,
        "scale": experiment.scale,
        "seed": seed,
    }
    layers = [
        experiment.set,
        experiment.corpora[corpus].set,
        experiment.systems[system],
        grid.set,
    ]
    base = reduce(merge, layers, defaults)
    changes = (branch(key, value) for key, value in varied.items())
    changed = reduce(merge, changes, base)
    joined = [experiment.corpora[other].folder for other in grid.join if other != corpus]
    run = _run({**changed, "join": joined}, system, corpus)
    parts = [
        system,
        corpus.lower(),
        *([name] if grid.set else []),
        *_differences(_run(base, system, corpus), run),
    ]
    return Cell("-".join([*parts, f"seed-{seed}"]), system, corpus, varied, run)


def _run(values: Values, system: str, corpus: str) -> RunConfig:
    return make_run(values, f"{system} on {corpus}", like=corpus.lower())


def _differences(base: RunConfig, run: RunConfig) -> Iterator[str]:
    """The parts of a cell's name: all settings that differ from the base run.

    The same run in two grids thus gets the same name and is one cell.
    """
    if run.join:
        yield "joined"
    base_values, values = dict(leaves(base.model_dump())), dict(leaves(run.model_dump()))
    for key in sorted(values):
        if key != "join" and values[key] != base_values.get(key):
            yield f"{key.rpartition('.')[2]}-{values[key]}"


def make_plan(experiment: Experiment) -> Plan:
    """The parts of an experiment that the tables need, as plain data."""
    grids = {name: grid_cells(experiment, name) for name in experiment.grids}
    corpora = experiment.corpora.items()
    return Plan(
        minutes=experiment.set.get("minutes"),
        least_gap=LEAST_GAP,
        kept_tokens=MAX_STORED_TOKENS,
        corpora={name: PlannedCorpus(entry.folder, entry.stand_in) for name, entry in corpora},
        systems={
            name: _planned_system(experiment, name, grids["table-1"]) for name in experiment.systems
        },
        grids={name: _planned_grid(experiment.grids[name], cells) for name, cells in grids.items()},
        cells={cell.name: _planned_cell(cell) for cell in all_cells(experiment)},
    )


def _planned_system(experiment: Experiment, name: str, main_table: Sequence[Cell]) -> PlannedSystem:
    system = str(experiment.systems[name].get("system", name))
    first = next((cell for cell in main_table if cell.system == name), None)
    if first is None:
        return PlannedSystem(system, {})
    values: Values = {"system": system, "corpus": first.run.corpus}
    return PlannedSystem(system, _as_json(_run(values, name, first.corpus)))


def _planned_grid(grid: Grid, cells: Sequence[Cell]) -> PlannedGrid:
    return PlannedGrid(
        systems=grid.systems,
        corpora=grid.corpora,
        seeds=grid.seeds,
        vary=dict(leaves(grid.vary)),
        cells={cell.name: cell.varied for cell in cells},
    )


def _planned_cell(cell: Cell) -> PlannedCell:
    fixed: Values = {key: getattr(cell.run, key) for key in ("system", "corpus", "scale")}
    defaults = dict(leaves(_run(fixed, cell.system, cell.corpus).model_dump()))
    values = dict(leaves(cell.run.model_dump()))
    return PlannedCell(
        name=cell.name,
        system=cell.system,
        corpus=cell.corpus,
        settings=_as_json(cell.run),
        changed=[key for key in values if values[key] != defaults.get(key)],
    )


def _as_json(run: RunConfig) -> Values:
    """The settings as JSON values; JSON has no infinity."""
    settings: Values = json.loads(run.model_dump_json())
    return settings
