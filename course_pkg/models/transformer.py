"""The transformer: the stack of blocks, the encoder–decoder.

An encoder is a stack in which every position sees every other; a decoder is one in which each sees
only what precedes it, and may also read an encoder's output. `gpt` and `bert` use one stack; the
model here, the original one, uses both.

Chapters: the transformer, pretraining encoder–decoders. Vaswani et al. 2017; Lan et al. 2020
(shared layers).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from course_pkg.common.checks import is_model
from course_pkg.layers.attention import padding_mask
from course_pkg.layers.blocks import (
    BlockCache,
    Trace,
)
from course_pkg.layers.inputs import TokenEmbedding, check_batches, check_lengths, check_rows
from course_pkg.models.loss import nats_per_target
from course_pkg.models.transformer_config import (
    TransformerConfig,
    check_config,
    classic,
    config_norm,
    embedding_positions,
    make_block,
)


class Stack(nn.Module):
    """Blocks one after another: an encoder, or a decoder if it is causal.

    Args:
        config: its structure.
        is_causal: hide from each position what follows it.
        has_memory: give each block cross-attention, to read an encoder's output.
        dropout: probability of dropping a sublayer's output entry, and an attention weight.
        fused: use torch's kernels; False computes the same by the written-out paths.
        attend: your own (query, key, value, mask) -> heads, in place of ours.
        norm: your own d_model -> module, in place of the config's norm.
    """

    def __init__(
        self,
        config: TransformerConfig,
        *,
        is_causal: bool,
        has_memory: bool = False,
        dropout: float = 0.0,
        fused: bool = True,
        attend: Callable[..., Tensor] | None = None,
        norm: Callable[[int], nn.Module] | None = None,
    ) -> None:
        super().__init__()
        norm = norm or config_norm(config, fused=fused)
        blocks = [
            make_block(
                config, norm, has_memory=has_memory, dropout=dropout, fused=fused, attend=attend
            )
            for _ in range(1 if config.shares_layers else config.n_layers)
        ]
        self.blocks = nn.ModuleList(blocks)
        first, *others = (block.attention.positions for block in blocks)
        first.share_with(others)
        # Post-norm blocks normalise their sums; the others leave the last sum as it is.
        self.final_norm = norm(config.d_model) if config.block != "post_norm" else None
        self.n_layers, self.is_causal = config.n_layers, is_causal

    def new_cache(self) -> list[BlockCache]:
        """Return an empty cache for each layer, to be passed to `forward` step after step."""
        return [BlockCache() for _ in range(self.n_layers)]

    def n_cached(self, cache: list[BlockCache] | None) -> int | Int[Tensor, ""]:
        """Return how many positions a cache holds; 0 without one.

        Raises:
            ValueError: if it is no cache of as many layers.
        """
        if cache is None:
            return 0
        if not isinstance(cache, list) or len(cache) != self.n_layers:
            found = f" of {len(cache)}" if isinstance(cache, list) else ""
            raise ValueError(
                f"cache is {type(cache).__name__}{found}; it must be one entry for each of "
                f"{self.n_layers} layers, as this model's new_cache() makes it"
            )
        return cache[0].attention.length

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        memory: Float[Tensor, "B M D"] | None = None,
        *,
        mask: Bool[Tensor, "#B #T S"] | None = None,
        memory_mask: Bool[Tensor, "#B #T M"] | None = None,
        rotation: Float[Tensor, "2 T half"] | None = None,
        cache: list[BlockCache] | None = None,
        trace: Trace | None = None,
    ) -> Float[Tensor, "B T D"]:
        """Pass embedded positions through all blocks; masks are True where one may look.

        A rotation is given where the rows of `x` are not simply one position after another.
        """
        if trace is not None:
            trace.hidden_states.append(x)
        offset = self.n_cached(cache)
        if rotation is None:  # what depends on positions alone serves all layers
            first: Any = self.blocks[0]
            rotation = first.attention.positions.rotation(x.shape[1], offset, x.device)
        for layer in range(self.n_layers):
            x = self.blocks[layer % len(self.blocks)](  # one block, again and again, if shared
                x,
                memory,
                mask=mask,
                memory_mask=memory_mask,
                is_causal=self.is_causal,
                rotation=rotation,
                cache=None if cache is None else cache[layer],
                trace=trace,
            )
            if trace is not None:
                trace.hidden_states.append(x)
        return x if self.final_norm is None else self.final_norm(x)


def count_parameters(model: nn.Module) -> int:
    """Return how many numbers training may change; shared ones count once.

    Raises:
        ValueError: if it is no model, such as a `state_dict`.
    """
    is_model(model)
    return sum(parameter.numel() for parameter in model.parameters() if parameter.requires_grad)


class EncoderDecoder(nn.Module):
    """Read a source with an encoder, write a target with a decoder that looks back at it.

    Unlike the models that read one sequence, it takes two: `model(source_ids, ids, targets)`
    returns (logits, loss); position t of the logits scores `targets[:, t]`, the token that follows
    `ids[:, t]` in the target. Vaswani et al. 2017, fig. 1.

    Args:
        config: its structure, the same for both stacks.
        dropout: as for `Stack`, as are the arguments that follow; also applied to the embeddings.
        generator: source of the initial weights.

    Example:
        >>> model = EncoderDecoder(transformer_tiny(vocab_size=11))
        >>> source_ids, target = torch.tensor([[3, 1, 4, 1]]), torch.tensor([[0, 5, 9]])
        >>> model(source_ids, target[:, :-1], target[:, 1:])[0].shape
        torch.Size([1, 2, 11])
    """

    def __init__(
        self,
        config: TransformerConfig,
        *,
        dropout: float = 0.0,
        fused: bool = True,
        attend: Callable[..., Tensor] | None = None,
        norm: Callable[[int], nn.Module] | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        check_config(config)
        V, D = config.vocab_size, config.d_model
        self.config, self.vocab_size, self.context_length = config, V, config.context_length
        # Tied, all three tables are one (sec. 3.4): the other two are not even made.
        self.embedding = TokenEmbedding(V, D)
        self.target_embedding = None if config.is_tied else TokenEmbedding(V, D)
        self.unembedding = None if config.is_tied else nn.Linear(D, V, bias=False)
        self.source_positions = embedding_positions(config)
        self.target_positions = embedding_positions(config)
        stack = partial(Stack, config, dropout=dropout, fused=fused, attend=attend, norm=norm)
        self.encoder = stack(is_causal=False)
        self.decoder = stack(is_causal=True, has_memory=True)
        self.dropout = nn.Dropout(dropout)
        self.initialise(generator)

    def initialise(self, generator: torch.Generator | None = None) -> None:
        """Draw embeddings from N(0, 1/D) and weights as Glorot & Bengio 2010; biases are zero."""
        for module in self.modules():
            if isinstance(module, nn.Embedding):
                std = self.config.d_model**-0.5
                nn.init.normal_(module.weight, std=std, generator=generator)
            elif isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight, generator=generator)
                if module.bias is not None:
                    nn.init.zeros_(module.bias)

    def encode(
        self,
        source_ids: Int[Tensor, "B S"],
        source_lengths: Int[Tensor, " B"] | None = None,
        *,
        trace: Trace | None = None,
    ) -> tuple[Float[Tensor, "B S D"], Bool[Tensor, "B 1 S"] | None]:
        """Read the source.

        Args:
            source_ids: tokens of the source, padded at the end.
            source_lengths: number of real ids in each row; None means all.
            trace: where hidden states and weights are noted, if at all.

        Returns:
            memory: a vector for each source position.
            memory_mask: True at real source positions, None if all are.
        """
        check_rows(source_ids)
        mask = None
        if source_lengths is not None:
            check_lengths(source_lengths, source_ids.shape)
            mask = padding_mask(source_lengths, source_ids.shape[1])
        x = self.embedding(source_ids)
        if self.source_positions is not None:
            x = self.source_positions(x)
        return self.encoder(self.dropout(x), mask=mask, trace=trace), mask

    def decode(
        self,
        memory: Float[Tensor, "B S D"],
        memory_mask: Bool[Tensor, "B 1 S"] | None,
        ids: Int[Tensor, "B T"],
        *,
        cache: list[BlockCache] | None = None,
        trace: Trace | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Score the target's next tokens, given the ones before and the encoded source.

        Args:
            memory: what `encode` returned, as is `memory_mask`.
            ids: target tokens; with a cache, those that follow the tokens it has seen.
            cache: from `decoder.new_cache()`; it is extended by these tokens.
            trace: where hidden states and weights are noted, if at all.
        """
        check_rows(ids)
        embedding = self.embedding if self.target_embedding is None else self.target_embedding
        x = embedding(ids)
        if self.target_positions is not None:
            x = self.target_positions(x, self.decoder.n_cached(cache))
        x = self.decoder(self.dropout(x), memory, memory_mask=memory_mask, cache=cache, trace=trace)
        if self.unembedding is None:
            return F.linear(x, embedding.weight)
        scores: Tensor = self.unembedding(x)
        return scores

    def forward(
        self,
        source_ids: Int[Tensor, "B S"],
        ids: Int[Tensor, "B T"],
        targets: Int[Tensor, "B T"] | None = None,
        *,
        source_lengths: Int[Tensor, " B"] | None = None,
        trace: Trace | None = None,
    ) -> tuple[Float[Tensor, "B T V"], Float[Tensor, ""] | None]:
        """Score every next target token, the true ones before it being known (teacher forcing).

        Args:
            source_ids: tokens of the source, padded at the end.
            ids: the decoder's input: eos, then the target.
            targets: the target, then eos; IGNORE where nothing is predicted.
            source_lengths: number of real source ids in each row; None means all.
            trace: where both stacks note hidden states and weights, the encoder's first.

        Returns:
            logits: unnormalised natural-log scores of the token after each of `ids`.
            loss: mean nats per target that is not IGNORE, or None without targets.
        """
        check_batches(source_ids, ids)
        memory, memory_mask = self.encode(source_ids, source_lengths, trace=trace)
        logits = self.decode(memory, memory_mask, ids, trace=trace)
        if targets is None:
            return logits, None
        return logits, nats_per_target(logits, targets)

    def start(
        self, source_ids: Int[Tensor, "B S"], source_lengths: Int[Tensor, " B"] | None = None
    ) -> "Decoding":
        """Read the source and return a blank target for each row, for a search to continue.

        Raises:
            ValueError: if the model is in training mode: dropout would show the search another
                model at each step.
        """
        if self.training:
            raise ValueError("training is True; call the model's eval() before a search")
        memory, memory_mask = self.encode(source_ids, source_lengths)
        return Decoding(self, memory, memory_mask, self.decoder.new_cache())


