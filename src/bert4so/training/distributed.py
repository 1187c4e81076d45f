"""The processes of a distributed job, started by torchrun or accelerate launch."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch

# Must be imported before the process group is created: functions of this module have the group
# that exists at import time as a default argument, which would keep the group and its threads alive
# until the interpreter exits. A thread can then abort a process that has finished.
import torch.distributed.nn
from accelerate import PartialState
from accelerate.utils import gather_object

from bert4so.document import Document
from bert4so.errors import UserError
from bert4so.evaluation.evaluate import Prediction, solve
from bert4so.inference.backend import Backend
from bert4so.modeling.base import OrderingModel


def on_cpu() -> bool:
    """Whether there is no accelerator. accelerate must know: else CPU processes work separately."""
    return not torch.accelerator.is_available()


def processes() -> PartialState:
    """The number of processes, the index of this one, and its device."""
    return PartialState(cpu=on_cpu())


def shutdown_processes() -> None:
    """Wait for all processes, then close the process group.

    A process that exits while others still communicate with it can make them fail.
    """
    processes().wait_for_everyone()
    processes().destroy_process_group()


@contextmanager
def refuse_together() -> Iterator[None]:
    """Raise in all processes if one of them raises in the block.

    Otherwise the others would wait forever for the process that failed. All processes must enter.
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
    """Move a model to the device of its process; other backends stay as they are."""
    if isinstance(backend, OrderingModel):
        backend.to(processes().device)


def solve_together(
    backend: Backend,
    documents: Sequence[Document],
    seed: int | str,
    advance: Callable[[int], None] = lambda done: None,
) -> list[Prediction]:
    """Solve a share of the documents in each process; all processes return all predictions.

    Predictions are in the order of the documents. Calls `advance` with the number of documents that
    this process has solved.
    """
    state = processes()
    own = documents[state.process_index :: state.num_processes]
    shares: list[list[Prediction]] = gather_object([solve(backend, own, seed, advance)])
    return [shares[i % len(shares)][i // len(shares)] for i in range(len(documents))]


class LaunchedProcesses:
    """The processes that torchrun or `accelerate launch` started, for an evaluation."""

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
        """Wait for all processes, then end the process group."""
        shutdown_processes()
