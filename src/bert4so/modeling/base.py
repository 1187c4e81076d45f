"""A system, whole: four parts in a line, what each is given, and what each gives back.

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

BUDGET = 8192
"""Tokens, padding included, that are put in order at once."""

if sys.platform != "win32":  # which does not fork
    # A forked process does not have the threads of PyTorch, and would wait for them forever.
    os.register_at_fork(after_in_child=lambda: torch.set_num_threads(1))


@dataclass(frozen=True)
class States:
    """What a decoder reads.

    raw:       (batch, n, width) each sentence by itself.
    sentences: (batch, n, width') after the document encoder.
    start:     (batch, hidden) twice: where a recurrent decoder starts.
    """

    raw: Tensor
    sentences: Tensor
    start: tuple[Tensor, Tensor] | None = None


class Input(ABC, Generic[Made]):
    """Turns puzzles into a batch: strings become integers here, and nowhere else. No weights."""

    @abstractmethod
    def __call__(self, puzzles: Sequence[Puzzle]) -> Made: ...

    @abstractmethod
    def size(self, puzzle: Puzzle) -> int:
        """How many tokens the puzzle takes in a batch, however it is shuffled.

        They may be more where its order is known, and learned from. Raises `UserError` for one that
        no batch can hold.
        """

    def prepare(self, documents: Sequence[Document]) -> None:
        """Find out beforehand what takes long to find out of documents to come; here nothing."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write all that is needed to make the same input again."""


class SentenceEncoder(nn.Module, ABC, Generic[Read]):
    """A vector a sentence, (batch, n, width); those of padding are of no meaning."""

    width: int

    @abstractmethod
    def forward(self, batch: Read) -> Tensor: ...


class DocumentEncoder(nn.Module, ABC, Generic[Read]):
    """Lets the sentences of a document see one another."""

    @abstractmethod
    def forward(self, vectors: Tensor, batch: Read) -> States: ...


class Decoder(nn.Module, ABC):
    """Says how wrong the states are about the true order, and which order they speak for."""

    @abstractmethod
    def loss(self, states: States, batch: Batch) -> Tensor:
        """The mean over documents: a document costs the same whatever it is batched with."""

    @abstractmethod
    def order(self, states: States, batch: Batch) -> list[Decision]:
        """One decision a document, without its padding."""


@final
class OrderingModel(nn.Module, Generic[B]):
    """A sentence-ordering system. It is a `Backend`.

    place: the folder of a saved model, for an error.
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
        """The loss of a batch: all that training calls, so DistributedDataParallel can wrap it."""
        return self.decoder.loss(self.encode(batch), batch)

    def check(self, puzzle: Puzzle) -> None:
        """Raise `UserError` for a puzzle that no batch can hold."""
        self.input.size(puzzle)

    @torch.inference_mode()
    def order(self, puzzles: Sequence[Puzzle]) -> list[Ordering]:
        """One ordering a puzzle, in the order of the puzzles."""
        self.eval()
        device = next(self.parameters()).device
        found: dict[int, Ordering] = {}
        for chosen in within_budget([self.input.size(puzzle) for puzzle in puzzles], BUDGET):
            shown = [puzzles[i] for i in chosen]
            batch = self.input(shown).to(device)
            try:
                decisions = self.decoder.order(self.encode(batch), batch)
            except NotFiniteError as error:
                raise UserError(f"{self.place}: {error}") from None
            for i, puzzle, decision, cut in zip(chosen, shown, decisions, batch.cut, strict=True):
                found[i] = Ordering.of(puzzle, decision, cut.nonzero().flatten().tolist())
        return [found[i] for i in range(len(puzzles))]
