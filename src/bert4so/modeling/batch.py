"""The base of every system's batch."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import torch
from torch import Tensor

from bert4so.document import Puzzle


@dataclass(frozen=True)
class Batch(ABC):
    """The sentences of several puzzles, padded on the right to the longest puzzle.

    mask:  (batch, n) True for a sentence, False for padding on the right.
    order: (batch, n) the true order, where known. A padding place points at itself, so that
           each row is a permutation.
    cut:   (batch, n) True for a sentence that was truncated.
    """

    mask: Tensor
    order: Tensor | None
    cut: Tensor

    @property
    @abstractmethod
    def tokens(self) -> int:
        """Number of tokens, without padding."""

    @property
    @abstractmethod
    def padded_tokens(self) -> int:
        """Number of tokens, padding included."""

    def to(self, device: torch.device | str) -> Self:
        """This batch on another device."""
        moved: dict[str, Any] = {}
        for field in fields(self):
            tensor = getattr(self, field.name)
            moved[field.name] = tensor if tensor is None else tensor.to(device)
        return replace(self, **moved)


def pad_orders(puzzles: Sequence[Puzzle]) -> tuple[Tensor, Tensor | None]:
    """Make the `mask` and `order` of a batch of these puzzles."""
    lengths = torch.tensor([len(puzzle.sentences) for puzzle in puzzles])
    places = torch.arange(int(lengths.max()))
    mask = places < lengths[:, None]
    orders = [puzzle.order for puzzle in puzzles if puzzle.order is not None]
    if len(orders) < len(puzzles):
        return mask, None
    order = places.repeat(len(puzzles), 1)
    for row, known in zip(order, orders, strict=True):
        row[: len(known)] = torch.tensor(known)
    return mask, order
