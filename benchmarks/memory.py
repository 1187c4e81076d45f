"""How much memory many documents take: python benchmarks/memory.py --out FILE.json.

So many stories, all different, from a generator, and now and then a text that fills a row, or many;
told is the most memory that the process ever had.
"""

import argparse
import json
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from bert4so import Orderer
from bert4so.common.machine import machine

STORY = ["Apple {} fell .", "She ate it ."]
"""Short: it is many that are to be ordered here, in less than an hour."""

LONG_EVERY = 5000
LONG = 200
"""Sentences."""


def main() -> None:
    """Measure, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    began = time.perf_counter()
    found = sum(1 for _ in Orderer.from_pretrained().order_all(stories(asked.documents), True))
    facts = {
        "command": " ".join(["python", *sys.argv]),
        "machine": machine(),
        "documents": found,
        "sentences": len(STORY),
        "long_every": LONG_EVERY,
        "sentences_of_long": LONG,
        "megabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6),
        "documents_per_second": round(found / (time.perf_counter() - began), 1),
    }
    asked.out.write_text(json.dumps(facts, indent=1) + "\n")


def stories(number: int) -> Iterator[list[str]]:
    """One after the other, none kept."""
    for k in range(number):
        story = [sentence.format(k) for sentence in STORY]
        yield story if k % LONG_EVERY else [f"{n}: {s}" for n in range(LONG // 2) for s in story]


if __name__ == "__main__":
    main()
