"""What a transformer block is made of besides attention, and the ways to wire it.

A block alternates two sublayers: attention moves information between positions, feed-forward
transforms each position by itself. Residual connections keep a straight path from the loss to every
layer; normalisation keeps what travels on it at a fixed size. In training, dropout sets entries of
a sublayer's output to zero at random, and scales up the rest.

Chapter: the transformer. Ba et al. 2016 (LayerNorm); Zhang & Sennrich 2019 (RMSNorm); Xiong et al.
2020 (pre- and post-norm); Shazeer 2020 (SwiGLU); Chowdhery et al. 2022 (parallel sublayers).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from course_pkg.common.checks import probabilities, whole_numbers
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


class LayerNorm(nn.Module):
    """Layer normalization: each vector to mean 0, variance 1, then to learned ones: Ba et al. 2016.

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
        whole_numbers(d_model=d_model)
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
        whole_numbers(d_model=d_model)
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


Sublayer = Callable[[Tensor], Tensor]


class Block(nn.Module):
    """Self-attention, cross-attention to a memory if there is one, and feed-forward.

    What they are is said here, and how they are wired by a subclass, whose `forward` is the
    equation: in it S1, S2 are the sublayers (attention, feed-forward) and N1, N2 their norms.

    Args:
        attention: the self-attention sublayer.
        feed_forward: the feed-forward sublayer.
        norm: makes one norm, each time it is called.
        cross_attention: attention to a memory, between the other two.
        dropout: probability of dropping an entry of a sublayer's output in training.
    """

    shares_norm = False
    """Whether one norm serves all sublayers."""

    def __init__(
        self,
        attention: MultiHeadAttention,
        feed_forward: nn.Module,
        norm: Callable[[], nn.Module],
        *,
        cross_attention: MultiHeadAttention | None = None,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.attention, self.feed_forward = attention, feed_forward
        self.cross_attention = cross_attention
        n_sublayers = 2 if cross_attention is None else 3
        self.norms = nn.ModuleList(norm() for _ in range(1 if self.shares_norm else n_sublayers))
        probabilities(dropout=dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        memory: Float[Tensor, "B M D"] | None = None,
        **reading: Any,
    ) -> Float[Tensor, "B T D"]:
        """Update every position; `memory` and `reading` are the arguments of `sublayers`."""
        raise NotImplementedError("use one of BLOCKS, whose forward says how sublayers are wired")

    def sublayers(
        self,
        memory: Float[Tensor, "B M D"] | None = None,
        *,
        mask: Bool[Tensor, "#B #T S"] | None = None,
        memory_mask: Bool[Tensor, "#B #T M"] | None = None,
        is_causal: bool = False,
        rotation: Float[Tensor, "2 T half"] | None = None,
        cache: BlockCache | None = None,
        trace: Trace | None = None,
    ) -> list[Sublayer]:
        """Return the sublayers as functions of the positions alone.

        Args:
            memory: what cross-attention reads.
            mask: True where a position may look among the positions.
            memory_mask: True where a position may look in the memory.
            is_causal: hide from each position what follows it.
            rotation: of the self-attention's positions, if it is known already.
            cache: keys and values of earlier positions; those of the new ones are added.
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
            rotation=rotation,
            cache=None if cache is None else cache.attention,
            trace=None if trace is None else trace.attention,
        )
        if self.cross_attention is None:
            return [attention, self.feed_forward]
        cross_attention = partial(
            self.cross_attention,
            memory=memory,
            mask=memory_mask,
            cache=None if cache is None else cache.cross_attention,
            trace=None if trace is None else trace.cross_attention,
        )
        return [attention, cross_attention, self.feed_forward]


class PreNormBlock(Block):
    """x = x + S1(N1(x)); x = x + S2(N2(x)), as in most transformers since GPT-2.

    The residual path itself is never normalised: gradients reach every layer along it.
    """

    def forward(self, x: Tensor, memory: Tensor | None = None, **reading: Any) -> Tensor:
        """Update every position; the arguments are those of `sublayers`."""
        for norm, sublayer in zip(self.norms, self.sublayers(memory, **reading), strict=True):
            x = x + self.dropout(sublayer(norm(x)))
        return x


class PostNormBlock(Block):
    """x = N1(x + S1(x)); x = N2(x + S2(x)), the original: Vaswani et al. 2017, section 3.1."""

    def forward(self, x: Tensor, memory: Tensor | None = None, **reading: Any) -> Tensor:
        """Update every position; the arguments are those of `sublayers`."""
        for norm, sublayer in zip(self.norms, self.sublayers(memory, **reading), strict=True):
            x = norm(x + self.dropout(sublayer(x)))
        return x


class SingleResidualBlock(Block):
    """x = x + S2(N2(S1(N1(x)))): one residual connection around both sublayers."""

    def forward(self, x: Tensor, memory: Tensor | None = None, **reading: Any) -> Tensor:
        """Update every position; the arguments are those of `sublayers`."""
        inner = x
        for norm, sublayer in zip(self.norms, self.sublayers(memory, **reading), strict=True):
            inner = sublayer(norm(inner))
        return x + self.dropout(inner)


class ParallelBlock(Block):
    """x = x + S1(N(x)) + S2(N(x)), one norm for both: Chowdhery et al. 2022, section 2 (PaLM)."""

    shares_norm = True

    def forward(self, x: Tensor, memory: Tensor | None = None, **reading: Any) -> Tensor:
        """Update every position; the arguments are those of `sublayers`."""
        normalised = self.norms[0](x)
        outputs = [sublayer(normalised) for sublayer in self.sublayers(memory, **reading)]
        return x + sum(self.dropout(output) for output in outputs)


class ParallelTwoNormBlock(Block):
    """x = x + S1(N1(x)) + S2(N2(x)), a norm for each: Black et al. 2022 (GPT-NeoX)."""

    def forward(self, x: Tensor, memory: Tensor | None = None, **reading: Any) -> Tensor:
        """Update every position; the arguments are those of `sublayers`."""
        pairs = zip(self.norms, self.sublayers(memory, **reading), strict=True)
        outputs = [sublayer(norm(x)) for norm, sublayer in pairs]
        return x + sum(self.dropout(output) for output in outputs)


BLOCKS: dict[str, type[Block]] = {
    "post_norm": PostNormBlock,
    "pre_norm": PreNormBlock,
    "single_residual": SingleResidualBlock,
    "parallel": ParallelBlock,
    "parallel_two_norms": ParallelTwoNormBlock,
}
"""The ways to place norms and residual connections around the sublayers. Lectures draw the last
four as wirings A to D."""
