"""Classify which sentence of each pair comes first, and aggregate the answers into an order."""

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from bert4so.document import Decision
from bert4so.modeling.base import Decoder, States
from bert4so.modeling.batch import Batch
from bert4so.modeling.inputs.pairs_input import PairsBatch
from bert4so.ranking.aggregation import Aggregation, Before, decided
from bert4so.ranking.plackett_luce import check_finite


class AggregatedDecoder(Decoder):
    """B-TSort (Prabhumoye et al., 2020): a pair has class 1 if its first sentence comes first.

    The states are one vector per pair, (pairs, width). The classifier is a linear layer after
    dropout, as in BERT for sequence classification (Devlin et al., 2019), but without BERT's
    pretrained pooling layer (our choice): many encoders do not have one.

    aggregate: makes an order from the pair probabilities.
    """

    def __init__(self, width: int, dropout: float, aggregate: Aggregation) -> None:
        super().__init__()
        self.classify = nn.Sequential(nn.Dropout(dropout), nn.Linear(width, 2))
        self.aggregate = aggregate

    def loss(self, states: States, batch: Batch) -> Tensor:
        """The cross-entropy: its mean over the pairs of a document, then over documents.

        Every document has the same weight (our choice). The loss of a document without pairs is 0.
        """
        assert isinstance(batch, PairsBatch), "pairs come in batches of pairs"
        assert batch.order is not None, "a batch to learn from has orders"
        place = batch.order.argsort(1)
        right = place[batch.document, batch.first] < place[batch.document, batch.second]
        logits = self.classify(states.sentences).float()
        costs = cross_entropy(logits, right.long(), reduction="none")
        learned = batch.learned.to(costs.dtype)
        counts = costs.new_zeros(len(batch.mask)).index_add(0, batch.document, learned)
        weights = learned / counts.clamp(min=1)[batch.document]
        return (weights * costs).sum() / len(batch.mask)

    def order(self, states: States, batch: Batch) -> list[Decision]:
        assert isinstance(batch, PairsBatch), "pairs come in batches of pairs"
        # float64, so that 1 - p stays above 0 for pairs that are almost certain.
        chances = self.classify(states.sentences).cpu().double().softmax(1)[:, 1]
        check_finite(chances.numpy())
        pairs = batch.to("cpu")
        decisions = []
        for document, n in enumerate(pairs.mask.sum(1).tolist()):
            own = pairs.asked & (pairs.document == document)
            asked = (pairs.first[own].numpy(), pairs.second[own].numpy())
            before = _before(n, asked, chances[own].numpy())
            decisions.append(decided(before, self.aggregate(before)))
        return decisions


def _before(
    n: int, asked: tuple[NDArray[np.int64], NDArray[np.int64]], chances: NDArray[np.float64]
) -> Before:
    """The probability of each pair; the mean of both directions where both were classified."""
    sums, answers = np.zeros((n, n)), np.zeros((n, n))
    for pairs, chance in ((asked, chances), (asked[::-1], 1 - chances)):
        sums[pairs] += chance
        answers[pairs] += 1
    np.fill_diagonal(sums, 0.5)
    np.fill_diagonal(answers, 1)
    return sums / answers
