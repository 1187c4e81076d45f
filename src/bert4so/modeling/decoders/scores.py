"""One score per sentence; the order is the sentences sorted by score."""

from collections.abc import Callable

from torch import Tensor, nn

from bert4so.document import Decision
from bert4so.modeling.base import Decoder, States
from bert4so.modeling.batch import Batch
from bert4so.ranking.plackett_luce import ranked

Loss = Callable[[Tensor, Tensor, Tensor], Tensor]


def two_layers(width: int, hidden: int, out: int) -> nn.Sequential:
    """What each sentence is given by itself."""
    return nn.Sequential(nn.Linear(width, hidden), nn.ReLU(), nn.Linear(hidden, out))


class ScoreDecoder(Decoder):
    """BERT4SO, section 2.1 and appendix C: a two-layer network scores each sentence.

    loss: one of `bert4so.modeling.losses`.
    """

    def __init__(self, width: int, hidden: int, loss: Loss) -> None:
        super().__init__()
        self.score = two_layers(width, hidden, 1)
        self.loss_of = loss

    def scores(self, states: States) -> Tensor:
        """(batch, n) scores; a higher score means an earlier place."""
        scores: Tensor = self.score(states.sentences).squeeze(-1)
        return scores

    def loss(self, states: States, batch: Batch) -> Tensor:
        assert batch.order is not None, "a batch to learn from has orders"
        return self.loss_of(self.scores(states), batch.order, batch.mask)

    def order(self, states: States, batch: Batch) -> list[Decision]:
        table = self.scores(states).float().cpu().numpy()
        lengths = batch.mask.sum(1).tolist()
        return [ranked(row[:n]) for row, n in zip(table, lengths, strict=True)]
