"""Finished runs of an experiment, each a file."""

import hashlib
import json
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import cycle, islice, pairwise
from pathlib import Path
from statistics import median
from typing import Any

import torch

import bert4so
from bert4so.config.schema import Settings
from bert4so.config.toml import dump_toml
from bert4so.data.corpus import find_corpus, read_split
from bert4so.document import Puzzle
from bert4so.errors import UserError
from bert4so.evaluation.metrics import counted, kendall_tau
from bert4so.evaluation.predictions import read_pairs
from bert4so.experiments.plan import Cell
from bert4so.inference.backend import Backend, fits
from bert4so.io.atomic import write_whole
from bert4so.io.jsonl import parse_records
from bert4so.io.lines import read_lines
from bert4so.training.checkpoint import load_model
from bert4so.training.clock import Clock
from bert4so.training.distributed import on_cpu, take_device
from bert4so.training.loop import train
from bert4so.training.run_documents import splits_of
from bert4so.training.run_folder import check_folder, hold_folder
from bert4so.training.trainer import check_same

LENGTHS = (5, 10, 20, 40)
"""Numbers of sentences that are ordered to see how long that takes, where they can be."""

REPEATS = 3

PARTS = 5
"""Of a run, of which each has a pace of its own."""

Facts = dict[str, Any]


def file_of(results: Path, cell: Cell) -> Path:
    """Where a cell is kept when it is finished."""
    return results / f"{cell.name}.json"


def is_finished(results: Path, cell: Cell) -> bool:
    """Whether the cell is there. One by another configuration is refused, not taken for it."""
    file = file_of(results, cell)
    if not file.exists():
        return False
    configuration = json.loads(file.read_text())["configuration"]
    check_same(tomllib.loads(configuration), cell.run, file)
    return True


def read_cells(results: Path, cells: Iterable[Cell]) -> dict[str, Facts]:
    """What was found of the cells that are finished, by name."""
    files = {cell.name: file_of(results, cell) for cell in cells if is_finished(results, cell)}
    return {name: json.loads(file.read_text()) for name, file in files.items()}


def run_cell(cell: Cell, results: Path, work: Path) -> None:
    """Train, measure, and write the results to a file.

    A run that was stopped resumes from its newest snapshot in `work`. A cell that another process
    is running is refused; one that another process has finished meanwhile is left alone.
    """
    with hold_folder(work / cell.name):
        if not is_finished(results, cell):
            _run_cell(cell, results, work)


def _run_cell(cell: Cell, results: Path, work: Path) -> None:
    began = time.perf_counter()
    config, folder = work / f"{cell.name}.toml", work / cell.name
    config.write_text(dump_toml(cell.run))
    source = _note_source(work / f"{cell.name}.source")
    if (folder / "metrics.json").exists():
        check_same(tomllib.loads((folder / "run.toml").read_text()), cell.run, folder)
    else:
        check_folder(folder, resume=True)
        splits = splits_of(cell.run)
        if not splits.test:
            raise UserError(f"{cell.run.corpus}: no test documents: there is nothing to measure on")
        train(cell.run, splits, folder, f"bert4so train {config} --out {folder}", resume=True)
    found = {**_found(cell, folder), "source": source}
    # Of a run that was stopped, the time of before is not known but for its training.
    wall = max(time.perf_counter() - began, 60 * found["metrics"]["minutes"])
    found["wall_minutes"] = round(wall / 60, 2)
    write_whole(file_of(results, cell), (json.dumps(found) + "\n").encode())


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


def _found(cell: Cell, folder: Path) -> Facts:
    return {
        "cell": cell.name,
        "system": cell.system,
        "corpus": cell.corpus,
        "varied": dict(cell.varied),
        "configuration": dump_toml(cell.run),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "metrics": json.loads((folder / "metrics.json").read_text()),
        "predictions": _sha256(folder / "predictions.jsonl"),
        "puzzles": _sha256(folder / "truth.jsonl"),
        "documents": _by_document(folder),
        "threads": torch.get_num_threads(),
        "tokens_per_second": _paces(folder),
        "validations": _validations(folder),
        "vectors": _vectors(cell.run.model),
        "tagger": _tagger(folder),
        **_ordering(cell, folder),
    }


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _ordering(cell: Cell, folder: Path) -> Facts:
    """How many parameters the model has, and how long it takes to order so many sentences.

    Asked as it is in its test: at once, what is too long for a row being cut.
    """
    _, model = load_model(folder)
    take_device(model)
    documents = read_split(find_corpus(cell.run.corpus), "test")
    sentences = [sentence for document in documents for sentence in document.sentences]
    puzzles = {n: _puzzles(sentences, n) for n in LENGTHS}
    return {
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "seconds_for": {
            str(n): _median_seconds(model, some)
            for n, some in puzzles.items()
            if all(fits(model, puzzle, "", on_bad=lambda error: None) for puzzle in some)
        },
    }


def _puzzles(sentences: Sequence[str], n: int) -> list[Puzzle]:
    """Other ones each time, so that nothing of them is known."""
    turns = cycle(sentences)
    return [Puzzle(tuple(islice(turns, n))) for _ in range(REPEATS + 1)]


def _median_seconds(backend: Backend, puzzles: Sequence[Puzzle]) -> float:
    times = []
    for puzzle in puzzles:
        clock = Clock(on_cpu())
        backend.order([puzzle])
        times.append(clock.spent())
    return round(median(times[1:]), 4)  # the first loads what is loaded late


def _by_document(folder: Path) -> dict[str, list[float]]:
    """Of each test document that counts, in their order: its number of sentences, and its tau."""
    pairs, _ = counted(read_pairs(folder / "predictions.jsonl", folder / "truth.jsonl"))
    return {
        "sentences": [len(true) for _, true in pairs],
        "tau": [round(kendall_tau(*pair), 6) for pair in pairs],
    }


def _vectors(config: Settings) -> Facts | None:
    """Which word vectors a system was given: files of one name are not the same."""
    name = getattr(config, "vectors", "")
    if not name:
        return None
    with Path(name).open("rb") as file:
        words = sum(1 for _ in file)
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"file": Path(name).name, "words": words, "sha256": digest}


def _tagger(folder: Path) -> str | None:
    """What found the nouns, of a system that needs them."""
    file = folder / "input" / "graph.json"
    return json.loads(file.read_text())["version"] if file.exists() else None


def _paces(folder: Path) -> list[int]:
    """Tokens learned from a second of CPU time by thread, in each fifth of a run.

    Where they differ, other work on the machine made the same time worth more or less.
    """
    steps = [event for event in _history(folder) if "metrics" not in event]
    cuts = [len(steps) * part // PARTS for part in range(PARTS + 1)]
    spent = [0.0, *(step["spent"] for step in steps)]
    return [
        round(sum(step["tokens"] for step in steps[first:last]) / (spent[last] - spent[first]))
        for first, last in pairwise(cuts)
        if last > first
    ]


def _history(folder: Path) -> Iterator[Facts]:
    path = folder / "history.jsonl"
    return (event for _, event in parse_records(read_lines(path), str(path)))


def _validations(folder: Path) -> list[Facts]:
    """Each validation of the run: after how many steps and CPU minutes, and what it found."""
    minutes, found = 0.0, []
    for event in _history(folder):
        if "metrics" not in event:
            minutes = event["spent"] / 60
            continue
        found.append(
            {
                "step": event["step"],
                "minutes": round(minutes, 3),
                "tau": round(event["metrics"]["tau"], 6),
                "pmr": round(event["metrics"]["pmr"], 6),
            }
        )
    return found
