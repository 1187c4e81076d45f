"""Training speed against a plain loop, in one run:

    python benchmarks/training.py CONFIG.toml CORPUS... --out results/training.json

All train the same system on the same documents by turns. The plain loop is what public code does:
random batches, padded to the longest, the encoder's own dropout, an optimizer that is not fused;
then one thing after the other is done as `bert4so train` does it; then what it does where asked.
Tokens a second count no padding.
"""

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from accelerate.state import AcceleratorState
from torch.nn.utils import clip_grad_norm_

from bert4so.config.schema import RunConfig
from bert4so.data.batches import epoch_batches
from bert4so.data.corpus import Corpus, find_corpus, read_split
from bert4so.data.shuffle import shuffle
from bert4so.document import Document, Puzzle
from bert4so.modeling.base import OrderingModel
from bert4so.systems import SYSTEMS
from bert4so.systems.run_config import read_run
from bert4so.training.trainer import Trainer
from harness import TURNS, arguments, by_turns, rates, show, write_results

SECONDS = 12
"""At a turn each takes steps for so long: at least one, for one way is slower than all others."""


def main() -> None:
    """Measure, and write it down."""
    parser = arguments(__doc__)
    parser.add_argument("config", type=Path)
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    args = parser.parse_args()
    found = {}
    for corpus in args.corpora:
        run = read_run(args.config, [*args.set, f"corpus={corpus}"])
        loops = all_loops(run, read_split(find_corpus(corpus), "train"))
        jobs = {name: partial(speed, loop, args.seconds) for name, loop in loops.items()}
        paces = by_turns(jobs, args.turns)
        found[Path(corpus).name] = {name: rates(some) for name, some in paces.items()}
        show(corpus, found[Path(corpus).name])
    write_results(args.out, {"found": found})


def all_loops(run: RunConfig, documents: Sequence[Document]) -> dict[str, Callable[[], int]]:
    """A step of each way to train: how many tokens it had."""
    fixed = run.model_copy(update={"model": run.model.model_copy(update={"embeddings": "fixed"})})
    half = run.model_copy(update={"train": run.train.model_copy(update={"precision": "bf16"})})
    return {
        "a plain loop": plain(run, documents, dropout=0.1, alike=False),
        "the same without the encoder's dropout": plain(run, documents, dropout=0.0, alike=False),
        "and like lengths together": plain(run, documents, dropout=0.0, alike=True),
        "`bert4so train`": own(run, documents),
        "`bert4so train` with `model.embeddings=fixed`": own(fixed, documents),
        "`bert4so train` with `train.precision=bf16`": own(half, documents),
    }


def speed(loop: Callable[[], int], seconds: float) -> float:
    """Tokens per second over a turn."""
    began, tokens, taken = time.perf_counter(), 0, 0.0
    while taken < seconds:
        tokens += loop()
        taken = time.perf_counter() - began
    return tokens / taken


def own(run: RunConfig, documents: Sequence[Document]) -> Callable[[], int]:
    """A step of `bert4so train`."""
    AcceleratorState._reset_state()  # it keeps the first precision of a process, and refuses others
    trainer = Trainer(run, Corpus(list(documents), list(documents[:8]), []), Path("unused"))
    steps = (step for epoch in range(1, 1000) for step in trainer.learn(epoch))
    return lambda: next(steps).tokens


def plain(
    run: RunConfig, documents: Sequence[Document], dropout: float, alike: bool
) -> Callable[[], int]:
    """A step of a plain loop."""
    system = SYSTEMS[run.system]
    config = run.model.model_copy(update={"encoder_dropout": dropout, "embeddings": "learned"})
    model: OrderingModel[Any] = system.build(config, system.make_input(config, documents))
    system.initialize(model, config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    sizes = [model.input.size(Puzzle(document.sentences)) if alike else 0 for document in documents]
    ids = [document.id for document in documents]
    batches = (
        [documents[i] for i in chosen]
        for epoch in range(1, 1000)
        for chosen in epoch_batches(ids, sizes, run.train.batch, run.seed, epoch)
    )

    def step() -> int:
        model.train()
        batch = model.input([shuffle(document, 0) for document in next(batches)])
        model(batch).backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        tokens: int = batch.tokens
        return tokens

    return step


if __name__ == "__main__":
    main()
