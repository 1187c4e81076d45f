"""Pointer networks that also learn to classify pairs of sentences, and may use the results."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, pad

from bert4so.document import Decision
from bert4so.modeling.base import Decoder, States
from bert4so.modeling.batch import Batch
from bert4so.modeling.beam import Prefix, State, decisions, search, take
from bert4so.modeling.decoders.pair_modules import (
    MAX_CHUNK_PAIRS,
    Logits,
    PairModules,
    pair_loss,
    pairs_of,
)
from bert4so.modeling.decoders.pointer import (
    PointerDecoder,
    in_order,
    losses_by_place,
    still_allowed,
    sum_over_places,
)

MAX_STORED_PAIRS = 65536
"""Pairs whose keys are stored when documents are ordered together."""


class PointerBesidePairs(Decoder):
    """A pointer, and the pair losses of Yin et al. (2020) on the same sentence vectors.

    weight: of the pair losses.
    """

    def __init__(self, pointer: PointerDecoder, pairs: PairModules, weight: float) -> None:
        super().__init__()
        self.pointer = pointer
        self.pairs = pairs
        self.weight = weight

    def loss(self, states: States, batch: Batch) -> Tensor:
        beside = pair_loss(self.pairs(states.raw), batch, drawn=self.training)
        return self.pointer.loss(states, batch) + self.weight * beside

    def order(self, states: States, batch: Batch) -> list[Decision]:
        return self.pointer.order(states, batch)


@dataclass(frozen=True)
class PairKeys:
    """What each pair adds to the key of sentence i because of j, (batch, j, i, hidden).

    first, second: added if j was placed last, or second to last.
    future:        added if neither i nor j is placed; 0 where i and j are not a pair.
    """

    first: Tensor
    second: Tensor
    future: Tensor


class PairwisePointer(Decoder):
    """Yin et al. (2020): a pointer whose keys are pair features, recomputed at every place.

    With R the sentences not yet placed, and [f; p] the output of a module of `PairModules`,

        h1 = [f; p] of first, (i, y_t-1)        f+ = the mean of [f; p] of future, (i, j)
        h2 = [f; p] of second, (i, y_t-2)       f- = the mean of [f; p] of future, (j, i)

        score(t, i) = v . tanh(W_q d_t + W_p [h1; h2; f+; f-])

    where the means are over j in R except i, and missing terms are zero. (The public code divides
    by the longest document of the batch, so an order depends on batch-mates.) d_t is the output of
    an LSTM that starts from the document encoder's state and reads the vectors of the sentences
    placed so far, beginning with zeros.

    W_p is linear, so it is applied once per pair instead of to the means at every place.

    width:   width of the sentence vectors and of the LSTM.
    dropout: of the sentence vectors.
    weight:  of the pair losses; the pointer's loss, a sum over places, has weight 1.
    beam:    number of hypotheses in the search.
    """

    def __init__(
        self,
        pairs: PairModules,
        width: int,
        features: int,
        dropout: float,
        weight: float,
        beam: int,
    ) -> None:
        super().__init__()
        self.pairs = pairs
        self.dropout = nn.Dropout(dropout)
        self.lstm = nn.LSTM(width, width, batch_first=True)
        self.query = nn.Linear(width, width, bias=False)
        self.keys = nn.Linear(4 * (features + 2), width, bias=False)
        self.score = nn.Linear(width, 1, bias=False)
        self.weight = weight
        self.beam = beam

    def loss(self, states: States, batch: Batch) -> Tensor:
        assert batch.order is not None, "a batch to learn from has orders"
        vectors = self.dropout(states.raw)
        pairs, logits = self.pair_keys(vectors, batch.mask)
        read = pad(in_order(vectors, batch.order)[:, :-1], (0, 0, 1, 0))
        hidden, cell = _start(states)
        decoded, _ = self.lstm(read, (hidden[None].contiguous(), cell[None].contiguous()))
        allowed = still_allowed(batch.order, batch.mask)
        scores = self._point(decoded, keys_in_order(pairs, batch.order, allowed))
        own = sum_over_places(losses_by_place(scores, batch), batch.mask)
        return own + self.weight * pair_loss(logits, batch, drawn=self.training)

    def pair_keys(self, vectors: Tensor, mask: Tensor) -> tuple[PairKeys, Logits]:
        """What all pairs add to keys, and the logits of their classes."""
        documents, n = mask.shape
        rows = torch.split(vectors, max(1, MAX_CHUNK_PAIRS // (documents * n)), dim=1)
        parts = zip(*(self._given(vectors, some) for some in rows), strict=True)
        h1, h2, after, before, *logits = (torch.cat(part, dim=1) for part in parts)
        # The pair (j, i) also adds to the key of i: the prediction about j, given i.
        future = after + before.transpose(1, 2)
        future = future.masked_fill(~pairs_of(mask)[..., None], 0)
        return PairKeys(h1, h2, future), (logits[0], logits[1], logits[2])

    def order(self, states: States, batch: Batch) -> list[Decision]:
        # A batch is limited in words, which does not limit its pairs.
        at_once = max(1, MAX_STORED_PAIRS // batch.mask.shape[1] ** 2)
        parts = (torch.split(part, at_once) for part in (states.raw, *_start(states), batch.mask))
        return [one for some in zip(*parts, strict=True) for one in self._order(*some)]

    def _order(self, vectors: Tensor, hidden: Tensor, cell: Tensor, mask: Tensor) -> list[Decision]:
        pairs, _ = self.pair_keys(vectors, mask)

        def step(state: State, prefix: Prefix) -> tuple[Tensor, State]:
            hidden, cell, future = state
            t = prefix.read.shape[2]
            read = vectors.new_zeros(hidden.shape)
            if t:
                read = in_order(vectors, prefix.read[..., -1])
                future = future - take(pairs.future, prefix.read[..., -1])
            keys = future / _others(prefix.left)
            for back, table in ((1, pairs.first), (2, pairs.second)):
                if t >= back:
                    keys = keys + take(table, prefix.read[..., -back])
            before = hidden.flatten(0, 1)[None].contiguous(), cell.flatten(0, 1)[None].contiguous()
            _, (h, c) = self.lstm(read.reshape(-1, 1, read.shape[2]), before)
            hidden, cell = h.reshape(hidden.shape), c.reshape(cell.shape)
            return self._point(hidden, keys), (hidden, cell, future)

        start = (hidden[:, None], cell[:, None], pairs.future.sum(1)[:, None])
        return decisions(search(step, start, mask, self.beam), mask)

    def _given(self, vectors: Tensor, some: Tensor) -> tuple[Tensor, ...]:
        """The rows of all tensors for these given sentences."""
        f, future = self.pairs.future(vectors, some)
        h1, first = self.pairs.first(vectors, some)
        h2, second = self.pairs.second(vectors, some)
        of_h1, of_h2, of_after, of_before = self.keys.weight.chunk(4, dim=1)
        keys = linear(h1, of_h1), linear(h2, of_h2), linear(f, of_after), linear(f, of_before)
        return *keys, future, first, second

    def _point(self, decoded: Tensor, keys: Tensor) -> Tensor:
        """(..., n) the scores of keys, (..., n, width), for LSTM outputs, (..., width)."""
        scores: Tensor = self.score(torch.tanh(self.query(decoded)[..., None, :] + keys))
        return scores.squeeze(-1)


def keys_in_order(pairs: PairKeys, order: Tensor, left: Tensor) -> Tensor:
    """(batch, t, n, width) the keys at each place of an order.

    left: (batch, t, n) True for the sentences left at each place.
    """
    future = torch.einsum("btj,bjiw->btiw", left.to(pairs.future.dtype), pairs.future)
    first = _delayed(take(pairs.first, order), 1)
    second = _delayed(take(pairs.second, order), 2)
    return first + second + future / _others(left)


def _delayed(table: Tensor, places: int) -> Tensor:
    """Shift (batch, t, ...) by `places` along t; zeros come first."""
    return pad(table, (0, 0, 0, 0, places, 0))[:, : table.shape[1]]


def _others(left: Tensor) -> Tensor:
    """(..., 1, 1) number of sentences left besides any one of them, at least 1."""
    return (left.sum(2) - 1).clamp(min=1)[..., None, None]


def _start(states: States) -> tuple[Tensor, Tensor]:
    assert states.start is not None, "the document encoder says where to start"
    return states.start
