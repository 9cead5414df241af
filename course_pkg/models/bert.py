"""BERT: a transformer encoder, pretrained as a masked language model.

A decoder may not look ahead, or predicting the next token would be copying. An encoder may look
both ways if what it predicts is hidden from it: some tokens are masked, and from each vector of the
output the true token at that place is predicted. A second task reads the first vector: does the
second segment follow the first?

Chapter: BERT. Devlin et al. 2019; Lan et al. 2020 (ALBERT: `shares_layers`); He et al. 2021
(DeBERTa: positions "disentangled"). Other tasks of pretraining: `models.bert_objectives`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from course_pkg.common.checks import equal_shapes, is_model, whole_numbers
from course_pkg.layers.blocks import ACTIVATIONS, Trace
from course_pkg.layers.inputs import TokenEmbedding, check_rows
from course_pkg.models import IGNORE
from course_pkg.models.loss import nats_per_target
from course_pkg.models.transformer import Stack
from course_pkg.models.transformer_config import (
    TransformerConfig,
    check_config,
    classic,
    config_norm,
    embedding_positions,
)

NORM_EPS = 1e-12
"""What BERT's norms add to the variance; published weights expect it."""

NO_HEADS = "has_heads is False; without heads a model can only encode and pool"


class BERTOutput(NamedTuple):
    """What BERT says of a batch; begins with `(logits, loss)` like every model's answer.

    Attributes:
        logits: unnormalised natural-log scores of the token at each place.
        loss: sum of the mean nats per target that is not IGNORE, for each task that was given
            targets; None without any.
        pair_logits: scores of "the second segment follows the first" (class 0) and "it does not"
            (class 1).
        losses: the parts of the loss, of tokens and of pairs; 0 without targets of the kind.
    """

    logits: Float[Tensor, "B T V"]
    loss: Float[Tensor, ""] | None
    pair_logits: Float[Tensor, "B 2"]
    losses: Float[Tensor, "2"] | None


class MaskedTokenHead(nn.Module):
    """Turn a vector into scores of tokens: one hidden layer, then the embedding table."""

    def __init__(self, config: TransformerConfig, norm: Callable[[int], nn.Module]) -> None:
        super().__init__()
        self.transform = nn.Linear(config.d_model, config.d_model)
        self.norm = norm(config.d_model)
        self.bias = nn.Parameter(torch.zeros(config.vocab_size))
        self.activate = ACTIVATIONS["gelu" if config.activation == "swiglu" else config.activation]

    def forward(
        self, x: Float[Tensor, "*places D"], table: Float[Tensor, "V D"]
    ) -> Float[Tensor, "*places V"]:
        """Compare the transformed vectors with every row of the table."""
        return F.linear(self.norm(self.activate(self.transform(x))), table, self.bias)


