"""What the bundled model learned from that is held out elsewhere, though in other words:
python benchmarks/overlap.py CONFIG... --held CORPUS/SPLIT... --out FILE.json.

`bert4so train` leaves out what shares two sentences with a held-out document. Here, how many of a
held-out document's runs of five words stand in one document that was learned from, so that another
version of the same text is found; and what tau is without those of which it is much.
"""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from bert4so.common.progress import progress_bar
from bert4so.data.corpus import find_corpus, read_split, shuffle_seed
from bert4so.data.overlap import overlaps
from bert4so.document import Document
from bert4so.evaluation.evaluate import measure, solve
from bert4so.inference.orderer import Orderer
from bert4so.systems.run_config import read_run
from bert4so.training.run_documents import splits_of
from harness import arguments, write_results

WORDS = 5
MUCH = 0.3
"""The share of a document's runs of words from which on it counts as known."""

RESULTS = Path("results/bundled.json")


def main() -> None:
    """Measure, and write it down."""
    parser = arguments(__doc__)
    parser.add_argument("configs", nargs="+", type=Path)
    parser.add_argument("--held", nargs="+", required=True)
    args = parser.parse_args()
    train = [document for path in args.configs for document in splits_of(read_run(path)).train]
    held = {place: read_split(find_corpus(corpus(place)), split(place)) for place in args.held}
    largest = shares(train, held)
    both = overlaps({"train": train, **held})
    sentences = {one.document.id for one in both if one.group == "train" != one.other}
    facts = {
        "words": WORDS,
        "much": MUCH,
        "sharing_two_sentences": len(sentences),
        "found": {place: known(place, held[place], largest[place]) for place in held},
    }
    write_results(args.out, facts)


def corpus(place: str) -> str:
    """The corpus of a place."""
    return place.rpartition("/")[0]


def split(place: str) -> str:
    """Its split."""
    return place.rpartition("/")[2]


def shares(
    train: Sequence[Document], held: dict[str, list[Document]]
) -> dict[str, dict[str, float]]:
    """Of each held-out document, the largest share of it that one training document has."""
    runs = {
        (place, document.id): set(runs_of_words(document))
        for place, documents in held.items()
        for document in documents
    }
    where = defaultdict(list)
    for key, own in runs.items():
        for run in own:
            where[run].append(key)
    found: dict[str, dict[str, float]] = {place: defaultdict(float) for place in held}
    with progress_bar("comparing", len(train)) as advance:
        for document in train:
            own = set(runs_of_words(document))
            for key, count in Counter(key for run in own for key in where.get(run, ())).items():
                place, id = key
                found[place][id] = max(found[place][id], count / len(runs[key]))
            advance(1)
    return found


def runs_of_words(document: Document) -> Iterator[tuple[str, ...]]:
    """All runs of words, whatever their case and punctuation."""
    words = re.findall(r"\w+", " ".join(document.sentences).casefold())
    return zip(*(words[k:] for k in range(WORDS)), strict=False)


def known(place: str, documents: Sequence[Document], found: dict[str, float]) -> dict[str, Any]:
    """How many documents are known, and, of test documents, what tau is with and without them."""
    some = [document for document in documents if found[document.id] >= MUCH]
    facts: dict[str, Any] = {"documents": len(documents), "known": len(some)}
    if split(place) == "test" and some:
        seed = shuffle_seed(find_corpus(corpus(place)))
        own = measure(solve(Orderer.from_pretrained().build_backend(), some, seed))
        whole = json.loads(RESULTS.read_text())["found"][corpus(place)]["metrics"]
        left = whole["documents"] - own.documents
        without = (whole["tau"] * whole["documents"] - own.tau * own.documents) / left
        facts |= {"tau_of_known": round(own.tau, 4), "tau_without": round(without, 4)}
    return facts


if __name__ == "__main__":
    main()
