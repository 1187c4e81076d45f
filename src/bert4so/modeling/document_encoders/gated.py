"""Self-attention without positions, with a gate instead of a residual sum."""

from torch import Tensor, nn

from bert4so.modeling.base import DocumentEncoder, States
from bert4so.modeling.batch import Batch
from bert4so.modeling.gated_attention import Fusion, ReluAttention


class GatedDocument(DocumentEncoder[Batch]):
    """Wang & Wan (2019): blocks of self-attention without a feed-forward layer.

        a_i = attention(s_i; s_1 .. s_n)    s_i <- LayerNorm(g_i a_i + (1 - g_i) s_i)

    where g_i is a scalar: see `Fusion`.
    """

    def __init__(self, width: int, blocks: int, heads: int, dropout: float) -> None:
        super().__init__()
        scale = (width // heads) ** -0.5
        self.attentions = nn.ModuleList(
            ReluAttention(width, heads, scale, dropout) for _ in range(blocks)
        )
        self.fusions = nn.ModuleList(Fusion(width) for _ in range(blocks))

    def forward(self, vectors: Tensor, batch: Batch) -> States:
        mixed = vectors
        for attention, fusion in zip(self.attentions, self.fusions, strict=True):
            mixed = fusion(attention(mixed, mixed, batch.mask[:, None]), mixed)
        return States(raw=vectors, sentences=mixed)
