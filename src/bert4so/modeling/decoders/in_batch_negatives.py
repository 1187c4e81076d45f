"""What does not belong to a document at all, to be told from what does."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from bert4so.modeling.batch import Batch
from bert4so.modeling.decoders.pointer import Pointing


@dataclass(frozen=True)
class InBatchNegatives:
    """Logeswaran et al. (2018): in training, at each place, the sentences of the batch's other
    documents stand among those to choose from. They are never right, and never there when ordering.

    So a document's loss depends on those it is batched with; alone it is that of the pointer.

    number: at most so many of them, drawn anew each time; "all" of the batch.
    """

    number: int | Literal["all"]

    def __call__(self, pointing: Pointing, outputs: Tensor, keys: Tensor, batch: Batch) -> Tensor:
        """(batch, t, k) their scores; those of a document's own sentences are minus infinity."""
        documents = torch.arange(len(batch.mask), device=batch.mask.device)
        drawn = self._drawn(int(batch.mask.sum())).to(batch.mask.device)
        owners = documents[:, None].expand_as(batch.mask)[batch.mask][drawn]
        foreign = owners[None, :] != documents[:, None]
        scores: Tensor = pointing(outputs, keys[batch.mask][drawn][None])
        return scores.masked_fill(~foreign[:, None, :], -torch.inf)

    def _drawn(self, count: int) -> Tensor:
        """Which sentences of a batch are to stand among those of every document."""
        return torch.arange(count) if self.number == "all" else torch.randperm(count)[: self.number]
