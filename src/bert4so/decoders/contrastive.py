"""A pointer that also learns what does not belong to the document at all."""

from typing import Literal

import torch
from torch import Tensor

from bert4so.batch import Batch
from bert4so.decoders.pointer import Keys, PointerDecoder, Reduction, still_allowed
from bert4so.model import States


class ContrastivePointer(PointerDecoder):
    """Logeswaran et al. (2018): in training, at each place, the sentences of the batch's other
    documents stand among those to choose from. They are never right, and never there when ordering.

    So a document's loss depends on those it is batched with; alone it is `PointerDecoder`'s.

    negatives: at most so many of them, drawn anew each time; "all" of the batch.
    """

    def __init__(
        self,
        width: int,
        hidden: int,
        keys: tuple[Keys, int],
        scoring: int,
        dropout: float,
        reduction: Reduction,
        beam: int,
        negatives: int | Literal["all"],
    ) -> None:
        super().__init__(width, hidden, keys, scoring, dropout, reduction, beam)
        self.negatives = negatives

    def loss(self, states: States, batch: Batch) -> Tensor:
        assert batch.order is not None, "a batch to learn from has orders"
        outputs = self.outputs_in_order(states, batch.order)
        keys = self.pointing.keys(self.keys_of(states))
        allowed = still_allowed(batch.order, batch.mask)
        own = self.pointing(outputs, keys).masked_fill(~allowed, -torch.inf)
        documents = torch.arange(len(batch.mask), device=batch.mask.device)
        drawn = self._drawn(int(batch.mask.sum())).to(batch.mask.device)
        owners = documents[:, None].expand_as(batch.mask)[batch.mask][drawn]
        foreign = owners[None, :] != documents[:, None]
        others = self.pointing(outputs, keys[batch.mask][drawn][None])
        others = others.masked_fill(~foreign[:, None, :], -torch.inf)
        logs = torch.cat([own, others], dim=2).log_softmax(2)
        right = logs.gather(2, batch.order[..., None]).squeeze(-1)
        return self.reduction(-right.masked_fill(~batch.mask, 0), batch.mask)

    def _drawn(self, count: int) -> Tensor:
        """Which sentences of a batch are to stand among those of every document."""
        if self.negatives == "all":
            return torch.arange(count)
        return torch.randperm(count)[: self.negatives]
