"""Classifiers of sentence pairs: which comes later, and which comes right before the other.

Tensors are (batch, j, i, ...): predictions about sentence i, given sentence j.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from bert4so.modeling.batch import Batch

MAX_CHUNK_PAIRS = 16384
"""Pairs that are classified together: more than a document of 100 sentences has."""

Logits = tuple[Tensor, Tensor, Tensor]
"""(batch, j, i, 2) logits of no and yes for the three questions of `PairModules`."""


class PairModule(nn.Module):
    """Yin et al. (2020): f = relu(V relu(W [s_i; s_j])), and p = softmax(U f) of no and of yes.

    dropout: after both ReLUs.
    """

    def __init__(self, width: int, features: int, dropout: float) -> None:
        super().__init__()
        self.inner = nn.Linear(2 * width, 2 * width, bias=False)
        self.outer = nn.Linear(2 * width, features, bias=False)
        self.answer = nn.Linear(features, 2, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, vectors: Tensor, given: Tensor) -> tuple[Tensor, Tensor]:
        """[f; p] and the logits U f for all of `vectors`, given each of `given`."""
        # W [s_i; s_j] is a sum of two products: each is computed per sentence, not per pair.
        of_i, of_j = self.inner.weight.chunk(2, dim=1)
        pairs = linear(vectors, of_i)[:, None] + linear(given, of_j)[:, :, None]
        features = self.dropout(self.outer(self.dropout(pairs.relu())).relu())
        logits = self.answer(features)
        return torch.cat([features, logits.softmax(3)], dim=3), logits


class PairModules(nn.Module):
    """Yin et al. (2020): one module per question about sentence i, given sentence j.

    future: does i come after j?
    first:  does j come right before i?
    second: does j come two places before i?
    """

    def __init__(self, width: int, features: int, dropout: float) -> None:
        super().__init__()
        self.future = PairModule(width, features, dropout)
        self.first = PairModule(width, features, dropout)
        self.second = PairModule(width, features, dropout)

    def forward(self, vectors: Tensor) -> Logits:
        return (
            self.future(vectors, vectors)[1],
            self.first(vectors, vectors)[1],
            self.second(vectors, vectors)[1],
        )


def pair_loss(logits: Logits, batch: Batch, drawn: bool) -> Tensor:
    """Yin et al. (2020): the sum of the three cross-entropies; mean over documents.

    Each is summed over pairs and divided by the number of sentences of the document.

    drawn: see `history_pairs`.
    """
    assert batch.order is not None, "a batch to learn from has orders"
    place = batch.order.argsort(1)
    later = place[:, None, :] > place[:, :, None]
    future, first, second = logits
    losses = (
        _cross_entropy(future, later, pairs_of(batch.mask))
        + _cross_entropy(first, *history_pairs(place, batch.mask, 1, drawn))
        + _cross_entropy(second, *history_pairs(place, batch.mask, 2, drawn))
    )
    return (losses / batch.mask.sum(1)).mean()


def pairs_of(mask: Tensor) -> Tensor:
    """(batch, j, i) True where i and j are two different sentences of a document."""
    same = torch.eye(mask.shape[1], dtype=torch.bool, device=mask.device)
    return mask[:, :, None] & mask[:, None, :] & ~same


def history_pairs(place: Tensor, mask: Tensor, distance: int, drawn: bool) -> tuple[Tensor, Tensor]:
    """(batch, j, i) whether j comes `distance` places before i, and the weight of the pair.

    Of the sentences before i, the right one has weight 1, and so has one of the others, sampled at
    random. Where i comes too early to have a right one, all weights are 0. (The public code uses
    the pairs of distance 1 for distance 2 too, so it has negatives without a positive.)

    drawn: True to sample. False: the others share a weight of 1, the mean of the samples.
    """
    gap = place[:, None, :] - place[:, :, None]
    earlier = pairs_of(mask) & (gap > 0) & (place >= distance)[:, None]
    right = earlier & (gap == distance)
    wrong = earlier & ~right
    if drawn:
        chosen = torch.rand(wrong.shape, device=mask.device).masked_fill(~wrong, -1).argmax(1)
        share = torch.zeros_like(wrong).scatter(1, chosen[:, None], True) & wrong
    else:
        share = wrong / wrong.sum(1, keepdim=True).clamp(min=1)
    return right, right + share


def _cross_entropy(logits: Tensor, right: Tensor, weights: Tensor) -> Tensor:
    """(batch,) the weighted sum over pairs."""
    no, yes = logits.log_softmax(3).unbind(3)
    return -(torch.where(right, yes, no) * weights).sum((1, 2))
