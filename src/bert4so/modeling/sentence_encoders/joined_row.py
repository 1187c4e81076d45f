"""Sentence vectors from one joined row, in which every token attends to every other."""

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from bert4so.modeling.base import SentenceEncoder
from bert4so.modeling.inputs.joined_input import JoinedBatch


class JoinedRow(nn.Module):
    """A pretrained encoder over the rows of a batch: (batch, m, width).

    Positions run over the whole row: the encoder's own position ids.
    """

    def __init__(self, encoder: PreTrainedModel) -> None:
        super().__init__()
        self.encoder = encoder
        self.width: int = encoder.config.hidden_size

    def forward(self, batch: JoinedBatch) -> Tensor:
        known = {} if batch.segments is None else {"token_type_ids": batch.segments}
        output = self.encoder(input_ids=batch.ids, attention_mask=batch.real.long(), **known)
        tokens: Tensor = output.last_hidden_state
        return tokens


class AtCls(SentenceEncoder[JoinedBatch]):
    """BERT4SO, section 2.1: the encoder's output at the sentence's [CLS]."""

    def __init__(self, row: JoinedRow) -> None:
        super().__init__()
        self.row = row
        self.width = row.width

    def forward(self, batch: JoinedBatch) -> Tensor:
        tokens: Tensor = self.row(batch)
        return tokens.gather(1, batch.starts[..., None].expand(-1, -1, self.width))


class MeanOfPieces(SentenceEncoder[JoinedBatch]):
    """The mean of the encoder's outputs at the sentence's word pieces.

    For encoders fine-tuned to embed single sentences: in a joined row they give nearly the same
    vector at every [CLS], which leaves nothing to rank.
    """

    def __init__(self, row: JoinedRow) -> None:
        super().__init__()
        self.row = row
        self.width = row.width

    def forward(self, batch: JoinedBatch) -> Tensor:
        tokens: Tensor = self.row(batch)
        sentences = torch.arange(batch.mask.shape[1], device=batch.mask.device)
        own = (batch.owners[:, None, :] == sentences[None, :, None]).to(tokens.dtype)  # (b, n, m)
        return own @ tokens / own.sum(2, keepdim=True).clamp(min=1)
