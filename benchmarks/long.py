"""What rounds of windows are worth: python benchmarks/long.py CORPUS... --out FILE.json.

Held-out documents that do not fit a row as they are; and texts of 40, 200 and 1,000 sentences made
of them, one after the other as they stand: sections of fairy tales make a tale, and several tales,
or awards, a longer text. Which of two tales, or of two awards, comes first nobody can know, so that
no order of such a text is near to its own.
"""

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bert4so.data.corpus import find_corpus, read_split
from bert4so.data.shuffle import shuffle
from bert4so.document import Document, Order, Puzzle
from bert4so.machine import machine
from bert4so.metrics import average
from bert4so.orderer import BUNDLED
from bert4so.passes import Passes
from bert4so.runtime import ExportedModel
from bert4so.windows import Windows, fits_a_row

LENGTHS = (40, 200, 1000)
AT_MOST = 3000
"""Sentences of each length."""

AT_MOST_DOCUMENTS = 100
AT_LEAST_DOCUMENTS = 3
"""Of fewer, nothing is told."""


class Watched(Windows):
    """Tells after each round how far it has come: what fewer rounds would have given."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.found: list[dict[int, Order]] = []
        self.times: list[float] = []

    def _round(self, number: int, searches: Sequence[Any]) -> None:
        super()._round(number, searches)
        before = self.found[-1] if self.found else {}
        self.found.append(before | {id(search.puzzle): search.order for search in searches})
        self.times.append(time.perf_counter())


def main() -> None:
    """Measure, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--splits", nargs="+", default=["valid", "test"])
    parser.add_argument("--model", type=Path, default=BUNDLED)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    model = ExportedModel.load(asked.model)
    found = []
    for corpus in asked.corpora:
        folder = find_corpus(corpus)
        held_out = [document for split in asked.splits for document in read_split(folder, split)]
        texts = {"as they are": held_out} | {f"{n:,}": pieces(held_out, n) for n in LENGTHS}
        for sentences, documents in texts.items():
            known = {"corpus": Path(corpus).name, "sentences": sentences}
            for one in by_rounds(model, documents):
                found.append(known | one)
                sys.stdout.write(f"{found[-1]}\n")
    facts = {"command": " ".join(["python", *sys.argv]), "machine": machine(), "found": found}
    asked.out.write_text(json.dumps(facts, indent=1) + "\n")


def by_rounds(model: ExportedModel, documents: list[Document]) -> list[dict[str, float]]:
    """Kendall's tau after each round, and the time for a sentence up to it."""
    puzzles = [shuffle(document, 0) for document in documents if is_long(model, document)]
    puzzles = puzzles[:AT_MOST_DOCUMENTS]
    if len(puzzles) < AT_LEAST_DOCUMENTS:
        return []
    shown = [puzzle.without_answer() for puzzle in puzzles]
    watched = Watched(Passes(model, 1), model.packer)
    began = time.perf_counter()
    watched.order(shown)
    sentences = sum(len(puzzle.sentences) for puzzle in puzzles)
    told = []
    for number, (orders, at) in enumerate(zip(watched.found, watched.times, strict=True), start=1):
        pairs = [
            (orders[id(given)], puzzle.order or [])
            for given, puzzle in zip(shown, puzzles, strict=True)
        ]
        told.append(
            {
                "documents": len(pairs),
                "rounds": number,
                "tau": round(average(pairs).tau, 4),
                "milliseconds_per_sentence": round(1000 * (at - began) / sentences, 2),
            }
        )
    return told


def is_long(model: ExportedModel, document: Document) -> bool:
    """Whether it does not fit a row."""
    return not fits_a_row(model.packer, Puzzle(document.sentences))


def pieces(documents: list[Document], n: int) -> list[Document]:
    """Documents of so many sentences, out of what stands one after the other."""
    joined = [sentence for document in documents for sentence in document.sentences][:AT_MOST]
    cut = [joined[i : i + n] for i in range(0, len(joined), n)]
    return [Document(f"{i}", tuple(some)) for i, some in enumerate(cut) if len(some) == n]


if __name__ == "__main__":
    main()
