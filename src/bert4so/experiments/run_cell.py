"""Run one cell of an experiment: train, measure, store."""

import hashlib
import time
import tomllib
from functools import cache
from pathlib import Path

import bert4so
from bert4so.config.toml import dump_toml
from bert4so.errors import UserError
from bert4so.experiments.measure_run import measure_run
from bert4so.experiments.plan import Cell
from bert4so.experiments.store import CellStore
from bert4so.training.loop import train
from bert4so.training.run_documents import splits_of
from bert4so.training.run_folder import check_folder, hold_folder
from bert4so.training.trainer import check_same


def run_cell(cell: Cell, store: CellStore, work: Path) -> None:
    """Train, measure, and store the results.

    A run that was stopped resumes from its newest snapshot in `work`. A cell that another process
    is running is refused; one that another process has finished meanwhile is left alone.
    """
    with hold_folder(work / cell.name):
        if not store.is_finished(cell.name):
            _run(cell, store, work)


def _run(cell: Cell, store: CellStore, work: Path) -> None:
    began = time.perf_counter()
    folder = work / cell.name
    config = work / f"{cell.name}.toml"
    config.write_text(dump_toml(cell.run))
    source = _note_source(work / f"{cell.name}.source")
    _train(cell, config, folder)
    facts = {**measure_run(cell, folder), "source": source}
    # The time before an interruption is known for training alone.
    wall = max(time.perf_counter() - began, 60 * facts["metrics"]["minutes"])
    store.write(cell.name, {**facts, "wall_minutes": round(wall / 60, 2)})


def _train(cell: Cell, config: Path, folder: Path) -> None:
    """Train to the end, unless that has been done."""
    if (folder / "metrics.json").exists():
        check_same(tomllib.loads((folder / "run.toml").read_text()), cell.run, folder)
        return
    check_folder(folder, resume=True)
    splits = splits_of(cell.run)
    if not splits.test:
        raise UserError(f"{cell.run.corpus}: no test documents: there is nothing to measure on")
    train(cell.run, splits, folder, f"bert4so train {config} --out {folder}", resume=True)


def _note_source(file: Path) -> str:
    """Write down which source a cell is run by: all of them, where it was stopped between."""
    known = file.read_text().split() if file.exists() else []
    known += [source_hash()] if source_hash() not in known else []
    file.write_text("\n".join(known) + "\n")
    return "+".join(known)


@cache
def source_hash() -> str:
    """Tells two versions of this package apart, whatever they are called.

    Kept from when it was first asked for: the files may change while a process runs.
    """
    package = Path(bert4so.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package)}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]
