"""GPT for one new token: the numbers of `GPT.encode`, in a third of the calls.

Who writes reads one token at a time, and multiplies each weight once for it. With weights of four
bits these products take half of such a step; the other half is Python, and kernels so small that to
call them costs more than what they compute. So everything that `GPT` leaves open is settled here:
LLaMA's structure, one text, one position. What is read from the same input is one product, queries
and keys are turned together, and the query heads that share a key stand side by side.

Chapter: GPT. Touvron et al. 2023 (LLaMA).
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from course_pkg.layers.attention import MultiHeadAttention
from course_pkg.layers.blocks import BlockCache, FeedForward, PreNormBlock, RMSNorm
from course_pkg.layers.low_bit import BlockLinear, RowLinear, joined
from course_pkg.layers.positions import RotaryPositions
from course_pkg.models.gpt import GPT
from course_pkg.models.transformer import Stack

_STRUCTURE = {
    "positions": "rotary",
    "norm": "rms",
    "activation": "swiglu",
    "block": "pre_norm",
    "has_bias": False,
    "has_qk_norm": False,
    "shares_layers": False,
}

_PARTS = {Stack, PreNormBlock, MultiHeadAttention, FeedForward, RMSNorm, RotaryPositions}
_PARTS |= {nn.ModuleList, nn.Dropout, nn.Linear, BlockLinear, RowLinear}


@dataclass(frozen=True)
class _Layer:
    """A block's two sublayers as products: what attention reads and writes, and so on."""

    attention_norm: RMSNorm
    query_key_value: Callable[[Tensor], Tensor]
    output: Callable[[Tensor], Tensor]
    feed_forward_norm: RMSNorm
    expand_gate: Callable[[Tensor], Tensor]
    contract: Callable[[Tensor], Tensor]

    @classmethod
    def of(cls, block: Any) -> "_Layer":
        attention, feed_forward = block.attention, block.feed_forward
        return cls(
            block.norms[0],
            joined([attention.query, attention.key, attention.value]),
            joined([attention.output]),
            block.norms[1],
            joined([feed_forward.expand, feed_forward.gate]),
            joined([feed_forward.contract]),
        )


class OneTokenReader:
    """Reads one token after those that a cache holds, with a GPT of LLaMA's structure.

    Matrices in few bits become views of larger ones, so that no memory is taken twice; the model
    computes as before. Dropout is off, as in evaluation mode.

    Raises:
        ValueError: if this is not how the model computes; see `fits`.
    """

    def __init__(self, model: GPT) -> None:
        if not self.fits(model):
            raise ValueError("model is no GPT of LLaMA's structure with our own layers: use encode")
        self.model = model
        self._layers = [_Layer.of(block) for block in model.stack.blocks]

    @staticmethod
    def fits(model: GPT) -> bool:
        """Say whether a model computes what is written out here: no LoRA, no hook, no own part."""
        if any(getattr(model.config, name) != value for name, value in _STRUCTURE.items()):
            return False
        modules = [*model.stack.modules()]
        attention = [m for m in modules if isinstance(m, MultiHeadAttention)]
        return (
            {type(m) for m in modules} <= _PARTS
            and all(getattr(m, "fused", True) for m in modules)
            and all(m.attend is None for m in attention)
            and not any(m._forward_hooks or m._forward_pre_hooks for m in modules)
        )

    def encode(self, ids: Int[Tensor, "1 1"], *, cache: list[BlockCache]) -> Float[Tensor, "1 1 D"]:
        """Return the vector from which the token after this one is predicted, as `GPT.encode`.

        Args:
            ids: one token.
            cache: keys and values of the tokens before; it is extended by this one.

        Raises:
            ValueError: if there are more tokens than one, or fewer.
        """
        if ids.shape != (1, 1):
            raise ValueError(f"ids has shape {tuple(ids.shape)}; it must be one token, (1, 1)")
        model, config = self.model, self.model.config
        H, G = config.n_heads, config.n_kv_heads or config.n_heads
        first: Any = model.stack.blocks[0]
        x = model.embedding(ids[0])  # (1, D)
        rotation = first.attention.positions.rotation(1, model.stack.n_cached(cache), x.device)
        cos, sin = rotation.to(x.dtype)  # (1, K/2)
        cos, sin = torch.cat([cos, cos]), torch.cat([-sin, sin])  # (2, K/2): of either half
        for layer, entry in zip(self._layers, cache, strict=True):
            heads = layer.query_key_value(_normalised(x, layer.attention_norm))
            heads = heads.view(H + 2 * G, 2, -1)
            turned = heads[: H + G]
            turned = torch.addcmul(turned * cos, turned.flip(1), sin).view(1, H + G, 1, -1)
            value = heads[H + G :].view(1, G, 1, -1)
            keys, values = entry.attention.append(turned[:, H:], value)
            query = turned[:, :H].view(1, G, H // G, -1)
            heads = F.scaled_dot_product_attention(query, keys, values)
            x = x + layer.output(heads.view(1, -1))
            wide = layer.expand_gate(_normalised(x, layer.feed_forward_norm))
            hidden, gate = wide.chunk(2, dim=-1)
            x = x + layer.contract(F.silu(hidden) * gate)
        return _normalised(x, model.stack.final_norm).unsqueeze(0)


def _normalised(x: Tensor, norm: Any) -> Tensor:
    """A norm without the call of a module."""
    return F.rms_norm(x, norm.weight.shape, norm.weight, norm.eps)
