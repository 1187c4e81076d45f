"""What the systems give for equal training: python benchmarks/systems.py RUNS... --out FILE.json.

RUNS are folders that `bert4so train` wrote, of one corpus. From each come its metrics and training
speed; measured here, interleaved, are documents ordered a second and the time an order takes
against the number of sentences.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from bert4so.checkpoint import load_model
from bert4so.data.corpus import find_corpus, read_split
from bert4so.data.shuffle import shuffle
from bert4so.document import Document, Puzzle
from bert4so.machine import machine
from bert4so.model import OrderingModel

REPEATS = 3
DOCUMENTS = 64
LENGTHS = (5, 10, 20, 40)


def main() -> None:
    """Measure, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    runs = {folder: load_model(folder) for folder in asked.runs}
    corpus = find_corpus({run.corpus for run, _ in runs.values()}.pop())
    documents = read_split(corpus, "test")
    sets = {"documents": puzzles(documents[:DOCUMENTS])} | {
        f"{n} sentences": puzzles([of_length(documents, n)]) for n in LENGTHS
    }
    seconds: dict[Path, dict[str, list[float]]] = {f: {s: [] for s in sets} for f in runs}
    for _ in range(REPEATS):
        for folder, (_, model) in runs.items():
            for name, some in sets.items():
                seconds[folder][name].append(taken(model, some))
    systems = [
        facts(folder, model, {name: statistics.median(s) for name, s in seconds[folder].items()})
        for folder, (_, model) in runs.items()
    ]
    whole = {
        "command": " ".join(["python", *sys.argv]),
        "machine": machine(),
        "corpus": corpus.name,
        "systems": systems,
    }
    asked.out.write_text(json.dumps(whole, indent=1) + "\n")


def puzzles(documents: list[Document]) -> list[Puzzle]:
    """The documents as a system sees them."""
    return [shuffle(document, seed=0).without_answer() for document in documents]


def of_length(documents: list[Document], n: int) -> Document:
    """A document of so many sentences, made of the first documents that have so many together."""
    sentences = [sentence for document in documents for sentence in document.sentences]
    return Document(f"{n}", tuple(sentences[:n]))


def taken(model: OrderingModel[Any], some: list[Puzzle]) -> float:
    """The seconds that it takes to order them."""
    began = time.perf_counter()
    model.order(some)
    return time.perf_counter() - began


def facts(folder: Path, model: OrderingModel[Any], seconds: dict[str, float]) -> dict[str, Any]:
    """All that is told of a system."""
    told = json.loads((folder / "metrics.json").read_text())
    return {
        "system": told["run"]["system"],
        "command": told["command"],
        "valid": told["valid"],
        "test": told["test"],
        "epoch": told["epoch"],
        "steps": told["steps"],
        "cpu_minutes": told["cpu_minutes"],
        "parameters": sum(weight.numel() for weight in model.parameters()),
        "training_tokens_per_second": told["tokens_per_second"],
        "documents_per_second": round(DOCUMENTS / seconds["documents"], 2),
        "seconds_for": {str(n): round(seconds[f"{n} sentences"], 4) for n in LENGTHS},
    }


if __name__ == "__main__":
    main()
