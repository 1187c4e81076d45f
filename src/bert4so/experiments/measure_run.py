"""Measure a trained run of an experiment."""

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

SPEED_INTERVALS = 5
"""Number of parts of a run whose training speeds are measured separately."""

Facts = dict[str, Any]


def measure_run(cell: Cell, folder: Path) -> Facts:
    """The content of the JSON file of a cell."""
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
        "tokens_per_second": _speeds(folder),
        "validations": _validations(folder),
        "vectors": _vectors(cell.run.model),
        "tagger": _tagger(folder),
        **_ordering(cell, folder),
    }


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _ordering(cell: Cell, folder: Path) -> Facts:
    """The number of parameters, and the time to order a document by its number of sentences.

    The model orders as in its test: in one pass; text that does not fit into a row is cut.
    """
    _, model = load_model(folder)
    take_device(model)
    documents = read_split(find_corpus(cell.run.corpus), "test")
    sentences = [sentence for document in documents for sentence in document.sentences]
    puzzles = {n: _puzzles(sentences, n) for n in TIMED_LENGTHS}
    return {
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "seconds_for": {
            str(n): _median_seconds(model, of_length)
            for n, of_length in puzzles.items()
            if all(fits(model, puzzle, "", on_bad=lambda error: None) for puzzle in of_length)
        },
    }


def _puzzles(sentences: Sequence[str], n: int) -> list[Puzzle]:
    """Puzzles with different sentences, so that caches do not help."""
    endless = cycle(sentences)
    return [Puzzle(tuple(islice(endless, n))) for _ in range(TIMED_REPEATS + 1)]


def _median_seconds(backend: Backend, puzzles: Sequence[Puzzle]) -> float:
    times = []
    for puzzle in puzzles:
        clock = Clock(on_cpu())
        backend.order([puzzle])
        times.append(clock.cpu_seconds())
    return round(median(times[1:]), 4)  # the first call includes lazy loading


def _by_document(folder: Path) -> dict[str, list[float]]:
    """The number of sentences and tau of each scored test document, in corpus order."""
    pairs, _ = scored_pairs(read_pairs(folder / "predictions.jsonl", folder / "truth.jsonl"))
    return {
        "sentences": [len(true) for _, true in pairs],
        "tau": [round(kendall_tau(*pair), 6) for pair in pairs],
    }


def _vectors(config: Settings) -> Facts | None:
    """The word vectors of a system, with a hash: files of the same name can differ."""
    name = getattr(config, "vectors", "")
    if not name:
        return None
    with Path(name).open("rb") as file:
        words = sum(1 for _ in file)
        file.seek(0)
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"file": Path(name).name, "words": words, "sha256": digest}


def _tagger(folder: Path) -> str | None:
    """The tagger that found the nouns; None if the system needs none."""
    file = folder / "input" / "graph.json"
    return json.loads(file.read_text())["version"] if file.exists() else None


def _speeds(folder: Path) -> list[int]:
    """Training tokens per second of CPU time per thread, in each fifth of a run.

    If they differ, other work on the machine slowed down a part of the run.
    """
    steps = [event for event in _history(folder) if "metrics" not in event]
    cuts = [len(steps) * part // SPEED_INTERVALS for part in range(SPEED_INTERVALS + 1)]
    seconds = [0.0, *(step["spent"] for step in steps)]
    return [
        round(sum(step["tokens"] for step in steps[first:last]) / (seconds[last] - seconds[first]))
        for first, last in pairwise(cuts)
        if last > first
    ]


def _history(folder: Path) -> Iterator[Facts]:
    path = folder / "history.jsonl"
    return (event for _, event in parse_records(read_lines(path), str(path)))


def _validations(folder: Path) -> list[Facts]:
    """The validations of the run: steps and CPU minutes so far, and metrics."""
    minutes, validations = 0.0, []
    for event in _history(folder):
        if "metrics" not in event:
            minutes = event["spent"] / 60
            continue
        validations.append(
            {
                "step": event["step"],
                "minutes": round(minutes, 3),
                "tau": round(event["metrics"]["tau"], 6),
                "pmr": round(event["metrics"]["pmr"], 6),
            }
        )
    return validations
