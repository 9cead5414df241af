"""What a transformer block is made of besides attention, and the ways to wire it.

A block alternates two sublayers: attention moves information between positions, feed-forward
transforms each position by itself. Residual connections keep a straight path from the loss to every
layer; normalisation keeps what travels on it at a fixed size.

Chapter: the transformer. Ba et al. 2016 (LayerNorm); Zhang & Sennrich 2019 (RMSNorm); Xiong et al.
2020 (pre- and post-norm); Shazeer 2020 (SwiGLU); Chowdhery et al. 2022 (parallel wiring).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from course_pkg.layers.attention import MultiHeadAttention
from course_pkg.layers.caches import FixedKeyValueCache, KeyValueCache

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": partial(F.gelu, approximate="tanh"),
    "silu": F.silu,
    "swiglu": F.silu,
}
"""Nonlinearity of each kind of feed-forward layer. "gelu_tanh" is the approximation that GPT-2 was
trained with; "swiglu" multiplies the activated units by a second, linear projection."""

WIRINGS = ("A", "B", "C", "D")
"""The ways in which `Block` can place residual connections."""


class LayerNorm(nn.Module):
    """Bring each vector to mean 0, variance 1, then to learned ones: Ba et al. 2016.

    Args:
        d_model: width of the vectors.
        eps: added to the variance, so that a constant vector does not divide by zero.
        has_bias: whether to learn the shift.
        fused: use torch's kernel for the same.
    """

    def __init__(
        self, d_model: int, *, eps: float = 1e-5, has_bias: bool = True, fused: bool = True
    ) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.bias = nn.Parameter(torch.zeros(d_model)) if has_bias else None
        self.eps, self.fused = eps, fused

    def forward(self, x: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch D"]:
        """Normalise over the last axis."""
        if self.fused:
            return F.layer_norm(x, self.weight.shape, self.weight, self.bias, self.eps)
        centred = x - x.mean(dim=-1, keepdim=True)
        variance = centred.square().mean(dim=-1, keepdim=True)
        normalised = centred * torch.rsqrt(variance + self.eps) * self.weight
        return normalised if self.bias is None else normalised + self.bias


class RMSNorm(nn.Module):
    """Bring each vector to root mean square 1, then to a learned one: Zhang & Sennrich 2019.

    Args:
        d_model: width of the vectors.
        eps: added to the mean square.
        fused: use torch's kernel for the same.
    """

    def __init__(self, d_model: int, *, eps: float = 1e-5, fused: bool = True) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(d_model))
        self.eps, self.fused = eps, fused

    def forward(self, x: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch D"]:
        """Normalise over the last axis."""
        if self.fused:
            return F.rms_norm(x, self.weight.shape, self.weight, self.eps)
        mean_square = x.square().mean(dim=-1, keepdim=True)
        return x * torch.rsqrt(mean_square + self.eps) * self.weight


class FeedForward(nn.Module):
    """Widen each position, apply a nonlinearity, narrow it again: Vaswani et al. 2017, eq. 2.

    With "swiglu" the widened units are multiplied by a third projection (Shazeer 2020, eq. 6);
    the usual d_ff is then 2/3 of the ungated one, for the same number of parameters.

    Args:
        d_model: width of the input and the output.
        d_ff: width in between.
        activation: a key of `ACTIVATIONS`.
        has_bias: whether the projections add a bias.
    """

    def __init__(
        self, d_model: int, d_ff: int, *, activation: str = "gelu", has_bias: bool = True
    ) -> None:
        super().__init__()
        if activation not in ACTIVATIONS:
            raise ValueError(f"activation is {activation!r}; it must be one of {[*ACTIVATIONS]}")
        self.activate = ACTIVATIONS[activation]
        self.expand = nn.Linear(d_model, d_ff, bias=has_bias)
        self.gate = nn.Linear(d_model, d_ff, bias=has_bias) if activation == "swiglu" else None
        self.contract = nn.Linear(d_ff, d_model, bias=has_bias)

    def forward(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B T D"]:
        """Transform each position by itself."""
        hidden = self.activate(self.expand(x))  # (B, T, F)
        if self.gate is not None:
            hidden = hidden * self.gate(x)
        out: Tensor = self.contract(hidden)
        return out


@dataclass
class BlockCache:
    """The keys and values that one block keeps between steps: of its own input and of a memory."""

    attention: KeyValueCache | FixedKeyValueCache = field(default_factory=KeyValueCache)
    cross_attention: KeyValueCache = field(default_factory=KeyValueCache)

    def branch(self) -> "BlockCache":
        """Return a cache that holds the same and grows by itself; a memory does not grow."""
        return BlockCache(self.attention.branch(), self.cross_attention)

    def select(self, rows: Int[Tensor, " N"]) -> "BlockCache":
        """Return a cache of the given rows of the batch, in that order."""
        return BlockCache(self.attention.select(rows), self.cross_attention.select(rows))


@dataclass
class Trace:
    """What a forward pass leaves behind when asked: pass an empty one in, read it afterwards.

    Attributes:
        hidden_states: (B, T, D) input of the first block, then the output of each.
        attention: (B, H, T, S) weights of each block's self-attention.
        cross_attention: (B, H, T, S) weights of each block's attention to the memory.
    """

    hidden_states: list[Tensor] = field(default_factory=list)
    attention: list[Tensor] = field(default_factory=list)
    cross_attention: list[Tensor] = field(default_factory=list)


class Block(nn.Module):
    """Self-attention, cross-attention to a memory if there is one, and feed-forward.

    They can be wired in four ways. With sublayers S1, S2 (attention, feed-forward), norms N1, N2:

        A  serial        x = x + S1(N1(x));  x = x + S2(N2(x))          most transformers
        B  one residual  x = x + S2(N2(S1(N1(x))))                      around both
        C  parallel      x = x + S1(N(x)) + S2(N(x))                    one norm for both
        D  parallel      x = x + S1(N1(x)) + S2(N2(x))                  a norm for each

    That is pre-norm: the residual path itself is never normalised. Post-norm, the original, exists
    for wiring A: x = N1(x + S1(x)); x = N2(x + S2(x)).

    Args:
        attention: the self-attention sublayer.
        feed_forward: the feed-forward sublayer.
        norm: makes one norm, each time it is called.
        cross_attention: attention to a memory, between the other two.
        wiring: A, B, C or D.
        is_pre_norm: normalise what enters a sublayer rather than what leaves the sum.
        dropout: probability of dropping an entry of a sublayer's output in training.
    """

    def __init__(
        self,
        attention: MultiHeadAttention,
        feed_forward: nn.Module,
        norm: Callable[[], nn.Module],
        *,
        cross_attention: MultiHeadAttention | None = None,
        wiring: str = "A",
        is_pre_norm: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if wiring not in WIRINGS:
            raise ValueError(f"wiring is {wiring!r}; it must be one of {[*WIRINGS]}")
        if wiring != "A" and not is_pre_norm:
            raise ValueError(f"wiring is {wiring!r}; with post-norm it must be 'A'")
        self.attention, self.feed_forward = attention, feed_forward
        self.cross_attention = cross_attention
        n_sublayers = 2 if cross_attention is None else 3
        self.norms = nn.ModuleList(norm() for _ in range(1 if wiring == "C" else n_sublayers))
        self.wiring, self.is_pre_norm = wiring, is_pre_norm
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        memory: Float[Tensor, "B M D"] | None = None,
        *,
        mask: Bool[Tensor, "#B #T S"] | None = None,
        memory_mask: Bool[Tensor, "#B #T M"] | None = None,
        is_causal: bool = False,
        cache: BlockCache | None = None,
        trace: Trace | None = None,
    ) -> Float[Tensor, "B T D"]:
        """Update every position.

        Args:
            x: the positions.
            memory: what cross-attention reads.
            mask: True where a position may look among the positions.
            memory_mask: True where a position may look in the memory.
            is_causal: hide from each position what follows it.
            cache: keys and values of the positions before `x`; those of `x` are added.
            trace: where attention weights are noted, if at all.

        Raises:
            ValueError: if there is a memory without cross-attention, or the reverse.
        """
        if (memory is None) != (self.cross_attention is None):
            has, needs = memory is not None, self.cross_attention is not None
            raise ValueError(f"memory is given: {has}; cross-attention needs one: {needs}")
        attention = partial(
            self.attention,
            mask=mask,
            is_causal=is_causal,
            cache=None if cache is None else cache.attention,
            record=None if trace is None else trace.attention,
        )
        sublayers: list[Callable[[Tensor], Tensor]] = [attention, self.feed_forward]
        if self.cross_attention is not None:
            cross_attention = partial(
                self.cross_attention,
                memory=memory,
                mask=memory_mask,
                cache=None if cache is None else cache.cross_attention,
                record=None if trace is None else trace.cross_attention,
            )
            sublayers.insert(1, cross_attention)
        return self._wire(x, sublayers)

    def _wire(self, x: Tensor, sublayers: list[Callable[[Tensor], Tensor]]) -> Tensor:
        """Run the sublayers with residual connections, norms and dropout around them."""
        if self.wiring == "A" and not self.is_pre_norm:
            for norm, sublayer in zip(self.norms, sublayers, strict=True):
                x = norm(x + self.dropout(sublayer(x)))
        elif self.wiring == "A":
            for norm, sublayer in zip(self.norms, sublayers, strict=True):
                x = x + self.dropout(sublayer(norm(x)))
        elif self.wiring == "B":
            inner = x
            for norm, sublayer in zip(self.norms, sublayers, strict=True):
                inner = sublayer(norm(inner))
            x = x + self.dropout(inner)
        elif self.wiring == "C":
            normalised = self.norms[0](x)
            x = x + sum(self.dropout(sublayer(normalised)) for sublayer in sublayers)
        else:
            outputs = [
                sublayer(norm(x)) for norm, sublayer in zip(self.norms, sublayers, strict=True)
            ]
            x = x + sum(self.dropout(output) for output in outputs)
        return x
