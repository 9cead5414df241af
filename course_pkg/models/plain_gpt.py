"""GPT-2 in one page; only attention, 40 lines, stands in a file of its own.

The second of three files to read in this order: `layers.plain_attention`, this one, `models.gpt`,
which computes the same with a choice for everything. The weights have the same names, so `PlainGPT`
takes those of a trained `GPT` of this structure by `load_state_dict`.

Chapter: GPT. Radford et al. 2019.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_pkg.layers.inputs import TokenEmbedding
from course_pkg.layers.plain_attention import PlainAttention
from course_pkg.models.loss import nats_per_target


class PlainFeedForward(nn.Module):
    """Two layers for each position by itself, four times as wide in between."""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.expand = nn.Linear(d_model, 4 * d_model)
        self.contract = nn.Linear(4 * d_model, d_model)

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Return contract(gelu(expand(x))), with GPT-2's approximation of the normal CDF."""
        wide = F.gelu(self.expand(x), approximate="tanh")  # (B, T, 4 D)
        out: Tensor = self.contract(wide)
        return out


class PlainBlock(nn.Module):
    """Attention between positions, then a layer at each: both added to what came in."""

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.attention = PlainAttention(d_model, n_heads)
        self.feed_forward = PlainFeedForward(d_model)
        self.norms = nn.ModuleList([nn.LayerNorm(d_model), nn.LayerNorm(d_model)])

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Normalise before each sublayer (pre-norm), and add what it returns."""
        x = x + self.attention(self.norms[0](x))
        x = x + self.feed_forward(self.norms[1](x))
        return x


class PlainGPT(nn.Module):
    """Score every next token from all tokens before it; the weights are torch's initial ones."""

    def __init__(
        self, vocab_size: int, context_length: int, d_model: int, n_heads: int, n_layers: int
    ) -> None:
        super().__init__()
        self.vocab_size, self.context_length = vocab_size, context_length
        self.embedding = TokenEmbedding(vocab_size, d_model)
        self.positions = nn.ModuleDict({"table": nn.Embedding(context_length, d_model)})
        blocks = nn.ModuleList(PlainBlock(d_model, n_heads) for _ in range(n_layers))
        self.stack = nn.ModuleDict({"blocks": blocks, "final_norm": nn.LayerNorm(d_model)})

    def forward(
        self, ids: Int[Tensor, "B T"], targets: Int[Tensor, "B T"] | None = None
    ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, ""] | None]:
        """Score every next token; the loss is in nats per target that is not IGNORE."""
        positions = torch.arange(ids.shape[1], device=ids.device)
        x = self.embedding(ids) + self.positions["table"](positions)  # (B, T, D)
        for block in self.stack["blocks"]:  # type: ignore[attr-defined]  # a ModuleList
            x = block(x)
        logits = self.stack["final_norm"](x) @ self.embedding.weight.T  # (B, T, V)
        if targets is None:
            return logits, None
        return logits, nats_per_target(logits, targets)
