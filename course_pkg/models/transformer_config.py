"""One config that spans the family of transformers, and the parts that it asks for.

GPT, BERT, LLaMA and the original transformer differ in sixteen choices. A config holds these and
nothing else; the functions here turn single choices into layers, and `make_block` into a block.

Chapter: the transformer. Vaswani et al. 2017.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from torch import Tensor, nn

from course_pkg.common.checks import real_number, whole_numbers
from course_pkg.layers.attention import MultiHeadAttention
from course_pkg.layers.blocks import (
    ACTIVATIONS,
    BLOCKS,
    Block,
    FeedForward,
    LayerNorm,
    RMSNorm,
)
from course_pkg.layers.positions import (
    ALiBi,
    AttentionPositions,
    DisentangledPositions,
    LearnedPositions,
    RelativePositions,
    RotaryPositions,
    SinusoidalPositions,
)

NORMS = ("layer", "rms")
"""LayerNorm and RMSNorm."""


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """The structure of a transformer: which weights there are and how they connect.

    Everything else is passed to the model: dropout, fused kernels, functions of your own.

    Attributes:
        vocab_size: number of token types, V.
        context_length: longest input.
        d_model: width of the residual path, D.
        n_heads: attention heads, H.
        n_layers: blocks in each stack, L.
        d_ff: width inside the feed-forward layer, F; 4 D in the classics.
        n_kv_heads: key and value heads, G; None for as many as query heads.
        positions: how order gets in: "none", or a key of `EMBEDDING_POSITIONS` or of
            `ATTENTION_POSITIONS`.
        rotary_base: of "rotary" positions: its slowest pair of entries turns by about 1 / base at
            each step; longer contexts have larger ones (10,000 in LLaMA, 500,000 in LLaMA 3).
        norm: LayerNorm ("layer") or RMSNorm ("rms").
        block: where norms and residual connections stand, a key of `BLOCKS`: "pre_norm" normalises
            what enters each sublayer, "post_norm" each sum.
        activation: nonlinearity of the feed-forward layer, a key of `ACTIVATIONS`.
        has_qk_norm: RMSNorm on the queries and keys of each head.
        has_bias: whether linear layers and LayerNorms have biases.
        is_tied: weight tying (Press & Wolf 2017): one table embeds and unembeds and, in the
            encoder–decoder, embeds both sides.
        shares_layers: apply one block n_layers times, as ALBERT does.

    Raises:
        ValueError: if a value is out of range or two do not fit together.
    """

    vocab_size: int
    context_length: int
    d_model: int
    n_heads: int
    n_layers: int
    d_ff: int
    n_kv_heads: int | None = None
    positions: str = "learned"
    rotary_base: float = 10_000.0
    norm: str = "layer"
    block: str = "pre_norm"
    activation: str = "gelu"
    has_qk_norm: bool = False
    has_bias: bool = True
    is_tied: bool = True
    shares_layers: bool = False

    def __post_init__(self) -> None:
        sizes = ("vocab_size", "context_length", "d_model", "n_heads", "n_layers", "d_ff")
        whole_numbers(**{name: getattr(self, name) for name in sizes})
        choices = {
            "positions": ("none", *EMBEDDING_POSITIONS, *ATTENTION_POSITIONS),
            "norm": NORMS,
            "block": tuple(BLOCKS),
            "activation": tuple(ACTIVATIONS),
        }
        for name, allowed in choices.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} is {getattr(self, name)!r}; it must be one of {allowed}")
        if not 0 < real_number("rotary_base", self.rotary_base) < math.inf:
            raise ValueError(f"rotary_base is {self.rotary_base}; it must be positive and finite")
        if self.d_model % self.n_heads:
            raise ValueError(
                f"d_model is {self.d_model}; it must be a multiple of n_heads, {self.n_heads}"
            )
        if self.n_kv_heads is not None:
            whole_numbers(n_kv_heads=self.n_kv_heads)
            if self.n_heads % self.n_kv_heads:
                raise ValueError(
                    f"n_kv_heads is {self.n_kv_heads}; it must divide n_heads, {self.n_heads}"
                )
        if self.positions == "rotary" and self.d_head % 2:
            raise ValueError(f"d_head is {self.d_head}; with rotary positions it must be even")
        if self.positions == "sinusoidal" and self.d_model % 2:
            raise ValueError(
                f"d_model is {self.d_model}; with sinusoidal positions it must be even"
            )
        if self.positions == "disentangled" and self.n_kv_heads not in (None, self.n_heads):
            raise ValueError(
                f"n_kv_heads is {self.n_kv_heads}; with disentangled positions it must be n_heads, "
                f"{self.n_heads}"
            )

    @property
    def d_head(self) -> int:
        """Width of one head, K."""
        return self.d_model // self.n_heads


def check_config(config: object) -> None:
    """Refuse what is no structure, such as a size on its own.

    Raises:
        ValueError: naming its type.
    """
    if not isinstance(config, TransformerConfig):
        raise ValueError(
            f"config is {type(config).__name__}; it must be a TransformerConfig, such as "
            "gpt_tiny(vocab_size) makes"
        )


def classic(
    vocab_size: int, context_length: int, d_model: int, n_heads: int, n_layers: int, **choices: Any
) -> TransformerConfig:
    """Return a config with feed-forward layers four times as wide as the model; see its fields."""
    return TransformerConfig(
        vocab_size=vocab_size,
        context_length=context_length,
        d_model=d_model,
        n_heads=n_heads,
        n_layers=n_layers,
        d_ff=4 * d_model,
        **choices,
    )


EmbeddingPositions = LearnedPositions | SinusoidalPositions

EMBEDDING_POSITIONS: dict[str, Callable[[TransformerConfig], EmbeddingPositions]] = {
    "learned": lambda config: LearnedPositions(config.context_length, config.d_model),
    "sinusoidal": lambda config: SinusoidalPositions(config.d_model),
}
"""Positions that are added to embeddings."""

ATTENTION_POSITIONS: dict[str, Callable[[TransformerConfig], AttentionPositions]] = {
    "relative": lambda config: RelativePositions(config.d_head),
    "alibi": lambda config: ALiBi(config.n_heads),
    "rotary": lambda config: RotaryPositions(config.d_head, config.rotary_base),
    "disentangled": lambda config: DisentangledPositions(
        config.d_model, config.n_heads, config.context_length
    ),
}
"""Positions that act inside attention, and see distances alone: not where a text starts."""


def embedding_positions(config: TransformerConfig) -> EmbeddingPositions | None:
    """Return the positions that are added to embeddings, or None."""
    make = EMBEDDING_POSITIONS.get(config.positions)
    return None if make is None else make(config)


def config_norm(
    config: TransformerConfig, *, eps: float = 1e-5, fused: bool = True
) -> Callable[[int], nn.Module]:
    """Return the config's kind of norm, to be made at any width."""
    if config.norm == "rms":
        return partial(RMSNorm, eps=eps, fused=fused)
    return partial(LayerNorm, eps=eps, has_bias=config.has_bias, fused=fused)


def make_block(
    config: TransformerConfig,
    norm: Callable[[int], nn.Module],
    *,
    has_memory: bool,
    dropout: float,
    fused: bool,
    attend: Callable[..., Tensor] | None,
) -> Block:
    """Build one block of a stack; the arguments are those of `Stack`."""
    attention = partial(
        MultiHeadAttention,
        config.d_model,
        config.n_heads,
        n_kv_heads=config.n_kv_heads,
        has_bias=config.has_bias,
        qk_norm=partial(RMSNorm, fused=fused) if config.has_qk_norm else None,
        dropout=dropout,
        fused=fused,
        attend=attend,
    )
    feed_forward = FeedForward(
        config.d_model, config.d_ff, activation=config.activation, has_bias=config.has_bias
    )
    positions = ATTENTION_POSITIONS.get(config.positions)
    return BLOCKS[config.block](
        attention(positions=None if positions is None else positions(config)),
        feed_forward,
        partial(norm, config.d_model),
        cross_attention=attention() if has_memory else None,
        dropout=dropout,
    )
