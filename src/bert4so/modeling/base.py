"""An ordering system: four parts in a line, and their contracts.

    puzzles -Input-> batch -SentenceEncoder-> vectors -DocumentEncoder-> States -Decoder-> decisions

Every system is an `OrderingModel`. They differ in their parts: see `bert4so.systems`.
"""

import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar, final

import torch
from torch import Tensor, nn

from bert4so.data.batches import within_budget
from bert4so.document import Decision, Document, Ordering, Puzzle
from bert4so.errors import UserError
from bert4so.modeling.batch import Batch
from bert4so.ranking.plackett_luce import NotFiniteError

Made = TypeVar("Made", bound=Batch, covariant=True)
Read = TypeVar("Read", bound=Batch, contravariant=True)
B = TypeVar("B", bound=Batch)

MAX_BATCH_TOKENS = 8192
"""Tokens, padding included, per batch of documents to order."""

if sys.platform != "win32":  # which does not fork
    # A forked process does not have the threads of PyTorch, and would wait for them forever.
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))


@dataclass(frozen=True)
class States:
    """The input of a decoder.

    raw:       (batch, n, width) sentence vectors before the document encoder.
    sentences: (batch, n, width') sentence vectors after it.
    start:     (batch, hidden) twice: the initial state of a recurrent decoder.
    """

    raw: Tensor
    sentences: Tensor
    start: tuple[Tensor, Tensor] | None = None


class Input(ABC, Generic[Made]):
    """Turns puzzles into a batch: the only place where strings become integers. Has no weights."""

    @abstractmethod
    def __call__(self, puzzles: Sequence[Puzzle]) -> Made: ...

    @abstractmethod
    def size(self, puzzle: Puzzle) -> int:
        """Number of tokens of the puzzle in a batch, for any shuffle.

        It may be higher if the order is known, for training. Raises `UserError` for a puzzle
        that no batch can hold.
        """

    def prepare(self, documents: Sequence[Document]) -> None:
        """Precompute what is slow to compute for these documents. Does nothing by default."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write everything needed to rebuild this input."""


class SentenceEncoder(nn.Module, ABC, Generic[Read]):
    """One vector per sentence, (batch, n, width); values at padding positions are undefined."""

    width: int

    @abstractmethod
    def forward(self, batch: Read) -> Tensor: ...


class DocumentEncoder(nn.Module, ABC, Generic[Read]):
    """Lets the sentences of a document attend to one another."""

    @abstractmethod
    def forward(self, vectors: Tensor, batch: Read) -> States: ...


class Decoder(nn.Module, ABC):
    """Computes the loss of the states, and the order that they predict."""

    @abstractmethod
    def loss(self, states: States, batch: Batch) -> Tensor:
        """The mean over documents; a document's loss does not depend on its batch."""

    @abstractmethod
    def order(self, states: States, batch: Batch) -> list[Decision]:
        """One decision per document, without padding."""


@final
class OrderingModel(nn.Module, Generic[B]):
    """A sentence-ordering system. It is a `Backend`.

    place: the folder of a saved model, for error messages.
    """

    place = "the model"

    def __init__(
        self,
        input: Input[B],
        sentence_encoder: SentenceEncoder[B],
        document_encoder: DocumentEncoder[B],
        decoder: Decoder,
    ) -> None:
        super().__init__()
        self.input = input
        self.sentence_encoder = sentence_encoder
        self.document_encoder = document_encoder
        self.decoder = decoder

    def encode(self, batch: B) -> States:
        """The states the decoder reads."""
        states: States = self.document_encoder(self.sentence_encoder(batch), batch)
        return states

    def forward(self, batch: B) -> Tensor:
        """The loss of a batch. Training calls only this, so DistributedDataParallel can wrap it."""
        return self.decoder.loss(self.encode(batch), batch)

    def check(self, puzzle: Puzzle) -> None:
        """Raise `UserError` for a puzzle that no batch can hold."""
        self.input.size(puzzle)

    @torch.inference_mode()
    def order(self, puzzles: Sequence[Puzzle]) -> list[Ordering]:
        """One ordering per puzzle, in the order of the puzzles."""
        self.eval()
        device = next(self.parameters()).device
        orderings: dict[int, Ordering] = {}
        sizes = [self.input.size(puzzle) for puzzle in puzzles]
        for chosen in within_budget(sizes, MAX_BATCH_TOKENS):
            shown = [puzzles[i] for i in chosen]
            batch = self.input(shown).to(device)
            try:
                decisions = self.decoder.order(self.encode(batch), batch)
            except NotFiniteError as error:
                raise UserError(f"{self.place}: {error}") from None
            for i, puzzle, decision, cut in zip(chosen, shown, decisions, batch.cut, strict=True):
                orderings[i] = Ordering.of(puzzle, decision, cut.nonzero().flatten().tolist())
        return [orderings[i] for i in range(len(puzzles))]
