"""How much memory many documents take: python benchmarks/memory.py --out FILE.json.

The documents come from a generator: many stories, all different, and every now and then a text that
fills a row or more. Reports the most memory that the process ever had.
"""

import resource
import time
from collections.abc import Iterator

from bert4so import Orderer
from harness import arguments, write_results

STORY = ["Apple {} fell .", "She ate it ."]
"""Short: it is many that are to be ordered here, in less than an hour."""

LONG_EVERY = 5000
LONG = 200
"""Sentences."""


def main() -> None:
    """Measure, and write it down."""
    parser = arguments(__doc__)
    parser.add_argument("--documents", type=int, default=1_000_000)
    args = parser.parse_args()
    began = time.perf_counter()
    number = sum(1 for _ in Orderer.from_pretrained().order_all(stories(args.documents), True))
    facts = {
        "documents": number,
        "sentences": len(STORY),
        "long_every": LONG_EVERY,
        "sentences_of_long": LONG,
        "megabytes": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6),
        "documents_per_second": round(number / (time.perf_counter() - began), 1),
    }
    write_results(args.out, facts)


def stories(number: int) -> Iterator[list[str]]:
    """One after the other, none kept."""
    for k in range(number):
        story = [sentence.format(k) for sentence in STORY]
        yield story if k % LONG_EVERY else [f"{n}: {s}" for n in range(LONG // 2) for s in story]


if __name__ == "__main__":
    main()
