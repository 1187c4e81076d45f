"""What users call: sentences in, an ordering out, whatever model is behind it."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Protocol, Self

from bert4so.document import Ordering, Puzzle
from bert4so.errors import UserError
from bert4so.progress import progress_bar

BUFFER = 512
"""Documents that are read ahead, to be batched by length."""


class Backend(Protocol):
    """Whatever can order puzzles: a model, a runtime, an ensemble, a coin."""

    def order(self, puzzles: Sequence[Puzzle]) -> list[Ordering]:
        """One ordering a puzzle. Puzzles come without their answers."""

    def check(self, puzzle: Puzzle) -> None:
        """Raise `UserError` for a puzzle that cannot be ordered."""


class Orderer:
    """Puts sentences in order.

    >>> orderer = Orderer.from_pretrained("runs/demo")
    >>> orderer.order(["Then they played.", "The family went to the fair."]).sentences
    ('The family went to the fair.', 'Then they played.')
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    @classmethod
    def from_pretrained(cls, path: str | Path) -> Self:
        """The model of a folder that `bert4so train` wrote."""
        try:
            # The one place that looks upward: only a folder tells what it needs.
            from bert4so.checkpoint import load_model
        except ModuleNotFoundError as error:
            raise UserError(
                f"{path} needs {error.name}, which is not installed: pip install 'bert4so[train]'"
            ) from None
        _, model = load_model(Path(path))
        return cls(model)

    def order(self, sentences: Sequence[str]) -> Ordering:
        """The order in which to read some sentences."""
        return next(self.order_all([sentences]))

    def order_all(
        self, documents: Iterable[Sequence[str]], progress: bool = False
    ) -> Iterator[Ordering]:
        """An ordering for each document, in the order given.

        Documents are read, batched by length and answered some hundreds at a time, so that they may
        be many more than fit in memory. With `progress`, a bar on stderr shows how far it is.
        """
        waiting = iter(documents)
        total = len(documents) if isinstance(documents, Sequence) else None
        with progress_bar("ordering", total, shown=progress) as advance:
            while some := [_puzzle(sentences) for sentences in islice(waiting, BUFFER)]:
                yield from self.backend.order(some)
                advance(len(some))


def _puzzle(sentences: Sequence[str]) -> Puzzle:
    if isinstance(sentences, str):
        raise UserError(f"{sentences[:40]!r} is one string: wanted a list of sentences")
    return Puzzle(tuple(sentences))
