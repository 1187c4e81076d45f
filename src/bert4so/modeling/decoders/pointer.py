"""Pointer networks: an LSTM that reads what it has placed, and points at what comes next."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from bert4so.document import Decision
from bert4so.modeling.base import Decoder, States
from bert4so.modeling.batch import Batch
from bert4so.modeling.beam import Prefix, State, decisions, search

Keys = Callable[[States], Tensor]
"""(batch, n, width) what is pointed at."""

Reduction = Callable[[Tensor, Tensor], Tensor]
"""The loss of a batch out of that of each place, (batch, n), and the mask."""


Others = Callable[["Pointing", Tensor, Tensor, Batch], Tensor]
"""(batch, t, k) scores of what else there is to choose from in training, and is never right: out of
what points, what the LSTM says at each place, the keys, and the batch.
"""


def raw(states: States) -> Tensor:
    """Each sentence by itself."""
    return states.raw


def encoded(states: States) -> Tensor:
    """Each sentence after the document encoder."""
    return states.sentences


def both(states: States) -> Tensor:
    """Each sentence by itself and after the document encoder, joined."""
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
        """Scores of keys that `self.keys` has been applied to, (batch, n, hidden)."""
        gaps = self.query(queries)[..., None, :] + keys[:, None]
        scores: Tensor = self.score(torch.tanh(gaps)).squeeze(-1)
        return scores


class PointerDecoder(Decoder):
    """Vinyals et al. (2015), for sentences Gong et al. (2016).

    An LSTM starts from the document encoder's state; it reads the vectors of the sentences placed
    so far, at first a vector that is learned. What is placed already cannot be pointed at, in
    training neither: public systems differ in that, and only so the probabilities are those of the
    search.

    width:     of the sentence vectors, which it reads.
    hidden:    of the LSTM.
    keys:      what it points at, and its width.
    dropout:   of what it reads.
    reduction: how the places of a document weigh in the loss.
    beam:      hypotheses in the search.
    others:    what else there is to choose from in training.
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
        """(batch, t, hidden) what the LSTM says at each place, having read the true order to it."""
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
    """(batch, t) minus the logarithm of the probability of what is right at each place.

    scores: (batch, t, n) of the sentences, of which those that are left can be chosen.
    others: (batch, t, k) of what can be chosen as well, and never is right.
    """
    assert batch.order is not None, "a batch to learn from has orders"
    allowed = still_allowed(batch.order, batch.mask)
    chosen_from = [scores.masked_fill(~allowed, -torch.inf), *([] if others is None else [others])]
    logs = torch.cat(chosen_from, dim=2).log_softmax(2)
    right = logs.gather(2, batch.order[..., None]).squeeze(-1)
    return -right.masked_fill(~batch.mask, 0)


def in_order(vectors: Tensor, order: Tensor) -> Tensor:
    """(batch, t, width) the sentence vectors in some order, (batch, t)."""
    return vectors.gather(1, order[..., None].expand(-1, -1, vectors.shape[2]))


def still_allowed(order: Tensor, mask: Tensor) -> Tensor:
    """(batch, t, n) which sentences are left at each place of the true order.

    At a place of padding only the padding of that place is, so that it costs nothing.
    """
    n = mask.shape[1]
    place = order.argsort(1)
    t = torch.arange(n, device=mask.device)
    left = (place[:, None, :] >= t[None, :, None]) & mask[:, None, :]
    return torch.where(mask[..., None], left, torch.eye(n, dtype=torch.bool, device=mask.device))
