"""How good the bundled model is: python benchmarks/bundled.py RUN CORPUS... --out FILE.json.

On whole test sets, asked as `bert4so order` asks it, with 95 % intervals over documents. RUN is the
folder that it was exported from: told is what it learned from, for how long, and what of it stands
in a test set, as `bert4so data check` looks for it.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bert4so.common.progress import progress_bar
from bert4so.config.schema import RunConfig
from bert4so.data.check import find_overlaps
from bert4so.data.corpus import find_corpus, read_split, shuffle_seed
from bert4so.document import Document
from bert4so.evaluation.evaluate import solve
from bert4so.evaluation.summary import summarize
from bert4so.inference.backend import Backend
from bert4so.inference.orderer import BUNDLED, Orderer
from bert4so.training.checkpoint import load_run
from bert4so.training.run_documents import splits_of
from harness import arguments, show, write_results


def main() -> None:
    """Measure, and write it down."""
    parser = arguments(__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--model", type=Path, default=BUNDLED)
    parser.add_argument("--split", default="test")
    args = parser.parse_args()
    run = load_run(args.run)
    metrics = json.loads((args.run / "metrics.json").read_text())
    train = splits_of(run).train
    found_in_training = leaks(train, args.corpora)
    backend = Orderer.from_pretrained(args.model).build_backend()
    found = {}
    for corpus in args.corpora:
        name = Path(corpus).name
        found[name] = measured(backend, corpus, args.split)
        show(name, found[name])
    facts = {
        "run": metrics,
        "epochs": round(metrics["steps"] * run.train.batch / len(train), 2),
        "learned": learned(run, train),
        "leaks": found_in_training,
        "found": found,
    }
    write_results(args.out, facts)


def measured(backend: Backend, corpus: str, split: str) -> dict[str, Any]:
    """The metrics of a backend on a split, with their intervals."""
    folder = find_corpus(corpus)
    documents = read_split(folder, split)
    with progress_bar(corpus, len(documents)) as advance:
        solved = solve(backend, documents, shuffle_seed(folder), advance)
    return asdict(summarize([[one.orders for one in solved]]))


def learned(run: RunConfig, train: Sequence[Document]) -> dict[str, int]:
    """How many documents of each corpus there were to learn from."""
    names = {f"{name}/": name for name in run.join}
    counts = Counter[str]()
    for document in train:
        joined = (name for prefix, name in names.items() if document.id.startswith(prefix))
        counts[next(joined, run.corpus)] += 1
    return dict(counts)


def leaks(train: Sequence[Document], corpora: Sequence[str]) -> list[str]:
    """What was learned from, whole or two sentences of which stand in a test document."""
    learned_from = ("bundled", "train")
    places = {(Path(c).name, "test"): read_split(find_corpus(c), "test") for c in corpora}
    found = find_overlaps({learned_from: train, **places})
    across = [f.ids for f in found if f.problem.startswith("bundled/train: also in")]
    return sorted({id for ids in across for id in ids})


if __name__ == "__main__":
    main()
