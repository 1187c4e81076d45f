"""The processes of an evaluation: a single one, or several that share the documents."""

from collections.abc import Callable, Sequence
from typing import Protocol

from bert4so.document import Document
from bert4so.evaluation.evaluate import Prediction, solve
from bert4so.inference.backend import Backend


class Workers(Protocol):
    """The processes of one evaluation."""

    @property
    def is_first(self) -> bool:
        """Whether this process is the one that prints and writes."""

    def place(self, backend: Backend) -> None:
        """Move a model to the device of this process."""

    def solve(
        self,
        backend: Backend,
        documents: Sequence[Document],
        seed: int | str,
        advance: Callable[[int], None],
    ) -> list[Prediction]:
        """Order every document once; return all predictions in the order of the documents."""

    def close(self) -> None:
        """Wait for all processes and end the shared work."""


class SingleProcess:
    """One process. It does not need PyTorch."""

    is_first = True

    def place(self, backend: Backend) -> None:
        """Leave the backend where it is."""

    def solve(
        self,
        backend: Backend,
        documents: Sequence[Document],
        seed: int | str,
        advance: Callable[[int], None],
    ) -> list[Prediction]:
        """Order every document; report progress to `advance`."""
        return solve(backend, documents, seed, advance)

    def close(self) -> None:
        """Do nothing: there is no shared work."""
