"""Pointer networks: an LSTM reads the sentences placed so far and points at the next one."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from bert4so.document import Decision
from bert4so.modeling.base import Decoder, States
from bert4so.modeling.batch import Batch
from bert4so.modeling.beam import Prefix, State, decisions, search

Keys = Callable[[States], Tensor]
"""Returns the keys to point at, (batch, n, width)."""

Reduction = Callable[[Tensor, Tensor], Tensor]
"""Reduces the loss per place, (batch, n), to that of the batch, given the mask."""

Others = Callable[["Pointing", Tensor, Tensor, Batch], Tensor]
"""Returns scores of additional wrong choices in training, (batch, t, k).

Its arguments are the pointing module, the LSTM's outputs, the keys and the batch.
"""


def raw(states: States) -> Tensor:
    """Sentence vectors before the document encoder."""
    return states.raw


def encoded(states: States) -> Tensor:
    """Sentence vectors after the document encoder."""
    return states.sentences


def both(states: States) -> Tensor:
    """Sentence vectors before and after the document encoder, concatenated."""
    return torch.cat([states.raw, states.sentences], dim=2)


def mean_over_places(losses: Tensor, mask: Tensor) -> Tensor:
    """The mean over the places of a document, then over documents."""
    return (losses.sum(1) / mask.sum(1)).mean()


def sum_over_places(losses: Tensor, mask: Tensor) -> Tensor:
    """The sum over the places of a document, then the mean over documents."""
    return losses.sum(1).mean()


class Pointing(nn.Module):
    """score(t, i) = v . tanh(W_q d_t + W_k k_i): (..., n) for queries (..., hidden)."""

    def __init__(self, query: int, keys: int, hidden: int) -> None:
        super().__init__()
        self.query = nn.Linear(query, hidden)
        self.keys = nn.Linear(keys, hidden, bias=False)
        self.score = nn.Linear(hidden, 1, bias=False)

    def forward(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Score keys already projected by `self.keys`, (batch, n, hidden)."""
        gaps = self.query(queries)[..., None, :] + keys[:, None]
        scores: Tensor = self.score(torch.tanh(gaps)).squeeze(-1)
        return scores


class PointerDecoder(Decoder):
    """Vinyals et al. (2015), for sentences Gong et al. (2016).

    An LSTM starts from the document encoder's state and reads the vectors of the sentences placed
    so far, beginning with a learned vector. Sentences already placed cannot be pointed at, in
    training either. Public systems differ in this; without it, the probabilities in training are
    not those of the search.

    width:     width of the sentence vectors that it reads.
    hidden:    width of the LSTM.
    keys:      the vectors it points at, and their width.
    dropout:   of its input.
    reduction: how the places of a document are weighted in the loss.
    beam:      number of hypotheses in the search.
    others:    additional wrong choices in training.
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
        others: Others | None = None,
    ) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.zeros(width))
        self.dropout = nn.Dropout(dropout)
        self.lstm = nn.LSTM(width, hidden, batch_first=True)
        self.keys_of, keys_width = keys
        self.pointing = Pointing(hidden, keys_width, scoring)
        self.reduction = reduction
        self.beam = beam
        self.others = others

    def loss(self, states: States, batch: Batch) -> Tensor:
        assert batch.order is not None, "a batch to learn from has orders"
        keys = self.pointing.keys(self.keys_of(states))
        outputs = self.outputs_in_order(states, batch.order)
        others = self.others(self.pointing, outputs, keys, batch) if self.others else None
        losses = losses_by_place(self.pointing(outputs, keys), batch, others)
        return self.reduction(losses, batch.mask)

    def outputs_in_order(self, states: States, order: Tensor) -> Tensor:
        """(batch, t, hidden) the LSTM's output at each place, given the true order before it."""
        read = in_order(states.raw, order)[:, :-1]
        first = self.first.expand(len(read), 1, -1)
        inputs = self.dropout(torch.cat([first, read], dim=1))
        assert states.start is not None, "the document encoder says where to start"
        start = (states.start[0][None].contiguous(), states.start[1][None].contiguous())
        outputs, _ = self.lstm(inputs, start)
        said: Tensor = outputs
        return said

    def order(self, states: States, batch: Batch) -> list[Decision]:
        keys = self.pointing.keys(self.keys_of(states))
        assert states.start is not None, "the document encoder says where to start"

        def step(state: State, prefix: Prefix) -> tuple[Tensor, State]:
            documents, hypotheses, t = prefix.read.shape
            inputs = self.first.expand(documents, hypotheses, -1)
            if t:
                inputs = in_order(states.raw, prefix.read[..., -1])
            flat = [part.flatten(0, 1)[None].contiguous() for part in state]
            output, (hidden, cell) = self.lstm(
                inputs.reshape(documents * hypotheses, 1, -1), (flat[0], flat[1])
            )
            shape = (documents, hypotheses, -1)
            return self.pointing(output.reshape(shape), keys), (
                hidden[0].reshape(shape),
                cell[0].reshape(shape),
            )

        start = tuple(part[:, None] for part in states.start)
        return decisions(search(step, start, batch.mask, self.beam), batch.mask)


def losses_by_place(scores: Tensor, batch: Batch, others: Tensor | None = None) -> Tensor:
    """(batch, t) the negative log-probability of the right sentence at each place.

    scores: (batch, t, n) scores of the sentences; only those left can be chosen.
    others: (batch, t, k) scores of additional choices, which are always wrong.
    """
    assert batch.order is not None, "a batch to learn from has orders"
    allowed = still_allowed(batch.order, batch.mask)
    chosen_from = [scores.masked_fill(~allowed, -torch.inf), *([] if others is None else [others])]
    logs = torch.cat(chosen_from, dim=2).log_softmax(2)
    right = logs.gather(2, batch.order[..., None]).squeeze(-1)
    return -right.masked_fill(~batch.mask, 0)


def in_order(vectors: Tensor, order: Tensor) -> Tensor:
    """Sentence vectors, (batch, t, width), in the given order, (batch, t)."""
    return vectors.gather(1, order[..., None].expand(-1, -1, vectors.shape[2]))


def still_allowed(order: Tensor, mask: Tensor) -> Tensor:
    """(batch, t, n) True for the sentences that are left at each place of the true order.

    At a padding place only that padding is left, so its loss is 0.
    """
    n = mask.shape[1]
    place = order.argsort(1)
    t = torch.arange(n, device=mask.device)
    left = (place[:, None, :] >= t[None, :, None]) & mask[:, None, :]
    return torch.where(mask[..., None], left, torch.eye(n, dtype=torch.bool, device=mask.device))
