"""Training speed against a plain loop, in one run:

    python benchmarks/training.py CONFIG.toml CORPUS... --out results/training.json

Both train the same system on the same documents by turns. The plain loop is what public code does:
random batches, padded to the longest, the encoder's own dropout, an optimizer that is not fused.
Tokens a second count no padding.
"""

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import torch
from torch.nn.utils import clip_grad_norm_

from bert4so.config import Run
from bert4so.data.corpus import Splits, find_corpus, read_split
from bert4so.data.shuffle import shuffle
from bert4so.document import Document
from bert4so.machine import machine
from bert4so.model import OrderingModel
from bert4so.models import MODELS
from bert4so.run import read_run
from bert4so.train import Trainer

STEPS = 8
"""Steps that each takes at a turn."""

TURNS = 5


def main() -> None:
    """Measure, and write it down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("config", type=Path)
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--out", type=Path, required=True)
    asked = parser.parse_args()
    found = {}
    for corpus in asked.corpora:
        run = read_run(asked.config, [*asked.set, f"corpus={corpus}"])
        documents = read_split(find_corpus(corpus), "train")
        loops = {"bert4so train": own_loop(run, documents), "plain loop": plain(run, documents)}
        speeds: dict[str, list[float]] = {name: [] for name in loops}
        for _ in range(TURNS):
            for name, loop in loops.items():
                speeds[name].append(speed(loop))
        medians = {name: round(statistics.median(some)) for name, some in speeds.items()}
        found[corpus] = {
            "tokens_per_second": medians,
            "ratio": round(medians["bert4so train"] / medians["plain loop"], 2),
            "spread": {name: round(max(s) / min(s), 2) for name, s in speeds.items()},
        }
        sys.stdout.write(f"{corpus}: {found[corpus]}\n")
    facts = {
        "command": " ".join(["python", *sys.argv]),
        "machine": machine(),
        "corpora": found,
    }
    asked.out.write_text(json.dumps(facts, indent=1) + "\n")


def speed(loop: Callable[[], int]) -> float:
    """Tokens a second over a turn."""
    began = time.perf_counter()
    tokens = sum(loop() for _ in range(STEPS))
    return tokens / (time.perf_counter() - began)


def own_loop(run: Run, documents: Sequence[Document]) -> Callable[[], int]:
    """A step of `bert4so train`: how many tokens it had."""
    trainer = Trainer(run, Splits(list(documents), list(documents[:8]), []), Path("unused"))
    steps = (step for epoch in range(1, 1000) for step in trainer.learn(epoch))
    return lambda: next(steps).tokens


def plain(run: Run, documents: Sequence[Document]) -> Callable[[], int]:
    """A step of a plain loop: how many tokens it had."""
    system = MODELS[run.system]
    config = run.model.model_copy(update={"encoder_dropout": 0.1, "embeddings": "learned"})
    model: OrderingModel[Any] = system.build(config, system.make_input(config, documents))
    system.initialize(model, config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    drawn = random_batches(documents, run.train.batch)

    def step() -> int:
        model.train()
        batch = model.input([shuffle(document, 0) for document in next(drawn)])
        model(batch).backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        return batch.tokens

    return step


def random_batches(documents: Sequence[Document], size: int) -> Iterator[list[Document]]:
    """Documents as a shuffled loader gives them."""
    rng = random.Random(0)
    while True:
        yield rng.sample(list(documents), size)


if __name__ == "__main__":
    main()
