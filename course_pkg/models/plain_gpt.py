"""GPT-2 in one page: from the ids to the softmax inside attention it is one jump.

`models.gpt` computes the same with a choice for everything. The weights have the same names, so
`PlainGPT` takes those of a trained `GPT` of this structure by `load_state_dict`.

Chapter: GPT. Radford et al. 2019.
"""

from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_pkg.layers.inputs import TokenEmbedding
from course_pkg.layers.plain_attention import PlainAttention
from course_pkg.models.loss import nats_per_target


class PlainGPT(nn.Module):
    """Score every next token from all tokens before it; the weights are torch's initial ones."""

    def __init__(
        self, vocab_size: int, context_length: int, d_model: int, n_heads: int, n_layers: int
    ) -> None:
        super().__init__()
        self.vocab_size, self.context_length = vocab_size, context_length
        self.embedding = TokenEmbedding(vocab_size, d_model)
        self.positions = nn.ModuleDict({"table": nn.Embedding(context_length, d_model)})
        blocks = nn.ModuleList(_block(d_model, n_heads) for _ in range(n_layers))
        self.stack = nn.ModuleDict({"blocks": blocks, "final_norm": nn.LayerNorm(d_model)})

    def forward(
        self, ids: Int[Tensor, "B T"], targets: Int[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, ""] | None]:
        """Score every next token; the loss is in nats per target that is not IGNORE."""
        positions = torch.arange(ids.shape[1], device=ids.device)
        x = self.embedding(ids) + self.positions["table"](positions)  # (B, T, D)
        blocks: Any = self.stack["blocks"]
        for block in blocks:
            x = x + block["attention"](block["norms"][0](x))
            wide = block["feed_forward"]["expand"](block["norms"][1](x))  # (B, T, F)
            x = x + block["feed_forward"]["contract"](F.gelu(wide, approximate="tanh"))
        logits = self.stack["final_norm"](x) @ self.embedding.weight.T  # (B, T, V)
        if targets is None:
            return logits, None
        return logits, nats_per_target(logits, targets)


def _block(d_model: int, n_heads: int) -> nn.ModuleDict:
    expand, contract = nn.Linear(d_model, 4 * d_model), nn.Linear(4 * d_model, d_model)
    return nn.ModuleDict(
        {
            "attention": PlainAttention(d_model, n_heads),
            "feed_forward": nn.ModuleDict({"expand": expand, "contract": contract}),
            "norms": nn.ModuleList([nn.LayerNorm(d_model), nn.LayerNorm(d_model)]),
        }
    )
