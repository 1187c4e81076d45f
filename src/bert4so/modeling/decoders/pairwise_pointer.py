"""Pointer networks that learn to answer for pairs of sentences, and may point by the answers."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, pad

from bert4so.document import Decision
from bert4so.modeling.base import Decoder, States
from bert4so.modeling.batch import Batch
from bert4so.modeling.beam import Prefix, State, decisions, search, take
from bert4so.modeling.decoders.pair_modules import PAIRS, Logits, PairModules, pair_loss, pairs_of
from bert4so.modeling.decoders.pointer import (
    PointerDecoder,
    in_order,
    losses_by_place,
    still_allowed,
    sum_over_places,
)

TABLE = 65536
"""Pairs that are kept in mind when documents are put in order together."""


class PointerBesidePairs(Decoder):
    """A pointer as it is, and the losses of Yin et al. (2020) over the same sentence vectors.

    weight: of the losses of pairs.
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
    """What each pair adds to a key, (batch, j, i, hidden): to that of sentence i, because of j.

    first, second: where j was read just before, or two places before.
    future:        where j is not yet read, as i is not; 0 where the two are no pair.
    """

    first: Tensor
    second: Tensor
    future: Tensor


class PairwisePointer(Decoder):
    """Yin et al. (2020): a pointer whose keys are what is said of pairs, anew at every place.

    With R the sentences not yet placed, and [f; p] as a module of `PairModules` says,

        h1 = [f; p] of first, (i, y_t-1)        f+ = the mean of [f; p] of future, (i, j)
        h2 = [f; p] of second, (i, y_t-2)       f- = the mean of [f; p] of future, (j, i)

        score(t, i) = v . tanh(W_q d_t + W_p [h1; h2; f+; f-])

    where the means are over j in R but i, and zeros stand for what there is none of. (The public
    code divides by the longest document of the batch, so that an order depends on batch-mates.) An
    LSTM gives d_t: it starts from the document encoder's state and reads the vectors of the
    sentences placed so far, at first zeros.

    W_p is linear: it is applied to each pair once, and not to means at every place.

    width:   of the sentence vectors, and of the LSTM.
    dropout: of the sentence vectors.
    weight:  of the losses of pairs, beside that of the places, which is a sum.
    beam:    hypotheses in the search.
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
        """What all pairs add to keys, and the logits of what is said of them."""
        documents, n = mask.shape
        rows = torch.split(vectors, max(1, PAIRS // (documents * n)), dim=1)
        parts = zip(*(self._given(vectors, some) for some in rows), strict=True)
        h1, h2, after, before, *logits = (torch.cat(part, dim=1) for part in parts)
        # The pair (j, i) adds to the key of i as well: of it is said something where i is given.
        future = after + before.transpose(1, 2)
        future = future.masked_fill(~pairs_of(mask)[..., None], 0)
        return PairKeys(h1, h2, future), (logits[0], logits[1], logits[2])

    def order(self, states: States, batch: Batch) -> list[Decision]:
        # A batch is cut by its words, and has room for how many pairs so ever.
        at_once = max(1, TABLE // batch.mask.shape[1] ** 2)
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
        """The rows of all tables in which these sentences are given."""
        f, future = self.pairs.future(vectors, some)
        h1, first = self.pairs.first(vectors, some)
        h2, second = self.pairs.second(vectors, some)
        of_h1, of_h2, of_after, of_before = self.keys.weight.chunk(4, dim=1)
        keys = linear(h1, of_h1), linear(h2, of_h2), linear(f, of_after), linear(f, of_before)
        return *keys, future, first, second

    def _point(self, decoded: Tensor, keys: Tensor) -> Tensor:
        """(..., n) the scores of keys, (..., n, width), at places, (..., width)."""
        scores: Tensor = self.score(torch.tanh(self.query(decoded)[..., None, :] + keys))
        return scores.squeeze(-1)


def keys_in_order(pairs: PairKeys, order: Tensor, left: Tensor) -> Tensor:
    """(batch, t, n, width) at each place of an order, `left`, (batch, t, n), being left there."""
    future = torch.einsum("btj,bjiw->btiw", left.to(pairs.future.dtype), pairs.future)
    first = _delayed(take(pairs.first, order), 1)
    second = _delayed(take(pairs.second, order), 2)
    return first + second + future / _others(left)


def _delayed(table: Tensor, places: int) -> Tensor:
    """(batch, t, ...) what stood at each place, so many places later; zeros before."""
    return pad(table, (0, 0, 0, 0, places, 0))[:, : table.shape[1]]


def _others(left: Tensor) -> Tensor:
    """(..., 1, 1) how many sentences are left beside any one of them, at least 1."""
    return (left.sum(2) - 1).clamp(min=1)[..., None, None]


def _start(states: States) -> tuple[Tensor, Tensor]:
    assert states.start is not None, "the document encoder says where to start"
    return states.start
