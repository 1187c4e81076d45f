"""Vectors of pairs of sentences."""

from torch import Tensor

from bert4so.modeling.base import SentenceEncoder
from bert4so.modeling.inputs.pairs_input import PairsBatch
from bert4so.modeling.sentence_encoders.row_encoder import RowEncoder


class RowPairs(SentenceEncoder[PairsBatch]):
    """B-TSort (Prabhumoye et al., 2020): the two sentences of a pair attend to each other.

    Returns one vector per pair instead of per sentence, (pairs, width), in the order of the batch.
    """

    def __init__(self, row: RowEncoder) -> None:
        super().__init__()
        self.row = row
        self.width = row.width

    def forward(self, batch: PairsBatch) -> Tensor:
        vectors: Tensor = self.row(batch.rows, batch.chunks)
        return vectors
