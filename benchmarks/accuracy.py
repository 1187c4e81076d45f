"""Whether what makes training fast harms what is learned, over three seeds:

    python benchmarks/accuracy.py CONFIG.toml --out results/accuracy.json [--resume]

As many epochs of `bert4so train`, in float32 and in bf16, and of what public code does: random
batches, and the encoder's own dropout. Told are Kendall's tau and PMR on validation and on test
documents after the last.
"""

import argparse
import json
import statistics
import sys
from dataclasses import asdict
from math import ceil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from accelerate.state import AcceleratorState

from bert4so.common.machine import machine
from bert4so.common.progress import progress_bar
from bert4so.common.stable_hash import stable_hash
from bert4so.config.schema import RunConfig
from bert4so.evaluation.evaluate import measure, solve
from bert4so.systems.run_config import read_run
from bert4so.training.run_documents import splits_of
from bert4so.training.trainer import Trainer

SEEDS = (1, 2, 3)
PLAIN = "a plain loop"
WAYS = {
    "`bert4so train`": [],
    "`bert4so train` with `train.precision=bf16`": ["train.precision=bf16"],
    PLAIN: ["model.encoder_dropout=0.1", "train.accumulate=8"],
}
"""What is set for each."""


class PlainTrainer(Trainer):
    """Its batches are of documents of any length.

    The gradient of a batch is summed over parts of it. Those of like lengths are put in one part:
    the step is the same, with less padding.
    """

    def _batches(self, epoch: int) -> list[list[int]]:
        documents, size = self.splits.train, self.run.train.batch
        drawn = sorted(
            range(len(documents)),
            key=lambda i: stable_hash("plain", self.run.seed, epoch, documents[i].id),
        )
        return [self._dealt(drawn[i : i + size]) for i in range(0, len(drawn), size)]

    def _dealt(self, batch: list[int]) -> list[int]:
        """The p-th part of a batch is every p-th of its documents."""
        alike = sorted(batch, key=self.sizes.__getitem__)
        size = ceil(len(alike) / self.run.train.accumulate)
        return [document for k in range(size) for document in alike[k::size]]


def main() -> None:
    """Measure, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config", type=Path)
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--resume", action="store_true", help="keep the runs that are there")
    asked = parser.parse_args()
    found: dict[str, list[dict[str, Any]]] = {way: [] for way in WAYS}
    if asked.resume and asked.out.exists():
        found = json.loads(asked.out.read_text())["found"]
    for seed in SEEDS:
        for way, settings in WAYS.items():
            if any(one["seed"] == seed for one in found[way]):
                continue
            run = read_run(asked.config, [*asked.set, f"seed={seed}", *settings])
            kind = PlainTrainer if way == PLAIN else Trainer
            found[way].append(learned(run, kind, f"{way}, {seed}"))
            sys.stdout.write(f"{way}, seed {seed}: {found[way][-1]}\n")
            facts = {
                "command": " ".join(["python", *sys.argv]),
                "machine": machine(),
                "run": run.model_dump(),
                "found": found,
                "summary": {way: summary(some) for way, some in found.items() if len(some) > 1},
            }
            asked.out.write_text(json.dumps(facts, indent=1) + "\n")


def learned(run: RunConfig, kind: type[Trainer], title: str) -> dict[str, Any]:
    """What a run knows after its last epoch, and how long that took."""
    AcceleratorState._reset_state()  # it keeps the first precision of a process, and refuses others
    with TemporaryDirectory() as unused:
        trainer = kind(run, splits_of(run), Path(unused))
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
