"""Which of two sentences is read first, for every two; the order is made of all the answers."""

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
    """B-TSort (Prabhumoye et al., 2020): a pair is of class 1 where its first is read first.

    The states are a vector a pair, (pairs, width). The classes are one layer on top of a dropout,
    as where BERT classifies sequences (Devlin et al., 2019), but without the dense layer that it
    has below them, kept from pretraining (our choice): many encoders come without one.

    aggregate: makes an order of the probabilities of the pairs.
    """

    def __init__(self, width: int, dropout: float, aggregate: Aggregation) -> None:
        super().__init__()
        self.classify = nn.Sequential(nn.Dropout(dropout), nn.Linear(width, 2))
        self.aggregate = aggregate

    def loss(self, states: States, batch: Batch) -> Tensor:
        """The cross-entropy: its mean over the pairs of a document, and then over documents.

        So every document weighs the same (our choice). One without pairs to learn from costs 0.
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
        # In float64, in which the opposite of a pair that is all but sure is more than 0.
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
    """The probability of each pair; the mean of two where both directions were asked about."""
    sums, answers = np.zeros((n, n)), np.zeros((n, n))
    for pairs, chance in ((asked, chances), (asked[::-1], 1 - chances)):
        sums[pairs] += chance
        answers[pairs] += 1
    np.fill_diagonal(sums, 0.5)
    np.fill_diagonal(answers, 1)
    return sums / answers
