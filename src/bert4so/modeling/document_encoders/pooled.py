"""Self-attention without positions, whose mean starts a recurrent decoder."""

import torch
from torch import Tensor, nn

from bert4so.modeling.base import DocumentEncoder, States
from bert4so.modeling.batch import Batch


class PreNormDocument(DocumentEncoder[Batch]):
    """Cui et al. (2018): Transformer layers that normalize before each half, and once at the end.

    The mean over the sentences is both the hidden state and the cell that a decoder starts from.
    """

    def __init__(self, width: int, layers: int, heads: int, inner: int, dropout: float) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(
            width, heads, inner, dropout, batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(
            layer, layers, nn.LayerNorm(width), enable_nested_tensor=False
        )

    def forward(self, vectors: Tensor, batch: Batch) -> States:
        mixed: Tensor = self.layers(vectors, src_key_padding_mask=~batch.mask)
        mean = masked_mean(mixed, batch.mask)
        return States(raw=vectors, sentences=mixed, start=(mean, mean))


class PostNormDocument(DocumentEncoder[Batch]):
    """Yin et al. (2020): Transformer layers that normalize after each half.

    The mean over the sentences is the hidden state that a decoder starts from; its cell is 0.
    """

    def __init__(self, width: int, layers: int, heads: int, inner: int, dropout: float) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(width, heads, inner, dropout, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def forward(self, vectors: Tensor, batch: Batch) -> States:
        mixed: Tensor = self.layers(vectors, src_key_padding_mask=~batch.mask)
        mean = masked_mean(mixed, batch.mask)
        return States(raw=vectors, sentences=mixed, start=(mean, torch.zeros_like(mean)))


def masked_mean(vectors: Tensor, mask: Tensor) -> Tensor:
    """(batch, width) the mean over the sentences that there are."""
    return (vectors * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
