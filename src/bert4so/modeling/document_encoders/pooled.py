"""Self-attention without positions; its mean is the initial state of a recurrent decoder."""

import torch
from torch import Tensor, nn

from bert4so.modeling.base import DocumentEncoder, States
from bert4so.modeling.batch import Batch


class PreNormDocument(DocumentEncoder[Batch]):
    """Cui et al. (2018): pre-norm Transformer layers with a final normalization.

    The mean over the sentences is both the initial hidden state and cell state of the decoder.
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
    """Yin et al. (2020): post-norm Transformer layers.

    The mean over the sentences is the initial hidden state of the decoder; its cell state is 0.
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
    """(batch, width) the mean over the sentences, without padding."""
    return (vectors * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
