"""Repeated attention over a set: the result does not depend on the order of the input."""

import torch
from torch import Tensor, nn

from bert4so.modeling.base import DocumentEncoder, States
from bert4so.modeling.batch import Batch


class ReadingDocument(DocumentEncoder[Batch]):
    """Logeswaran et al. (2018), after Vinyals et al. (2016): `cycles` repetitions of

        e_i = f(s_i, h)    a = softmax(e)    r = sum_i a_i s_i    h, c <- LSTM(r, (h, c))

    from a zero state, with f(s, h) = w' tanh(W [s; h] + b). The final state initializes the
    decoder, which reads the sentence vectors themselves.
    """

    def __init__(self, width: int, hidden: int, scoring: int, cycles: int) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(width, hidden)
        self.keys = nn.Linear(width, scoring)
        self.query = nn.Linear(hidden, scoring, bias=False)
        self.score = nn.Linear(scoring, 1, bias=False)
        self.cycles = cycles

    def forward(self, vectors: Tensor, batch: Batch) -> States:
        keys = self.keys(vectors)
        hidden = cell = vectors.new_zeros(len(vectors), self.cell.hidden_size)
        for _ in range(self.cycles):
            scores = self.score(torch.tanh(keys + self.query(hidden)[:, None])).squeeze(-1)
            shares = scores.masked_fill(~batch.mask, -torch.inf).softmax(1)
            read = (shares[:, :, None] * vectors).sum(1)
            hidden, cell = self.cell(read, (hidden, cell))
        return States(raw=vectors, sentences=vectors, start=(hidden, cell))