@dataclass(frozen=True)
class Decoding:
    """Targets in progress, one per row: all that the next step needs."""

    model: EncoderDecoder
    memory: Tensor
    memory_mask: Tensor | None
    cache: list[BlockCache]

    def advance(self, ids: Int[Tensor, " N"]) -> tuple[Float[Tensor, "N V"], "Decoding"]:
        """Append one id to each row; return the next one's log probabilities, and what follows."""
        cache = [layer.branch() for layer in self.cache]
        logits = self.model.decode(self.memory, self.memory_mask, ids.unsqueeze(1), cache=cache)
        return logits[:, 0].log_softmax(dim=-1), replace(self, cache=cache)

    def select(self, rows: Int[Tensor, " M"]) -> "Decoding":
        """Return the targets of the given rows, in that order; a row may come more than once."""
        mask = None if self.memory_mask is None else self.memory_mask[rows]
        cache = [layer.select(rows) for layer in self.cache]
        return Decoding(self.model, self.memory[rows], mask, cache)


def original_transformer_base(vocab_size: int = 37_000) -> TransformerConfig:
    """Return the base model of Vaswani et al. 2017, table 3: "65M" parameters.

    The paper's vocabulary, shared by German and English, has "about 37,000" tokens.
    """
    choices = {"positions": "sinusoidal", "block": "post_norm", "activation": "relu"}
    return classic(vocab_size, 512, d_model=512, n_heads=8, n_layers=6, **choices)


def original_transformer_big(vocab_size: int = 37_000) -> TransformerConfig:
    """Return the big model of Vaswani et al. 2017, table 3: "213M" parameters."""
    base = original_transformer_base(vocab_size)
    return replace(base, d_model=1024, n_heads=16, d_ff=4096)


def transformer_tiny(vocab_size: int, context_length: int = 64) -> TransformerConfig:
    """Return a pre-norm encoder–decoder that trains in a minute of one CPU."""
    return classic(
        vocab_size, context_length, d_model=64, n_heads=4, n_layers=2, positions="sinusoidal"
    )
