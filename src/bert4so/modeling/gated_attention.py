"""Attention of Wang & Wan (2019): ReLU projections, and a gate instead of a residual sum.

The equations are those of the authors' code.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention


class ReluAttention(nn.Module):
    """Multi-head attention with Q = relu(W_Q x + b_Q), and K and V likewise; per head

        softmax(scale Q K') V

    and the heads concatenated.

    dropout: of the output.
    """

    def __init__(self, width: int, heads: int, scale: float, dropout: float) -> None:
        super().__init__()
        self.query = nn.Linear(width, width)
        self.key = nn.Linear(width, width)
        self.value = nn.Linear(width, width)
        self.heads = heads
        self.scale = scale
        self.dropout = nn.Dropout(dropout)

    def forward(self, vectors: Tensor, others: Tensor, allowed: Tensor | None) -> Tensor:
        """Attend from `vectors`, (batch, t, width), to `others`, (batch, m, width).

        allowed: (batch, t, m), or (batch, 1, m), True where attention is allowed; None: everywhere.
        """
        return self.attend(vectors, self.remember(others), allowed)

    def remember(self, others: Tensor) -> Tensor:
        """(..., 2 * width) the keys and values of `others`, to be cached during decoding."""
        return torch.cat([self.key(others), self.value(others)], dim=-1).relu()

    def attend(self, vectors: Tensor, remembered: Tensor, allowed: Tensor | None) -> Tensor:
        """As `forward`, with keys and values from `remember`."""
        keys, values = remembered.chunk(2, dim=-1)
        heads = scaled_dot_product_attention(
            self._split(self.query(vectors).relu()),
            self._split(keys),
            self._split(values),
            attn_mask=None if allowed is None else allowed[:, None],
            scale=self.scale,
        )
        joined: Tensor = self.dropout(heads.transpose(1, 2).flatten(2))
        return joined

    def _split(self, vectors: Tensor) -> Tensor:
        """Split into heads: (batch, heads, t, width / heads)."""
        batch, t, _ = vectors.shape
        return vectors.reshape(batch, t, self.heads, -1).transpose(1, 2)


class Fusion(nn.Module):
    """LayerNorm(g a + (1 - g) b), where g = sigmoid(w . [a; b] + c) is one scalar per vector."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate = nn.Linear(2 * width, 1)
        self.norm = nn.LayerNorm(width)

    def forward(self, one: Tensor, other: Tensor) -> Tensor:
        share = self.gate(torch.cat([one, other], dim=-1)).sigmoid()
        mixed: Tensor = self.norm(share * one + (1 - share) * other)
        return mixed
