"""What the tests of several models ask of a position scheme, whichever it is."""

import torch
from torch import nn

from course_pkg.layers.attention import MultiHeadAttention
from course_pkg.models.transformer_config import TransformerConfig


def shares_key_heads(positions: str) -> bool:
    """Say whether a scheme takes fewer key heads than query heads."""
    sizes = {"vocab_size": 1, "context_length": 1, "d_model": 12, "n_heads": 3, "n_layers": 1}
    try:
        TransformerConfig(**sizes, d_ff=1, n_kv_heads=1, positions=positions)
    except ValueError as error:
        assert "n_kv_heads" in str(error)
        return False
    return True


def sees_a_bias_of_the_keys(model: nn.Module) -> bool:
    """Say whether a bias of the keys changes the first self-attention of a model.

    Added to all keys, it adds the same to all scores of a query, which softmax does not see; unless
    positions turn or read the keys before.
    """
    attention = next(
        module
        for name, module in model.named_modules()
        if isinstance(module, MultiHeadAttention) and not name.endswith("cross_attention")
    )
    generator = torch.Generator().manual_seed(1)
    bias = attention.key.bias
    x = torch.randn(1, 5, attention.query.in_features, generator=generator, dtype=bias.dtype)
    kept = bias.detach().clone()
    with torch.no_grad():
        before = attention(x)
        bias += 1.0
        change = (attention(x) - before).abs().max().item()
        bias.copy_(kept)
    return change > 1e-9
