"""GPT: a transformer decoder, pretrained to predict the next token.

Nothing here is new but the scale: embed, pass through causal blocks, compare with every token of
the vocabulary. With other fields of the config the same file is LLaMA.

Start with `layers.plain_attention` (40 lines) and `models.plain_gpt` (GPT-2 in one page): the same
model without a choice. This file adds the choices: a config, a cache, dropout, kernels, your own
attention and norm. What it is made of: `models.transformer` has the stack, `layers.blocks` a block,
and `layers.attention` its attention.

Chapter: GPT. Radford et al. 2018 (GPT-1), 2019 (GPT-2); Touvron et al. 2023 (LLaMA).
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_pkg.layers.blocks import BlockCache, Trace
from course_pkg.layers.inputs import TokenEmbedding, check_rows
from course_pkg.models.loss import nats_per_target
from course_pkg.models.transformer import Stack
from course_pkg.models.transformer_config import (
    TransformerConfig,
    check_config,
    classic,
    embedding_positions,
)


class GPT(nn.Module):
    """Score every next token from all tokens before it: Radford et al. 2018, eq. 2.

    Args:
        config: its structure.
        dropout: probability of dropping an entry of the embeddings or of a sublayer's output, and
            an attention weight, in training.
        fused: use torch's kernels; False computes the same by the written-out paths.
        attend: your own (query, key, value, mask) -> heads, in place of ours.
        norm: your own d_model -> module, in place of the config's norm.
        init_std: deviation of the initial weights, see `initialise`.
        generator: source of the initial weights.

    Raises:
        ValueError: if the deviation is not positive.

    Example:
        >>> model = GPT(gpt_tiny(vocab_size=11))
        >>> text = torch.tensor([[0, 3, 1, 4]])
        >>> logits, loss = model(text[:, :-1], text[:, 1:])
        >>> logits.shape
        torch.Size([1, 3, 11])
    """

    def __init__(
        self,
        config: TransformerConfig,
        *,
        dropout: float = 0.0,
        fused: bool = True,
        attend: Callable[..., Tensor] | None = None,
        norm: Callable[[int], nn.Module] | None = None,
        init_std: float = 0.02,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        if not 0 < init_std < math.inf:
            raise ValueError(f"init_std is {init_std}; it must be positive and finite")
        check_config(config)
        V, D = config.vocab_size, config.d_model
        self.config, self.vocab_size, self.context_length = config, V, config.context_length
        self.embedding = TokenEmbedding(V, D)
        self.positions = embedding_positions(config)
        self.dropout = nn.Dropout(dropout)
        self.stack = Stack(
            config, is_causal=True, dropout=dropout, fused=fused, attend=attend, norm=norm
        )
        # Tied, the embedding itself scores the tokens; there is no second table to keep in step.
        self.unembedding = None if config.is_tied else nn.Linear(D, V, bias=False)
        self.initialise(generator, std=init_std)

    def initialise(self, generator: torch.Generator | None = None, *, std: float = 0.02) -> None:
        """Draw weights from N(0, std^2), smaller ones where a sublayer joins the residual path.

        2 L sublayers add to that path; dividing by sqrt(2 L) keeps their sum at the size of one
        (Radford et al. 2019, sec. 2.3, which counts the sublayers as N). GPT-2's 0.02 is made for
        widths near a thousand; for a narrow model 1 / sqrt(D) leaves scores of a useful size.
        """
        for name, module in self.named_modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                joins = name.endswith(("attention.output", "feed_forward.contract"))
                own = std / (2 * self.config.n_layers) ** 0.5 if joins else std
                nn.init.normal_(module.weight, std=own, generator=generator)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)

    def new_cache(self) -> list[BlockCache]:
        """Return an empty cache, to be passed to `forward` or `next_log_probs` step after step."""
        return self.stack.new_cache()

    def encode(
        self,
        ids: Int[Tensor, "B T"],
        *,
        cache: list[BlockCache] | None = None,
        trace: Trace | None = None,
    ) -> Float[Tensor, "B T D"]:
        """Return the vector of each position, from which the next token is predicted.

        Args:
            ids: tokens; with a cache, those that follow the tokens it has seen.
            cache: keys and values of earlier tokens; it is extended by these.
            trace: where hidden states and attention weights are noted, if at all.

        Raises:
            ValueError: if the text outgrows learned positions.
        """
        check_rows(ids)
        x = self.embedding(ids)  # (B, T) -> (B, T, D)
        if self.positions is not None:
            x = self.positions(x, self.stack.n_cached(cache))
        out: Tensor = self.stack(self.dropout(x), cache=cache, trace=trace)
        return out

    def unembed(self, x: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch V"]:
        """Compare vectors with every token of the vocabulary."""
        if self.unembedding is None:
            return self.embedding.compare(x)
        scores: Tensor = self.unembedding(x)
        return scores

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        targets: Int[Tensor, "B T"] | None = None,
        *,
        cache: list[BlockCache] | None = None,
        trace: Trace | None = None,
    ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, ""] | None]:
        """Score every next token; `cache` and `trace` are those of `encode`.

        Returns:
            logits: unnormalised natural-log scores of the token after each of `ids`.
            loss: mean nats per target that is not IGNORE, or None without targets.
        """
        logits = self.unembed(self.encode(ids, cache=cache, trace=trace))  # (B, T, V)
        if targets is None:
            return logits, None
        return logits, nats_per_target(logits, targets)

    def next_log_probs(
        self, ids: Int[Tensor, "B T"], *, cache: list[BlockCache] | None = None
    ) -> Float[Tensor, "B V"]:
        """Return natural-log probabilities of the token after the last of `ids`.

        Args:
            ids: tokens; with a cache, those that follow the tokens it has seen.
            cache: keys and values of earlier tokens; it is extended by these.
        """
        return self.unembed(self.encode(ids, cache=cache)[:, -1]).log_softmax(dim=-1)


_gpt = partial(classic, activation="gelu_tanh")


def gpt1() -> TransformerConfig:
    """Return GPT-1's structure, post-norm: 116,534,784 parameters. Radford et al. 2018."""
    return _gpt(40_478, 512, 768, 12, 12, block="post_norm")


