"""Vectors off rows that are encoded each by itself: no row sees another."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from transformers import PreTrainedModel

from bert4so.modeling.base import SentenceEncoder
from bert4so.modeling.inputs.rows_input import Rows, RowsBatch

KEPT = 16384
"""Tokens, padding included, whose inner states are all kept for the way back.

As many as 32 joined rows of 512 have, the greatest batch of BERT4SO's paper.
"""


class RowEncoder(nn.Module, ABC):
    """A pretrained encoder over rows, chunk by chunk: (rows, width).

    Beyond `KEPT` tokens the inner states of a chunk are not kept, but found a second time on the
    way back: memory is bounded, however many rows there are.
    """

    def __init__(self, encoder: PreTrainedModel) -> None:
        super().__init__()
        self.encoder = encoder
        self.width: int = encoder.config.hidden_size

    def forward(self, rows: Rows, chunks: Sequence[Sequence[int]]) -> Tensor:
        """chunks: the numbers of the rows that are encoded at once, each row in one chunk."""
        again = torch.is_grad_enabled() and rows.cells(chunks) > KEPT
        found = []
        for chunk in map(rows.some, chunks):
            # Not reentrant: DistributedDataParallel may see a weight in many chunks.
            found.append(
                checkpoint(self._vectors, chunk, use_reentrant=False)
                if again
                else self._vectors(chunk)
            )
        numbers = torch.tensor([i for chunk in chunks for i in chunk], device=rows.ids.device)
        return torch.cat(found)[numbers.argsort()]

    @abstractmethod
    def pool(self, tokens: Tensor, rows: Rows) -> Tensor:
        """(rows, width) out of what the encoder gives at each token, (rows, m, width)."""

    def _vectors(self, rows: Rows) -> Tensor:
        known = {} if rows.segments is None else {"token_type_ids": rows.segments}
        output = self.encoder(input_ids=rows.ids, attention_mask=rows.real.long(), **known)
        return self.pool(output.last_hidden_state, rows)


class AtRowCls(RowEncoder):
    """A row is what the encoder gives at its [CLS] (Devlin et al., 2019)."""

    def pool(self, tokens: Tensor, rows: Rows) -> Tensor:
        return tokens[:, 0]


class MeanOfRow(RowEncoder):
    """A row is the mean of what the encoder gives at its word pieces.

    For encoders that were tuned so (Reimers and Gurevych, 2019).
    """

    def pool(self, tokens: Tensor, rows: Rows) -> Tensor:
        own = rows.pieces[..., None].to(tokens.dtype)
        return (own * tokens).sum(1) / own.sum(1)


class RowSentences(SentenceEncoder[RowsBatch]):
    """RankTxNet (Kumar et al., 2020): a sentence is its row."""

    def __init__(self, row: RowEncoder) -> None:
        super().__init__()
        self.row = row
        self.width = row.width

    def forward(self, batch: RowsBatch) -> Tensor:
        vectors: Tensor = self.row(batch.rows, batch.chunks)
        sentences = vectors.new_zeros(*batch.mask.shape, self.width)
        sentences[batch.mask] = vectors
        return sentences
