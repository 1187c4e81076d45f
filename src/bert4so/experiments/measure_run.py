"""What is measured of a trained run of an experiment."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import cycle, islice, pairwise
from pathlib import Path
from statistics import median
from typing import Any

import torch

from bert4so.config.schema import Settings
from bert4so.config.toml import dump_toml
from bert4so.data.corpus import find_corpus, read_split
from bert4so.document import Puzzle
from bert4so.evaluation.metrics import kendall_tau, scored_pairs
from bert4so.evaluation.predictions import read_pairs
from bert4so.experiments.plan import Cell
from bert4so.experiments.store import TIMED_LENGTHS, TIMED_REPEATS
from bert4so.inference.backend import Backend, fits
from bert4so.io.jsonl import parse_records
from bert4so.io.lines import read_lines
from bert4so.training.checkpoint import load_model
from bert4so.training.clock import Clock
from bert4so.training.distributed import on_cpu, take_device

PARTS = 5
"""Of a run, of which each has a pace of its own."""

Facts = dict[str, Any]


def measure_run(cell: Cell, folder: Path) -> Facts:
    """What the file of a cell holds of its trained run, as JSON."""
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
    puzzles = {n: _puzzles(sentences, n) for n in TIMED_LENGTHS}
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
    return [Puzzle(tuple(islice(turns, n))) for _ in range(TIMED_REPEATS + 1)]


def _median_seconds(backend: Backend, puzzles: Sequence[Puzzle]) -> float:
    times = []
    for puzzle in puzzles:
        clock = Clock(on_cpu())
        backend.order([puzzle])
        times.append(clock.cpu_seconds())
    return round(median(times[1:]), 4)  # the first loads what is loaded late


def _by_document(folder: Path) -> dict[str, list[float]]:
    """Of each test document that counts, in their order: its number of sentences, and its tau."""
    pairs, _ = scored_pairs(read_pairs(folder / "predictions.jsonl", folder / "truth.jsonl"))
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
