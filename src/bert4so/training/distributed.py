"""The processes that share one job, where many were started: torchrun, accelerate launch."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch

# Before the group of processes is made: this module's functions have the group that was there at
# its import as a default, and would hold it, with its threads, until the interpreter ends; a
# thread may then abort a process that is done.
import torch.distributed.nn
from accelerate import PartialState
from accelerate.utils import gather_object

from bert4so.document import Document
from bert4so.errors import UserError
from bert4so.evaluation.evaluate import Prediction, solve
from bert4so.inference.backend import Backend
from bert4so.modeling.base import OrderingModel


def on_cpu() -> bool:
    """What accelerate is to be told: not asked to use the CPU, each process there works alone."""
    return not torch.accelerator.is_available()


def processes() -> PartialState:
    """Which of how many processes this is, and its device."""
    return PartialState(cpu=on_cpu())


def shutdown_processes() -> None:
    """End the work that is shared, when all have come so far.

    A process that ends while others still talk to it may take them with it.
    """
    processes().wait_for_everyone()
    processes().destroy_process_group()


@contextmanager
def refuse_together() -> Iterator[None]:
    """Raise in every process what one of them raises in the block.

    Otherwise the others would wait for a process that has ended. All processes must enter.
    """
    own: UserError | OSError | None = None
    try:
        yield
    except (UserError, OSError) as error:
        own = error
    refusals = [error for error in gather_object([own]) if error is not None]
    if refusals:
        raise own or refusals[0]


def take_device(backend: Backend) -> None:
    """Let a model work on the device of its process; other backends have none."""
    if isinstance(backend, OrderingModel):
        backend.to(processes().device)


def solve_together(
    backend: Backend,
    documents: Sequence[Document],
    seed: int | str,
    advance: Callable[[int], None] = lambda done: None,
) -> list[Prediction]:
    """Every document solved by one of the processes; each of them has all, in the order given.

    `advance` is told how many this process has solved.
    """
    state = processes()
    own = documents[state.process_index :: state.num_processes]
    shares: list[list[Prediction]] = gather_object([solve(backend, own, seed, advance)])
    return [shares[i % len(shares)][i // len(shares)] for i in range(len(documents))]


class Together:
    """The processes that torchrun or `accelerate launch` started, as workers of an evaluation."""

    @property
    def is_first(self) -> bool:
        """Whether this process is the one that prints and writes."""
        return bool(processes().is_main_process)

    def place(self, backend: Backend) -> None:
        """Move a model to the device of this process."""
        take_device(backend)

    def solve(
        self,
        backend: Backend,
        documents: Sequence[Document],
        seed: int | str,
        advance: Callable[[int], None],
    ) -> list[Prediction]:
        """Order this process's share; return the predictions of all processes."""
        return solve_together(backend, documents, seed, advance)

    def close(self) -> None:
        """End the shared work when all processes have come so far."""
        shutdown_processes()
