"""What rounds of windows are worth: python benchmarks/long.py TALES --out FILE.json.

Tales are put together of their sections, and cut into documents of 40, 200 and 1,000 sentences.
"""

import argparse
import json
import sys
import time
from itertools import groupby
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


def main() -> None:
    """Measure, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    parser.add_argument("--split", default="test")
    parser.add_argument("--model", type=Path, default=BUNDLED)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    model = ExportedModel.load(asked.model)
    tales = whole(read_split(find_corpus(asked.corpus), asked.split))
    found = []
    for n in LENGTHS:
        documents = pieces(tales, n)
        for rounds in range(1, ROUNDS + 1):
            backend = Windows(Passes(model, 1), model.packer, rounds)
            began = time.perf_counter()
            tau = measure(solve(backend, documents)).tau
            seconds = (time.perf_counter() - began) / len(documents)
            found.append(
                {
                    "sentences": n,
                    "documents": len(documents),
                    "rounds": rounds,
                    "tau": round(tau, 4),
                    "seconds_per_document": round(seconds, 3),
                }
            )
            sys.stdout.write(f"{found[-1]}\n")
    facts = {"command": " ".join(["python", *sys.argv]), "machine": machine(), "found": found}
    asked.out.write_text(json.dumps(facts, indent=1) + "\n")


def whole(sections: list[Document]) -> list[list[str]]:
    """The sentences of each tale; its sections stand one after the other."""
    return [
        [sentence for section in some for sentence in section.sentences]
        for _, some in groupby(sections, key=lambda section: section.id.rpartition("-")[0])
    ]


def pieces(tales: list[list[str]], n: int) -> list[Document]:
    """Documents of so many sentences, of one tale where it is long enough, else of several."""
    if n <= max(map(len, tales)):
        cut = [tale[i : i + n] for tale in tales for i in range(0, len(tale), n)]
    else:
        joined = [sentence for tale in tales for sentence in tale]
        cut = [joined[i : i + n] for i in range(0, len(joined), n)]
    return [Document(f"{i}", tuple(some)) for i, some in enumerate(cut) if len(some) == n]


if __name__ == "__main__":
    main()
