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

    A stopped run resumes from its newest snapshot in `work`. Refuses a cell that another process is
    running; does nothing if another process has finished it in the meantime.
    """
    with hold_folder(work / cell.name):
        if not store.is_finished(cell.name):
            _run(cell, store, work)


def _run(cell: Cell, store: CellStore, work: Path) -> None:
    started = time.perf_counter()
    folder = work / cell.name
    config = work / f"{cell.name}.toml"
    config.write_text(dump_toml(cell.run))
    source = _record_source(work / f"{cell.name}.source")
    _train(cell, config, folder)
    facts = {**measure_run(cell, folder), "source": source}
    # For the time before an interruption, only the training time is known.
    wall = max(time.perf_counter() - started, 60 * facts["metrics"]["minutes"])
    store.write(cell.name, {**facts, "wall_minutes": round(wall / 60, 2)})


def _train(cell: Cell, config: Path, folder: Path) -> None:
    """Train to the end, unless the run is finished."""
    if (folder / "metrics.json").exists():
        check_same(tomllib.loads((folder / "run.toml").read_text()), cell.run, folder)
        return
    check_folder(folder, resume=True)
    splits = splits_of(cell.run)
    if not splits.test:
        raise UserError(f"{cell.run.corpus}: no test documents: an experiment needs them")
    train(cell.run, splits, folder, f"bert4so train {config} --out {folder}", resume=True)


def _record_source(file: Path) -> str:
    """Record the source version of a cell; several if it was resumed with another version."""
    hashes = file.read_text().split() if file.exists() else []
    hashes += [source_hash()] if source_hash() not in hashes else []
    file.write_text("\n".join(hashes) + "\n")
    return "+".join(hashes)


@cache
def source_hash() -> str:
    """A hash of the source code of this package.

    Cached from the first call: the files can change while a process runs.
    """
    package = Path(bert4so.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(f"{path.relative_to(package)}\n".encode() + path.read_bytes())
    return digest.hexdigest()[:16]