class BERT(nn.Module):
    """Encode one text or a pair of texts, seeing all of it at every place: Devlin et al. 2019.

    BERT gives no probability to a text, so it does not keep the contract of a `LanguageModel`:
    `evaluate` refuses it, and `scoring.pseudo_perplexity` is what it has instead.
    It takes `ids` laid out as [CLS] first [SEP] second [SEP], 0 or 1 in `segments` for the side
    that a token is on, `mask` False at padding, and in `targets` the true token at masked places
    and IGNORE at all others. Note that targets are not shifted.

    Args:
        config: its structure.
        n_segments: rows of the table of segment embeddings.
        has_heads: whether to have the two pretraining heads; fine-tuning brings its own.
        dropout: as for `Stack`, as are the three arguments that follow; also applied to the
            embeddings.
        generator: source of the initial weights.

    Example:
        >>> model = BERT(bert_tiny(vocab_size=11))
        >>> model.encode(torch.tensor([[1, 7, 4, 2]])).shape
        torch.Size([1, 4, 64])
    """

    def __init__(
        self,
        config: TransformerConfig,
        *,
        n_segments: int = 2,
        has_heads: bool = True,
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
        norm = norm or config_norm(config, eps=NORM_EPS, fused=fused)
        self.embedding = TokenEmbedding(V, D)
        whole_numbers(n_segments=n_segments)
        self.segment_embedding = TokenEmbedding(n_segments, D, what="segments")
        self.positions = embedding_positions(config)
        self.embedding_norm = norm(D)
        self.dropout = nn.Dropout(dropout)
        self.stack = Stack(
            config, is_causal=False, dropout=dropout, fused=fused, attend=attend, norm=norm
        )
        self.pooler = nn.Linear(D, D)
        self.token_head = MaskedTokenHead(config, norm) if has_heads else None
        self.unembedding = nn.Linear(D, V, bias=False) if has_heads and not config.is_tied else None
        self.pair_head = nn.Linear(D, 2) if has_heads else None
        self.initialise(generator)

    def initialise(self, generator: torch.Generator | None = None) -> None:
        """Draw weights from N(0, 0.02^2); biases are zero."""
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, std=0.02, generator=generator)
            if isinstance(module, nn.Linear) and module.bias is not None:
                nn.init.zeros_(module.bias)

    def encode(
        self,
        ids: Int[Tensor, "B T"],
        *,
        segments: Int[Tensor, "B T"] | None = None,
        mask: Bool[Tensor, "B T"] | None = None,
        trace: Trace | None = None,
    ) -> Float[Tensor, "B T D"]:
        """Return the vector of each token in its context.

        Args:
            ids: tokens.
            segments: 0 or 1 for the side of a pair that a token is on; None for one segment.
            mask: False at padding, to which nobody attends; None if there is none.
            trace: where hidden states and attention weights are noted, if at all.

        Raises:
            ValueError: if segments or mask have another shape than ids, or there is no such side.
        """
        if mask is not None:
            equal_shapes(ids=ids, mask=mask)
            mask = mask.unsqueeze(1)
        out: Tensor = self.stack(self.embed(ids, segments), mask=mask, trace=trace)
        return out

    def embed(
        self, ids: Int[Tensor, "B T"], segments: Int[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T D"]:
        """Return what enters the first block: token, place and side as one vector."""
        check_rows(ids)
        x = self.embedding(ids)
        if self.positions is not None:
            x = self.positions(x)
        segments = torch.zeros_like(ids) if segments is None else segments
        equal_shapes(ids=ids, segments=segments)
        x = x + self.segment_embedding(segments)
        out: Tensor = self.dropout(self.embedding_norm(x))
        return out

    def pool(self, x: Float[Tensor, "B T D"]) -> Float[Tensor, "B D"]:
        """Return one vector for the whole input: a layer on top of the first token's, [CLS]."""
        return torch.tanh(self.pooler(x[:, 0]))

    def token_logits(self, x: Float[Tensor, "*places D"]) -> Float[Tensor, "*places V"]:
        """Score the token at each place from its vector: all that `encode` returned, or some.

        Raises:
            ValueError: if the model was made without heads.
        """
        if self.token_head is None:
            raise ValueError(NO_HEADS)
        logits: Tensor = self.token_head(x, self.output_table)
        return logits

    @property
    def output_table(self) -> Float[Tensor, "V D"]:
        """The vectors that tokens are predicted by: those of the input, if tied."""
        return (self.embedding if self.unembedding is None else self.unembedding).weight

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        *,
        segments: Int[Tensor, "B T"] | None = None,
        mask: Bool[Tensor, "B T"] | None = None,
        targets: Int[Tensor, "B T"] | None = None,
        pair_targets: Int[Tensor, " B"] | None = None,
        trace: Trace | None = None,
    ) -> BERTOutput:
        """Fill in every place, and judge whether the second segment follows the first.

        Args:
            ids: tokens, some of them masked.
            segments: as for `encode`, as are `mask` and `trace`.
            mask: False at padding.
            targets: the true token where one is to be predicted, IGNORE elsewhere.
            pair_targets: 0 where the second segment follows the first, 1 where it does not.
            trace: where hidden states and attention weights are noted, if at all.

        Raises:
            ValueError: if the model was made without heads.
        """
        if self.pair_head is None:
            raise ValueError(NO_HEADS)
        x = self.encode(ids, segments=segments, mask=mask, trace=trace)
        logits = self.token_logits(x)
        pair_logits = self.pair_head(self.pool(x))
        if targets is None and pair_targets is None:
            return BERTOutput(logits, None, pair_logits, None)
        nothing = logits.new_zeros((), dtype=torch.promote_types(logits.dtype, torch.float32))
        losses = torch.stack(
            [
                nothing if wanted is None else nats_per_target(scores, wanted)
                for scores, wanted in ((logits, targets), (pair_logits, pair_targets))
            ]
        )
        return BERTOutput(logits, losses.sum(), pair_logits, losses)

    def n_targets(self, batch: Mapping[str, Tensor]) -> tuple[int, int]:
        """Return how many tokens and how many pairs of a batch the losses are means over."""
        wanted = (batch.get("targets"), batch.get("pair_targets"))
        n_tokens, n_pairs = (0 if one is None else int((one != IGNORE).sum()) for one in wanted)
        return n_tokens, n_pairs


class MaskedLMLoss(nn.Module):
    """A BERT in training: it predicts at the masked places alone, not at the 85 % that it can read.

    The loss and its gradient are the model's own; most of the work of the last layer is saved.
    How many places are masked differs from batch to batch, which compiled models do not like.

    Args:
        model: a BERT with heads.
    """

    def __init__(self, model: BERT) -> None:
        super().__init__()
        is_model(model, BERT)
        if model.token_head is None:
            raise ValueError(NO_HEADS)
        self.model = model

    def forward(
        self,
        ids: Int[Tensor, "B T"],
        targets: Int[Tensor, "B T"],
        *,
        segments: Int[Tensor, "B T"] | None = None,
        mask: Bool[Tensor, "B T"] | None = None,
    ) -> tuple[Float[Tensor, "N V"], Float[Tensor, ""]]:
        """Return the logits of the masked places, in reading order, and the mean loss on them."""
        hidden = targets != IGNORE
        x = self.model.encode(ids, segments=segments, mask=mask)
        logits = self.model.token_logits(x[hidden])
        return logits, nats_per_target(logits, targets[hidden])


_bert = partial(classic, block="post_norm", activation="gelu")


def bert_base() -> TransformerConfig:
    """Return BERT-base: 109,482,240 parameters with the pooler, without the heads."""
    return _bert(30_522, 512, 768, 12, 12)


def bert_large() -> TransformerConfig:
    """Return BERT-large: 335,141,888 parameters with the pooler, without the heads."""
    return _bert(30_522, 512, 1024, 16, 24)


def bert_tiny(vocab_size: int, context_length: int = 64) -> TransformerConfig:
    """Return a BERT that trains in a minute of one CPU."""
    return _bert(vocab_size, context_length, 64, 4, 2)


def albert_tiny(vocab_size: int, context_length: int = 64) -> TransformerConfig:
    """Return `bert_tiny` with one block for all layers: Lan et al. 2020, sec. 3.1."""
    return replace(bert_tiny(vocab_size, context_length), shares_layers=True)


def deberta_tiny(vocab_size: int, context_length: int = 64) -> TransformerConfig:
    """Return `bert_tiny` with disentangled attention: He et al. 2021, sec. 3.1."""
    return replace(bert_tiny(vocab_size, context_length), positions="disentangled")
