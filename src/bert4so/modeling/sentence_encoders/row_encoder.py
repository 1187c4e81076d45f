"""Vectors of rows that are encoded independently of one another."""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint
from transformers import PreTrainedModel

from bert4so.modeling.base import SentenceEncoder
from bert4so.modeling.inputs.rows_input import Rows, RowsBatch

MAX_STORED_TOKENS = 16384
"""Tokens, padding included, whose activations are stored for the backward pass.

This is 32 joined rows of 512 tokens, the largest batch in the BERT4SO paper.
"""


class RowEncoder(nn.Module, ABC):
    """A pretrained encoder over rows, chunk by chunk: (rows, width).

    Beyond `MAX_STORED_TOKENS` the activations of a chunk are recomputed in the backward pass, so
    memory is bounded for any number of rows.
    """

    def __init__(self, encoder: PreTrainedModel) -> None:
        super().__init__()
        self.encoder = encoder
        self.width: int = encoder.config.hidden_size

    def forward(self, rows: Rows, chunks: Sequence[Sequence[int]]) -> Tensor:
        """Encode the rows; each of `chunks` lists rows that are encoded together."""
        recompute = torch.is_grad_enabled() and rows.padded_tokens(chunks) > MAX_STORED_TOKENS
        vectors = []
        for chunk in map(rows.some, chunks):
            # Not reentrant: DistributedDataParallel may see a weight in many chunks.
            vectors.append(
                checkpoint(self._vectors, chunk, use_reentrant=False)
                if recompute
                else self._vectors(chunk)
            )
        numbers = torch.tensor([i for chunk in chunks for i in chunk], device=rows.ids.device)
        return torch.cat(vectors)[numbers.argsort()]

    @abstractmethod
    def pool(self, tokens: Tensor, rows: Rows) -> Tensor:
        """Pool the encoder's outputs, (rows, m, width), to (rows, width)."""

    def _vectors(self, rows: Rows) -> Tensor:
        known = {} if rows.segments is None else {"token_type_ids": rows.segments}
        output = self.encoder(input_ids=rows.ids, attention_mask=rows.real.long(), **known)
        return self.pool(output.last_hidden_state, rows)


class AtRowCls(RowEncoder):
    """The encoder's output at the row's [CLS] (Devlin et al., 2019)."""

    def pool(self, tokens: Tensor, rows: Rows) -> Tensor:
        return tokens[:, 0]


class MeanOfRow(RowEncoder):
    """The mean of the encoder's outputs at the row's word pieces.

    For encoders fine-tuned with mean pooling (Reimers and Gurevych, 2019).
    """

    def pool(self, tokens: Tensor, rows: Rows) -> Tensor:
        own = rows.pieces[..., None].to(tokens.dtype)
        return (own * tokens).sum(1) / own.sum(1)


class RowSentences(SentenceEncoder[RowsBatch]):
    """RankTxNet (Kumar et al., 2020): a sentence's vector is that of its row."""

    def __init__(self, row: RowEncoder) -> None:
        super().__init__()
        self.row = row
        self.width = row.width

    def forward(self, batch: RowsBatch) -> Tensor:
        vectors: Tensor = self.row(batch.rows, batch.chunks)
        sentences = vectors.new_zeros(*batch.mask.shape, self.width)
        sentences[batch.mask] = vectors
        return sentences
