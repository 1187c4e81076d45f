"""The runs that an experiment file describes."""

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


class Place(Settings):
    """A corpus of the paper, as it is to be had.

    folder:   its path, or its name where corpora are looked for.
    stand_in: in which way it is not the paper's; empty where it is.
    set:      what is changed in all runs on it.
    """

    folder: str
    stand_in: str = ""
    set: dict[str, Any] = Field(default_factory=dict)


class Grid(Settings):
    """Runs of systems on corpora, each with each.

    systems: by their names in the experiment.
    corpora: by their names in the paper.
    vary:    values by key, each of which is tried with each of the others'.
    join:    corpora that are learned from as well.
    set:     what is changed in all runs of the grid; they are then called by its name.
    """

    systems: list[str]
    corpora: list[str]
    seeds: list[int] = Field(default_factory=lambda: [1])
    vary: dict[str, Any] = Field(default_factory=dict)
    join: list[str] = Field(default_factory=list)
    set: dict[str, Any] = Field(default_factory=dict)


class Experiment(Settings):
    """What a file of `configs/experiments` says.

    set:     what is changed in all runs.
    corpora: by their names in the paper.
    systems: what is changed in the runs of each; where its name is not that of a system of this
             package, `system` says which it is a form of.
    grids:   by the table they are for.
    """

    scale: Literal["paper", "desk"]
    set: dict[str, Any] = Field(default_factory=dict)
    corpora: dict[str, Place]
    systems: dict[str, dict[str, Any]]
    grids: dict[str, Grid]


@dataclass(frozen=True)
class Cell:
    """One run of an experiment.

    name:   of its file.
    system: its name in the experiment.
    corpus: its name in the paper.
    varied: the values that the grid varies, by their dotted names.
    """

    name: str
    system: str
    corpus: str
    varied: Mapping[str, Any]
    run: RunConfig


def read_experiment(path: Path) -> Experiment:
    """The experiment of a TOML file."""
    experiment = checked(Experiment, read_toml(path), str(path))
    if "table-1" not in experiment.grids:
        raise UserError(f"{path}: no [grids.table-1]: wanted the runs of the main table")
    for name, grid in experiment.grids.items():
        for kind, used, known in (
            ("corpus", [*grid.corpora, *grid.join], experiment.corpora),
            ("system", grid.systems, experiment.systems),
        ):
            unknown = [one for one in used if one not in known]
            if unknown:
                raise UserError(f'{path} [grids.{name}]: "{unknown[0]}": no such {kind} above')
    return experiment


def all_cells(experiment: Experiment) -> list[Cell]:
    """The cells of all grids, each once, in the order in which they run: that of the file.

    Within a grid by seed first, so that every cell has run once before any runs again.
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
    usual: Values = {
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
    plain = reduce(merge, layers, usual)
    changes = (branch(key, value) for key, value in varied.items())
    changed = reduce(merge, changes, plain)
    joined = [experiment.corpora[other].folder for other in grid.join if other != corpus]
    run = _run({**changed, "join": joined}, system, corpus)
    parts = [
        system,
        corpus.lower(),
        *([name] if grid.set else []),
        *_differences(_run(plain, system, corpus), run),
    ]
    return Cell("-".join([*parts, f"seed-{seed}"]), system, corpus, varied, run)


def _run(values: Values, system: str, corpus: str) -> RunConfig:
    return make_run(values, f"{system} on {corpus}", like=corpus.lower())


def _differences(plain: RunConfig, run: RunConfig) -> Iterator[str]:
    """What the name of a cell tells of its run: all that is not as in the plain one.

    So that the same run in two grids is one cell.
    """
    if run.join:
        yield "joined"
    before, now = dict(leaves(plain.model_dump())), dict(leaves(run.model_dump()))
    for key in sorted(now):
        if key != "join" and now[key] != before.get(key):
            yield f"{key.rpartition('.')[2]}-{now[key]}"


def make_plan(experiment: Experiment) -> Plan:
    """What the tables need of an experiment, as plain data."""
    grids = {name: grid_cells(experiment, name) for name in experiment.grids}
    corpora = experiment.corpora.items()
    return Plan(
        minutes=experiment.set.get("minutes"),
        least_gap=LEAST_GAP,
        kept_tokens=MAX_STORED_TOKENS,
        corpora={name: PlannedCorpus(place.folder, place.stand_in) for name, place in corpora},
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
    kept: Values = {key: getattr(cell.run, key) for key in ("system", "corpus", "scale")}
    usual = dict(leaves(_run(kept, cell.system, cell.corpus).model_dump()))
    now = dict(leaves(cell.run.model_dump()))
    return PlannedCell(
        name=cell.name,
        system=cell.system,
        corpus=cell.corpus,
        settings=_as_json(cell.run),
        changed=[key for key in now if now[key] != usual.get(key)],
    )


def _as_json(run: RunConfig) -> Values:
    """The settings as JSON has them, which has no infinity."""
    settings: Values = json.loads(run.model_dump_json())
    return settings
