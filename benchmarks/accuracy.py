"""Whether what makes training fast harms what is learned, over three seeds:

    python benchmarks/accuracy.py CONFIG.toml --out results/accuracy.json [--resume]

As many epochs of `bert4so train`, in float32 and in bf16, and of what public code does: random
batches, and the encoder's own dropout. Reports Kendall's tau and PMR on validation and on test
documents after the last epoch.
"""

import json
import statistics
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from itertools import product
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from accelerate.state import AcceleratorState

from bert4so.common.progress import progress_bar
from bert4so.common.stable_hash import stable_hash
from bert4so.config.schema import RunConfig
from bert4so.data.batches import epoch_batches
from bert4so.evaluation.evaluate import measure, solve
from bert4so.systems.run_config import read_run
from bert4so.training.run_documents import splits_of
from bert4so.training.trainer import Trainer
from harness import arguments, show, write_results

SEEDS = (1, 2, 3)
PLAIN = "a plain loop"
WAYS = {
    "`bert4so train`": [],
    "`bert4so train` with `train.precision=bf16`": ["train.precision=bf16"],
    PLAIN: ["model.encoder_dropout=0.1", "train.accumulate=8"],
}
"""What is set for each."""


def main() -> None:
    """Measure, and write it down."""
    parser = arguments(__doc__)
    parser.add_argument("config", type=Path)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--resume", action="store_true", help="keep the runs that are there")
    args = parser.parse_args()
    found: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
    if args.resume and args.out.exists():
        found = json.loads(args.out.read_text())["found"]
    for seed, way in product(SEEDS, WAYS):
        if any(one["seed"] == seed for one in found[way]):
            continue
        run = read_run(args.config, [*args.set, f"seed={seed}", *WAYS[way]])
        found[way].append(learned(run, way == PLAIN, f"{way}, {seed}"))
        show(f"{way}, seed {seed}", found[way][-1])
        facts = {
            "run": run.model_dump(),
            "found": found,
            "summary": {way: summary(some) for way, some in found.items() if len(some) > 1},
        }
        write_results(args.out, facts)


def plain_batches(
    ids: Sequence[str], sizes: Sequence[int], batch: int, seed: int, epoch: int, parts: int
) -> list[list[int]]:
    """Random batches, of documents of any length.

    The gradient of a batch is summed over its parts. Documents of like lengths are put in one part:
    the step is the same, with less padding.
    """
    drawn = sorted(range(len(ids)), key=lambda i: stable_hash("plain", seed, epoch, ids[i]))
    batches = (drawn[i : i + batch] for i in range(0, len(drawn), batch))
    return [dealt(sorted(one, key=sizes.__getitem__), parts) for one in batches]


def dealt(alike: Sequence[int], parts: int) -> list[int]:
    """A batch in the order in which its p-th part is every p-th of its documents."""
    size = ceil(len(alike) / parts)
    return [document for k in range(size) for document in alike[k::size]]


def learned(run: RunConfig, plain: bool, title: str) -> dict[str, Any]:
    """What a run knows after its last epoch, and how long that took."""
    AcceleratorState._reset_state()  # it keeps the first precision of a process, and refuses others
    with TemporaryDirectory() as unused:
        batching = partial(plain_batches, parts=run.train.accumulate) if plain else epoch_batches
        trainer = Trainer(run, splits_of(run), Path(unused), batching=batching)
        with progress_bar(title, trainer.steps) as advance:
            for epoch in trainer.epochs():
                for _ in trainer.learn(epoch):
                    advance(1)
    splits, steps = trainer.splits, trainer.history.steps
    held_out = {"valid": splits.valid, "test": splits.test}
    return {
        "seed": run.seed,
        "tokens_per_second": round(sum(step.tokens for step in steps) / steps[-1].seconds),
        **{
            split: asdict(measure(solve(trainer.model, documents, splits.seed)))
            for split, documents in held_out.items()
        },
    }


def summary(found: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean and standard deviation of tau over the seeds."""
    taus = {split: [one[split]["tau"] for one in found] for split in ("valid", "test")}
    return {
        split: {"tau": round(statistics.mean(some), 4), "sd": round(statistics.stdev(some), 4)}
        for split, some in taus.items()
    }


if __name__ == "__main__":
    main()
