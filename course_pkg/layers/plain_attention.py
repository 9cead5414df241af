"""Causal multi-head self-attention as the paper writes it, and nothing else.

Read this one first, then `models.plain_gpt`, a GPT around it, then `models.gpt`. `layers.attention`
computes the same with a choice for everything: the names of the weights are the same, so a trained
layer's weights fit into it.

Chapter: self-attention. Vaswani et al. 2017, sections 3.2.1 and 3.2.2.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor, nn


class PlainAttention(nn.Module):
    """Each position takes, in each of H heads, an average of the values up to its own."""

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.output = nn.Linear(d_model, d_model)

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Return softmax(query key^T / sqrt(K)) value of all heads, side by side and mixed."""
        query, key, value = (
            project(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)  # (B, H, T, K)
            for project in (self.query, self.key, self.value)
        )
        scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (B, H, T, T)
        is_future = torch.ones_like(scores[0, 0], dtype=torch.bool).triu(diagonal=1)
        weights = scores.masked_fill(is_future, -torch.inf).softmax(dim=-1)
        heads = weights @ value  # (B, H, T, K)
        out: Tensor = self.output(heads.transpose(1, 2).flatten(2))
        return out
