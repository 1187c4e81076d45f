"""How good the bundled model is: python benchmarks/bundled.py CORPUS... --out FILE.json.

On whole test sets, asked as `bert4so order` asks it, with 95 % intervals over documents.
"""

import argparse
import json
import sys
from dataclasses import asdict
from pathlib import Path

from bert4so.data.corpus import find_corpus, read_split, shuffle_seed
from bert4so.evaluate import solve
from bert4so.machine import machine
from bert4so.orderer import BUNDLED, Orderer
from bert4so.progress import progress_bar
from bert4so.summary import summarize


def main() -> None:
    """Measure, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--model", type=Path, default=BUNDLED)
    parser.add_argument("--split", default="test")
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    backend = Orderer.from_pretrained(asked.model).asked()
    found = {}
    for corpus in asked.corpora:
        folder = find_corpus(corpus)
        documents = read_split(folder, asked.split)
        with progress_bar(corpus, len(documents)) as advance:
            solved = solve(backend, documents, shuffle_seed(folder), advance)
        found[corpus] = asdict(summarize([[one.orders for one in solved]]))
        sys.stdout.write(f"{corpus}: {found[corpus]}\n")
    facts = {"command": " ".join(["python", *sys.argv]), "machine": machine(), "found": found}
    asked.out.write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    main()
