"""A GPT in the fewest tensors: query, key and value in one matrix, torch's kernels throughout.

This is how code that is written for speed alone, such as nanoGPT, lays out the same model; it is
the peer that our training step is measured against. It keeps no contract and takes no options.
"""

from torch import Tensor, nn
from torch.nn import functional as F


class KernelBlock(nn.Module):
    """Pre-norm attention and feed-forward layer, without biases."""

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.norm_1 = nn.LayerNorm(d_model, bias=False)
        self.query_key_value = nn.Linear(d_model, 3 * d_model, bias=False)
        self.join = nn.Linear(d_model, d_model, bias=False)
        self.norm_2 = nn.LayerNorm(d_model, bias=False)
        self.expand = nn.Linear(d_model, 4 * d_model, bias=False)
        self.contract = nn.Linear(4 * d_model, d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Transform (B, T, D)."""
        B, T, D = x.shape
        split = self.query_key_value(self.norm_1(x)).view(B, T, 3, self.n_heads, D // self.n_heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        heads = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.join(heads.transpose(1, 2).reshape(B, T, D))
        return x + self.contract(F.gelu(self.expand(self.norm_2(x))))


class KernelGPT(nn.Module):
    """Learned positions, tied output, cross-entropy."""

    def __init__(
        self, vocab_size: int, context_length: int, d_model: int, n_heads: int, n_layers: int
    ) -> None:
        super().__init__()
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.positions = nn.Embedding(context_length, d_model)
        self.blocks = nn.ModuleList(KernelBlock(d_model, n_heads) for _ in range(n_layers))
        self.norm = nn.LayerNorm(d_model, bias=False)
        for weight in self.parameters():
            if weight.ndim == 2:
                nn.init.normal_(weight, std=0.02)

    def forward(self, ids: Tensor, targets: Tensor) -> Tensor:
        """Return the mean loss."""
        x = self.embedding(ids) + self.positions.weight[: ids.shape[1]]
        for block in self.blocks:
            x = block(x)
        logits = F.linear(self.norm(x), self.embedding.weight)
        loss: Tensor = F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return loss
