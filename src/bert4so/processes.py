"""The processes that share one job, where many were started: torchrun, accelerate launch."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from accelerate import PartialState
from accelerate.utils import gather_object

from bert4so.document import Document
from bert4so.evaluate import Solved, solve
from bert4so.model import OrderingModel


def on_cpu() -> bool:
    """What accelerate is to be told: not asked to use the CPU, each process there works alone."""
    return not torch.accelerator.is_available()


def processes() -> PartialState:
    """Which of how many processes this is, and its device."""
    return PartialState(cpu=on_cpu())


def solve_together(
    model: OrderingModel[Any],
    documents: Sequence[Document],
    advance: Callable[[int], None] = lambda done: None,
) -> list[Solved]:
    """Every document solved by one of the processes; each of them has all, in the order given.

    `advance` is told how many this process has solved.
    """
    state = processes()
    own = documents[state.process_index :: state.num_processes]
    shares: list[list[Solved]] = gather_object([solve(model.to(state.device), own, advance)])
    return [shares[i % len(shares)][i // len(shares)] for i in range(len(documents))]
