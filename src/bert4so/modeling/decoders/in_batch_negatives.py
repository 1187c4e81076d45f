"""In-batch negatives: sentences of other documents."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from bert4so.modeling.batch import Batch
from bert4so.modeling.decoders.pointer import Pointing


@dataclass(frozen=True)
class InBatchNegatives:
    """Logeswaran et al. (2018): in training, sentences of other documents are choices too.

    They are always wrong, and absent when a document is ordered. A document's loss thus depends on
    its batch; alone in a batch, it is the pointer's.

    number: number of negatives at most, resampled in every step; "all" of the batch.
    """

    number: int | Literal["all"]

    def __call__(self, pointing: Pointing, outputs: Tensor, keys: Tensor, batch: Batch) -> Tensor:
        """(batch, t, k) their scores; minus infinity for a document's own sentences."""
        documents = torch.arange(len(batch.mask), device=batch.mask.device)
        drawn = self._drawn(int(batch.mask.sum())).to(batch.mask.device)
        owners = documents[:, None].expand_as(batch.mask)[batch.mask][drawn]
        foreign = owners[None, :] != documents[:, None]
        scores: Tensor = pointing(outputs, keys[batch.mask][drawn][None])
        return scores.masked_fill(~foreign[:, None, :], -torch.inf)

    def _drawn(self, count: int) -> Tensor:
        """The sentences of the batch that serve as negatives."""
        return torch.arange(count) if self.number == "all" else torch.randperm(count)[: self.number]