def gpt2_small() -> TransformerConfig:
    """Return GPT-2's structure at its smallest: 124,439,808 parameters. Radford et al. 2019."""
    return _gpt(50_257, 1024, 768, 12, 12)


def gpt2_medium() -> TransformerConfig:
    """Return GPT-2's second structure: 354,823,168 parameters. Radford et al. 2019, table 2."""
    return _gpt(50_257, 1024, 1024, 16, 24)


def gpt2_large() -> TransformerConfig:
    """Return GPT-2's third structure: 774,030,080 parameters. Radford et al. 2019, table 2."""
    return _gpt(50_257, 1024, 1280, 20, 36)


def gpt2_xl() -> TransformerConfig:
    """Return GPT-2's largest structure: 1,557,611,200 parameters. Radford et al. 2019, table 2."""
    return _gpt(50_257, 1024, 1600, 25, 48)


def gpt_tiny(vocab_size: int, context_length: int = 64) -> TransformerConfig:
    """Return a GPT-2-like structure that trains in a minute of one CPU."""
    return _gpt(vocab_size, context_length, 64, 4, 2)


def gpt_small_cpu(vocab_size: int, context_length: int = 64) -> TransformerConfig:
    """Return the structure of nanoGPT's CPU recipe: 4 layers of width 128, 0.8M parameters."""
    return replace(_gpt(vocab_size, context_length, 128, 4, 4), activation="gelu", has_bias=False)


def gpt_small_gpu(vocab_size: int, context_length: int = 256) -> TransformerConfig:
    """Return the structure of nanoGPT's GPU recipe: 6 layers of width 384, 10.6M parameters."""
    return replace(_gpt(vocab_size, context_length, 384, 6, 6), activation="gelu", has_bias=False)


def llama_like_small(vocab_size: int = 32_000, context_length: int = 1024) -> TransformerConfig:
    """Return LLaMA's structure at GPT-2's size: rotary, RMSNorm, SwiGLU, grouped heads, no biases.

    Touvron et al. 2023; grouped key/value heads as in LLaMA 2's largest.
    """
    return TransformerConfig(
        vocab_size=vocab_size,
        context_length=context_length,
        d_model=768,
        n_heads=12,
        n_layers=12,
        d_ff=2048,  # 2/3 of 4 D: the gate is a third matrix
        n_kv_heads=4,
        positions="rotary",
        norm="rms",
        activation="swiglu",
        has_bias=False,
        is_tied=False,
    )
