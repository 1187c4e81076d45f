"""How good the bundled model is: python benchmarks/bundled.py RUN CORPUS... --out FILE.json.

On whole test sets, asked as `bert4so order` asks it, with 95 % intervals over documents. RUN is the
folder that it was exported from: told is what it learned from, and for how long.
"""

import argparse
import json
import sys
from collections import Counter
from dataclasses import asdict
from pathlib import Path

from bert4so.data.corpus import find_corpus, read_split, shuffle_seed
from bert4so.evaluate import solve
from bert4so.machine import machine
from bert4so.orderer import BUNDLED, Orderer
from bert4so.progress import progress_bar
from bert4so.run import read_run
from bert4so.summary import summarize
from bert4so.train import splits_of

ROOT = Path(__file__).parent.parent


def main() -> None:
    """Measure, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
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
    facts = {
        "command": " ".join(["python", *sys.argv]),
        "machine": machine(),
        "run": json.loads((asked.run / "metrics.json").read_text()),
        "learned": learned(),
        "found": found,
    }
    asked.out.write_text(json.dumps(facts, indent=1) + "\n")


def learned() -> dict[str, int]:
    """How many documents of each corpus there were to learn from."""
    run = read_run(ROOT / "configs" / "bundled.toml")
    names = {f"{name}/": name for name in run.join}
    counts = Counter[str]()
    for document in splits_of(run).train:
        joined = (name for prefix, name in names.items() if document.id.startswith(prefix))
        counts[next(joined, run.corpus)] += 1
    return dict(counts)


if __name__ == "__main__":
    main()
