"""Three heads on the sentence vectors, trained together, and one search over their outputs."""

from math import sqrt

import torch
from torch import Tensor, nn

from bert4so.document import Decision, HeadWeights
from bert4so.modeling.base import Decoder, States
from bert4so.modeling.batch import Batch
from bert4so.modeling.decoders.scores import Loss, two_layers
from bert4so.modeling.losses import pair_cross_entropy, successor_cross_entropy
from bert4so.ranking.search import HeadOutputs, decide


class BeforeHead(nn.Module):
    """Which of two sentences comes first: logit_ij = (f_i . g_j - f_j . g_i) / sqrt(hidden).

    Antisymmetric by construction. f and g are two-layer networks.
    """

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.first = two_layers(width, hidden, hidden)
        self.second = two_layers(width, hidden, hidden)
        self.scale = sqrt(hidden)

    def forward(self, sentences: Tensor) -> Tensor:
        """(batch, n, n) the logits that i comes before j."""
        pairs = self.first(sentences) @ self.second(sentences).transpose(1, 2) / self.scale
        logits: Tensor = pairs - pairs.transpose(1, 2)
        return logits


class NextHead(nn.Module):
    """Which sentence comes right after which: logit_ij = q_i . k_j / sqrt(hidden).

    q and k are two-layer networks, as in the dependency parser of Dozat and Manning (2017). The
    start, which is not a sentence, has a learned q, and the end a learned k.
    """

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.query = two_layers(width, hidden, hidden)
        self.key = two_layers(width, hidden, hidden)
        self.start = nn.Parameter(0.02 * torch.randn(hidden))
        self.end = nn.Parameter(0.02 * torch.randn(hidden))
        self.scale = sqrt(hidden)

    def forward(self, sentences: Tensor) -> Tensor:
        """(batch, n + 1, n + 1) the logits that j follows i; row n: start, column n: end."""
        documents = sentences.shape[0]
        queries = torch.cat([self.query(sentences), self.start.expand(documents, 1, -1)], dim=1)
        keys = torch.cat([self.key(sentences), self.end.expand(documents, 1, -1)], dim=1)
        logits: Tensor = queries @ keys.transpose(1, 2) / self.scale
        return logits


class JointDecoder(Decoder):
    """Scores, pairs and successors: both their losses and their log-probabilities are summed.

    loss:         loss of the scores, one of `bert4so.modeling.losses`.
    loss_weights: weights of the three losses.
    weights:      weights of the three heads in the search.
    """

    def __init__(
        self, width: int, hidden: int, loss: Loss, loss_weights: HeadWeights, weights: HeadWeights
    ) -> None:
        super().__init__()
        self.score = two_layers(width, hidden, 1)
        self.before = BeforeHead(width, hidden)
        self.next = NextHead(width, hidden)
        self.loss_of = loss
        self.loss_weights = loss_weights
        self.weights = weights

    def heads(self, states: States) -> tuple[Tensor, Tensor, Tensor]:
        """Scores (batch, n), pair logits (batch, n, n), successor logits (batch, n + 1, n + 1)."""
        sentences = states.sentences
        return self.score(sentences).squeeze(-1), self.before(sentences), self.next(sentences)

    def loss(self, states: States, batch: Batch) -> Tensor:
        assert batch.order is not None, "a batch to learn from has orders"
        scores, before, after = self.heads(states)
        weights = self.loss_weights
        return (
            weights.scores * self.loss_of(scores, batch.order, batch.mask)
            + weights.before * pair_cross_entropy(before, batch.order, batch.mask)
            + weights.next * successor_cross_entropy(after, batch.order, batch.mask)
        )

    def order(self, states: States, batch: Batch) -> list[Decision]:
        tables = [table.float().cpu().numpy() for table in self.heads(states)]
        lengths = batch.mask.sum(1).tolist()
        rows = zip(zip(*tables, strict=True), lengths, strict=True)
        return decide([HeadOutputs.of_row(row, n) for row, n in rows], self.weights)
