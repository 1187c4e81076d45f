"""A step of learning, on one process or many: what accelerate needs to be told, and no more.

accelerate brings devices, precision, gradient accumulation and the averaging of gradients over
processes. Its data loaders and schedulers are not used: they even out the last batches by repeating
documents, and step once a process. Here every process is given the whole batch and takes its share.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from accelerate import Accelerator
from torch.optim import AdamW
from torch.optim.lr_scheduler import LambdaLR

from bert4so.config import Training
from bert4so.document import Puzzle
from bert4so.errors import UserError
from bert4so.model import OrderingModel
from bert4so.schedule import linear


@dataclass(frozen=True)
class Taken:
    """What a step was.

    loss:          the mean over documents.
    learning_rate: that of the sentence encoder.
    tokens, cells: those of the batch, without and with its padding.
    """

    loss: float
    learning_rate: float
    tokens: int
    cells: int


class Learner:
    """A model, its optimizer and its schedule."""

    def __init__(
        self, accelerator: Accelerator, model: OrderingModel[Any], training: Training, steps: int
    ) -> None:
        self.accelerator = accelerator
        self.training = training
        self.input = model.input
        optimizer = AdamW(parameter_groups(model, training))
        self.schedule = LambdaLR(optimizer, linear(steps, training.warmup))
        self.model, self.optimizer = accelerator.prepare(model, optimizer)

    def step(self, puzzles: Sequence[Puzzle]) -> Taken:
        """Learn from a batch. Every document weighs the same, whichever share it is in."""
        self.model.train()
        rate = float(self.schedule.get_last_lr()[0])
        totals = torch.zeros(3, dtype=torch.float64, device=self.accelerator.device)
        for share, weight in self._own_shares(puzzles):
            batch = self.input(share).to(self.accelerator.device)
            with self.accelerator.accumulate(self.model):
                loss = self.model(batch) * weight
                self.accelerator.backward(loss)
                if self.accelerator.sync_gradients:
                    self.accelerator.clip_grad_norm_(self.model.parameters(), self.training.clip)
                self.optimizer.step()
                self.optimizer.zero_grad()
            counts = [batch.tokens, batch.cells] if weight else [0, 0]
            totals += torch.tensor([loss.item() / self._parts, *counts]).to(totals)
        self.schedule.step()
        mean, tokens, cells = self.accelerator.reduce(totals, "sum").tolist()
        if not torch.tensor(mean).isfinite():
            raise UserError(f"the loss is {mean}: training has failed; try a lower learning_rate")
        return Taken(mean, rate, int(tokens), int(cells))

    @property
    def _parts(self) -> int:
        processes: int = self.accelerator.num_processes
        return processes * self.training.accumulate

    def _own_shares(self, puzzles: Sequence[Puzzle]) -> list[tuple[list[Puzzle], float]]:
        """This process's shares of a batch, and the weight of each in the mean over all shares.

        The gradients of all shares are averaged, so that a share of k of n documents weighs
        k * shares / n. Where there are fewer documents than shares, one stands in at no weight.
        """
        shares = [list(puzzles[part :: self._parts]) for part in range(self._parts)]
        first = self.accelerator.process_index * self.training.accumulate
        own = shares[first : first + self.training.accumulate]
        return [(share or [puzzles[0]], len(share) * self._parts / len(puzzles)) for share in own]


def parameter_groups(model: OrderingModel[Any], training: Training) -> list[dict[str, Any]]:
    """Each part at its own rate; vectors (biases, normalization) are not decayed."""
    groups = []
    for part, rate in training.learning_rate.model_dump().items():
        weights = list(model.get_submodule(part).parameters())
        for decay, chosen in (
            (training.weight_decay, [weight for weight in weights if weight.ndim > 1]),
            (0.0, [weight for weight in weights if weight.ndim <= 1]),
        ):
            if chosen:
                groups.append({"params": chosen, "lr": rate, "weight_decay": decay})
    return groups
