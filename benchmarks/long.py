"""What rounds of windows are worth: python benchmarks/long.py CORPUS... --out FILE.json.

Documents of 40, 200 and 1,000 sentences are made of held-out ones, one after the other as they
stand: sections of fairy tales make a tale, and several tales, or awards, a longer text.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

from bert4so.data.corpus import find_corpus, read_split
from bert4so.document import Document
from bert4so.evaluate import measure, solve
from bert4so.machine import machine
from bert4so.orderer import BUNDLED
from bert4so.passes import Passes
from bert4so.runtime import ExportedModel
from bert4so.windows import ROUNDS, Windows

LENGTHS = (40, 200, 1000)
AT_MOST = 4000
"""Sentences of each length."""

REPEATS = 3


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
        for n in LENGTHS:
            documents = pieces(held_out, n)
            for rounds in range(1, ROUNDS + 1):
                found.append(
                    {
                        "corpus": Path(corpus).name,
                        "sentences": n,
                        "documents": len(documents),
                        "rounds": rounds,
                    }
                    | worth(Windows(Passes(model, 1), model.packer, rounds), documents)
                )
                sys.stdout.write(f"{found[-1]}\n")
    facts = {"command": " ".join(["python", *sys.argv]), "machine": machine(), "found": found}
    asked.out.write_text(json.dumps(facts, indent=1) + "\n")


def worth(backend: Windows, documents: list[Document]) -> dict[str, float]:
    """Kendall's tau, and the time for a sentence."""
    seconds = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        tau = measure(solve(backend, documents)).tau
        seconds.append(time.perf_counter() - began)
    sentences = sum(len(document.sentences) for document in documents)
    return {
        "tau": round(tau, 4),
        "milliseconds_per_sentence": round(1000 * statistics.median(seconds) / sentences, 2),
    }


def pieces(documents: list[Document], n: int) -> list[Document]:
    """Documents of so many sentences, out of what stands one after the other."""
    joined = [sentence for document in documents for sentence in document.sentences][:AT_MOST]
    cut = [joined[i : i + n] for i in range(0, len(joined), n)]
    return [Document(f"{i}", tuple(some)) for i, some in enumerate(cut) if len(some) == n]


if __name__ == "__main__":
    main()
