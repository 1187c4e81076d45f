"""Attention as Wang & Wan (2019) have it: a ReLU on what is projected, a gate where others add.

The equations are those of the authors' code.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention


class ReluAttention(nn.Module):
    """Q = relu(W_Q x + b_Q), K and V likewise of what is attended to; a head at a time

        softmax(scale Q K') V

    and the heads joined. `dropout` is of what comes out.
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
        """(batch, t, width) what `vectors`, (batch, t, width), find in `others`, (batch, m, width).

        allowed: (batch, t, m), t perhaps 1, True for what may be attended to; None: all.
        """
        return self.attend(vectors, self.remember(others), allowed)

    def remember(self, others: Tensor) -> Tensor:
        """(..., 2 * width) the keys and values of what is attended to: kept where that grows."""
        return torch.cat([self.key(others), self.value(others)], dim=-1).relu()

    def attend(self, vectors: Tensor, remembered: Tensor, allowed: Tensor | None) -> Tensor:
        """What `forward` gives."""
        keys, values = remembered.chunk(2, dim=-1)
        found = scaled_dot_product_attention(
            self._split(self.query(vectors).relu()),
            self._split(keys),
            self._split(values),
            attn_mask=None if allowed is None else allowed[:, None],
            scale=self.scale,
        )
        joined: Tensor = self.dropout(found.transpose(1, 2).flatten(2))
        return joined

    def _split(self, vectors: Tensor) -> Tensor:
        """(batch, heads, t, width of a head)."""
        batch, t, _ = vectors.shape
        return vectors.reshape(batch, t, self.heads, -1).transpose(1, 2)


class Fusion(nn.Module):
    """LayerNorm(g a + (1 - g) b), where g = sigmoid(w . [a; b] + c) is one number a vector."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gate = nn.Linear(2 * width, 1)
        self.norm = nn.LayerNorm(width)

    def forward(self, one: Tensor, other: Tensor) -> Tensor:
        share = self.gate(torch.cat([one, other], dim=-1)).sigmoid()
        mixed: Tensor = self.norm(share * one + (1 - share) * other)
        return mixed
