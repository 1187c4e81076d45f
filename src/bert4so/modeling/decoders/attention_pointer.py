"""A pointer without recurrence: it attends to the placed sentences and to all sentences."""

import torch
from torch import Tensor, nn

from bert4so.document import Decision
from bert4so.modeling.base import Decoder, States
from bert4so.modeling.batch import Batch
from bert4so.modeling.beam import Prefix, State, decisions, search
from bert4so.modeling.decoders.pointer import in_order, losses_by_place, sum_over_places
from bert4so.modeling.gated_attention import Fusion, ReluAttention


class AttentionBlock(nn.Module):
    """LayerNorm(g a + (1 - g) b): `a` attends to the placed sentences, `b` to all sentences.

    There is no residual connection.
    """

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        scale = (width // heads) ** -0.5
        self.placed = ReluAttention(width, heads, scale, dropout)
        self.sentences = ReluAttention(width, heads, scale, dropout)
        self.fusion = Fusion(width)

    def forward(self, read: Tensor, sentences: Tensor, mask: Tensor) -> Tensor:
        """(batch, t, width) the output at each place of a whole order.

        read:      (batch, t, width) the vectors read up to each place.
        sentences: (batch, n, width); `mask`, (batch, n), is False for padding.
        """
        t = read.shape[1]
        past = torch.ones(1, t, t, dtype=torch.bool, device=read.device).tril()
        placed = self.placed(read, read, past)
        mixed: Tensor = self.fusion(placed, self.sentences(read, sentences, mask[:, None]))
        return mixed

    def step(
        self, read: Tensor, past: Tensor, sentences: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Advance each hypothesis by one place: (documents, hypotheses, width) and its past.

        read:      (documents, hypotheses, width).
        past:      (documents, hypotheses, t, ...) keys and values of `placed`.
        sentences: (documents, n, ...) keys and values of `sentences`.
        """
        past = torch.cat([past, self.placed.remember(read)[:, :, None]], dim=2)
        alone = read.reshape(-1, 1, read.shape[2])
        placed = self.placed.attend(alone, past.flatten(0, 1), None).reshape(read.shape)
        attended = self.sentences.attend(read, sentences, mask[:, None])
        return self.fusion(placed, attended), past


class AttentionPointer(Decoder):
    """Wang & Wan (2019): blocks read the sentences placed so far, beginning with a learned vector.

    The output of the last block, d_t, points at the sentence states k_i of the document encoder:

        score(t, i) = relu(W_Q d_t + b_Q) . relu(W_K k_i + b_K) / sqrt(width)

    Sentences already placed cannot be pointed at, in training either. The loss is a sum over
    places.

    beam: number of hypotheses in the search.
    """

    def __init__(self, width: int, blocks: int, heads: int, dropout: float, beam: int) -> None:
        super().__init__()
        self.first = nn.Parameter(torch.zeros(width))
        self.blocks = nn.ModuleList(AttentionBlock(width, heads, dropout) for _ in range(blocks))
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.scale = width**-0.5
        self.beam = beam

    def loss(self, states: States, batch: Batch) -> Tensor:
        assert batch.order is not None, "a batch to learn from has orders"
        scores = self.scores_in_order(states, batch.order, batch.mask)
        return sum_over_places(losses_by_place(scores, batch), batch.mask)

    def scores_in_order(self, states: States, order: Tensor, mask: Tensor) -> Tensor:
        """(batch, t, n) scores at each place, given the true order before it."""
        first = self.first.expand(len(order), 1, -1)
        mixed = torch.cat([first, in_order(states.raw, order)[:, :-1]], dim=1)
        for block in self.blocks:
            mixed = block(mixed, states.sentences, mask)
        return self._point(mixed, self.key(states.sentences).relu())

    def order(self, states: States, batch: Batch) -> list[Decision]:
        keys = self.key(states.sentences).relu()
        blocks = [block for block in self.blocks if isinstance(block, AttentionBlock)]
        known = [block.sentences.remember(states.sentences) for block in blocks]

        def step(state: State, prefix: Prefix) -> tuple[Tensor, State]:
            documents, hypotheses, t = prefix.read.shape
            mixed = self.first.expand(documents, hypotheses, -1)
            if t:
                mixed = in_order(states.raw, prefix.read[..., -1])
            longer = []
            for block, past, sentences in zip(blocks, state, known, strict=True):
                mixed, past = block.step(mixed, past, sentences, batch.mask)
                longer.append(past)
            return self._point(mixed, keys), tuple(longer)

        nothing = tuple(part.new_zeros(len(part), 1, 0, part.shape[2]) for part in known)
        return decisions(search(step, nothing, batch.mask, self.beam), batch.mask)

    def _point(self, decoded: Tensor, keys: Tensor) -> Tensor:
        scores: Tensor = self.query(decoded).relu() @ keys.transpose(1, 2) * self.scale
        return scores
