"""What a pass is worth: python benchmarks/passes.py MODEL CORPUS... --out FILE.json.

For K passes: Kendall's tau and PMR as `bert4so order --passes K` gives them; and, over two
independent sets of K shuffles, how often a document comes out in the same order both times, which
is how much of an answer is luck.
"""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from bert4so.data.corpus import find_corpus, read_split, sampled
from bert4so.data.shuffle import shuffle
from bert4so.document import Document
from bert4so.evaluate import measure, solve
from bert4so.machine import machine
from bert4so.passes import Passes
from bert4so.runtime import ExportedModel

PASSES = (1, 2, 4, 8)
DOCUMENTS = 1000


def main() -> None:
    """Measure, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model", type=Path)
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--split", default="test")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    model = ExportedModel.load(asked.model)
    found = []
    for corpus in asked.corpora:
        documents = sampled(read_split(find_corpus(corpus), asked.split), DOCUMENTS)
        views = [scores(model, documents, f"{k}") for k in range(2 * max(PASSES))]
        for passes in PASSES:
            metrics = measure(solve(Passes(model, passes), documents))
            found.append(
                {
                    "corpus": corpus,
                    "documents": metrics.documents,
                    "passes": passes,
                    "tau": round(metrics.tau, 4),
                    "pmr": round(metrics.pmr, 4),
                    "consistency": round(consistency(views, passes), 4),
                }
            )
            sys.stdout.write(f"{found[-1]}\n")
    facts = {"command": " ".join(["python", *sys.argv]), "machine": machine(), "found": found}
    asked.out.write_text(json.dumps(facts, indent=1) + "\n")


def scores(model: ExportedModel, documents: Sequence[Document], seed: str) -> list[np.ndarray]:
    """The score of each sentence of each document, shuffled by a seed, by its true place."""
    puzzles = [shuffle(document, seed) for document in documents]
    found = []
    for puzzle, ordering in zip(
        puzzles, model.order([p.without_answer() for p in puzzles]), strict=True
    ):
        assert puzzle.order is not None
        given = np.array(ordering.scores)[puzzle.order]
        found.append(given - given.mean())
    return found


def consistency(views: list[list[np.ndarray]], passes: int) -> float:
    """How often two independent sets of so many shuffles give a document the same order."""
    first, second = views[:passes], views[passes : 2 * passes]
    same = [
        (np.argsort(-sum(a)) == np.argsort(-sum(b))).all()
        for a, b in zip(zip(*first, strict=True), zip(*second, strict=True), strict=True)
    ]
    return float(np.mean(same))


if __name__ == "__main__":
    main()
