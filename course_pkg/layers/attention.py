"""Attention: each query takes an average of the values, weighted by how well their keys fit it.

A score says how well one key fits one query; a softmax over the keys turns scores into weights; a
mask removes keys that may not be seen. Everything else here is arrangement: several heads at once,
keys that come from another sequence, and keys kept from earlier steps.

Chapters: sequence to sequence, self-attention. Bahdanau et al. 2015; Luong et al. 2015;
Vaswani et al. 2017; Ainslie et al. 2023 (grouped-query attention); Henry et al. 2020 (QK-norm).
"""

import math
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from course_pkg.common.checks import probabilities, whole_numbers
from course_pkg.layers import inputs
from course_pkg.layers.caches import FixedKeyValueCache, KeyValueCache
from course_pkg.layers.positions import AttentionPositions


class DotScore(nn.Module):
    """Score a key by its dot product with the query: Luong et al. 2015, eq. 8, "dot"."""

    def forward(
        self, query: Float[Tensor, "B T K"], key: Float[Tensor, "B S K"]
    ) -> Float[Tensor, "B T S"]:
        """Return one score for every pair of a query and a key."""
        inputs.check_shapes(query, key)
        return query @ key.transpose(-2, -1)


class ScaledDotScore(nn.Module):
    """The dot product divided by sqrt(K): Vaswani et al. 2017, eq. 1.

    The dot product of two vectors of K independent entries of variance one has variance K;
    undivided it would drive the softmax towards a single key, where its gradient vanishes.
    """

    def forward(
        self, query: Float[Tensor, "B T K"], key: Float[Tensor, "B S K"]
    ) -> Float[Tensor, "B T S"]:
        """Return one score for every pair of a query and a key."""
        inputs.check_shapes(query, key)
        return query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])


class BilinearScore(nn.Module):
    """query^T W key, so that the two may differ in width: Luong et al. 2015, eq. 8, "general"."""

    def __init__(self, d_query: int, d_key: int) -> None:
        super().__init__()
        self.project = nn.Linear(d_key, d_query, bias=False)

    def forward(
        self, query: Float[Tensor, "B T Q"], key: Float[Tensor, "B S K"]
    ) -> Float[Tensor, "B T S"]:
        """Return one score for every pair of a query and a key."""
        keys: Tensor = self.project(key)
        return query @ keys.transpose(-2, -1)


class AdditiveScore(nn.Module):
    """v^T tanh(W query + U key), a network with one hidden layer: Bahdanau et al. 2015, A.1.2.

    It holds all (B, T, S, d_hidden) hidden units at once, which the products above avoid.
    """

    def __init__(self, d_query: int, d_key: int, d_hidden: int) -> None:
        super().__init__()
        self.project_query = nn.Linear(d_query, d_hidden, bias=False)
        self.project_key = nn.Linear(d_key, d_hidden, bias=False)
        self.score = nn.Linear(d_hidden, 1, bias=False)

    def forward(
        self, query: Float[Tensor, "B T Q"], key: Float[Tensor, "B S K"]
    ) -> Float[Tensor, "B T S"]:
        """Return one score for every pair of a query and a key."""
        hidden = self.project_query(query).unsqueeze(2) + self.project_key(key).unsqueeze(1)
        scores: Tensor = self.score(hidden.tanh())  # (B, T, S, d_hidden) -> (B, T, S, 1)
        return scores.squeeze(-1)


def causal_mask(
    T: int, S: int | None = None, *, device: torch.device | None = None
) -> Bool[Tensor, "T S"]:
    """Let each of the last T of S positions see itself and everything before it.

    Args:
        T: number of queries.
        S: number of keys, T by default; more than T when earlier keys come from a cache.
        device: where the mask is made.

    Raises:
        ValueError: if S is less than T, so that some query would precede every key.
    """
    S = T if S is None else S
    if S < T:
        raise ValueError(f"S is {S}; it must be at least T, which is {T}")
    return torch.ones(T, S, dtype=torch.bool, device=device).tril(diagonal=S - T)


def padding_mask(lengths: Int[Tensor, " B"], S: int) -> Bool[Tensor, "B 1 S"]:
    """Hide what follows the end of each sequence; combine with other masks by `&`.

    Args:
        lengths: how many of the S positions of each row are real.
        S: length of the padded rows.

    Raises:
        ValueError: if a length is no whole number of 0 to S; on a GPU they are not looked at.
    """
    whole_numbers(at_least=0, S=S)
    inputs.check_lengths(lengths, (torch.numel(lengths), S), at_least=0)
    positions = torch.arange(S, device=lengths.device)
    return (positions < lengths.unsqueeze(-1)).unsqueeze(1)


def masked_softmax(
    scores: Float[Tensor, "*batch T S"], mask: Bool[Tensor, "*#batch #T #S"] | None = None
) -> Float[Tensor, "*batch T S"]:
    """Turn scores into weights that are exactly zero where the mask is False.

    Args:
        scores: any real numbers.
        mask: True where a query may look; a row without any True yields zeros, not nan.

    Returns:
        Weights whose last axis sums to one, or to zero in a row without any True.
    """
    if mask is None:
        return scores.softmax(dim=-1)
    inputs.check_mask(mask)
    # Filling with -inf would give 0/0 in a row without any True, and a nan in its gradient even if
    # the row were overwritten later. The lowest finite score keeps that row finite; the second fill
    # removes what it would let through.
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~mask, lowest).softmax(dim=-1).masked_fill(~mask, 0.0)


def attention_weights(
    query: Float[Tensor, "*batch T K"],
    key: Float[Tensor, "*batch S K"],
    mask: Bool[Tensor, "*#batch #T #S"] | None = None,
    *,
    bias: Float[Tensor, "*#batch T S"] | None = None,
    is_causal: bool = False,
) -> Float[Tensor, "*batch T S"]:
    """softmax(query key^T / sqrt(K) + bias): how much each query takes from each value.

    Args:
        query: what each position looks for.
        key: what each position can be found by.
        mask: True where a query may look.
        bias: added to the scores, such as a penalty for distance.
        is_causal: also hide from each query what follows it; the last query is level with the
            last key.

    Returns:
        Weights whose last axis sums to one, or to zero in a row that may look nowhere.

    Raises:
        ValueError: if queries and keys do not fit; names their shapes.
    """
    inputs.check_shapes(query, key)
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])  # (..., T, S)
    if bias is not None:
        scores = scores + bias
    if is_causal:
        causal = causal_mask(*scores.shape[-2:], device=scores.device)
        mask = causal if mask is None else mask & causal
    return masked_softmax(scores, mask)


def attend(
    query: Float[Tensor, "*batch T K"],
    key: Float[Tensor, "*batch S K"],
    value: Float[Tensor, "*batch S M"],
    mask: Bool[Tensor, "*#batch #T #S"] | None = None,
    *,
    bias: Float[Tensor, "*#batch T S"] | None = None,
    is_causal: bool = False,
    dropout: float = 0.0,
    fused: bool = False,
) -> Float[Tensor, "*batch T M"]:
    """Average the values, weighting each by how well its key fits the query.

    softmax(query key^T / sqrt(K)) value: Vaswani et al. 2017, eq. 1. Chapter: self-attention.

    Args:
        query: what each position looks for.
        key: what each position can be found by.
        value: what each position hands over.
        mask: True where a query may look; a row without any True yields zeros, not nan.
        bias: added to the scores before the softmax.
        is_causal: also hide from each query what follows it; the last query is level with the
            last key. Cheaper than a mask that says the same.
        dropout: probability of dropping a weight; pass 0 outside training.
        fused: compute the same with torch's kernels, which never store the (T, S) weights.

    Raises:
        ValueError: if queries, keys and values do not fit, or the values are whole numbers; names
            their shapes. If `dropout` is no probability.
    """
    inputs.check_shapes(query, key, value, shares_heads=fused and query.dim() > 3)
    inputs.check_mask(mask)
    probabilities(dropout=dropout)  # torch's kernels take -1 and nan for 0
    if fused:
        return _attend_fused(query, key, value, mask, bias, is_causal, dropout)
    weights = attention_weights(query, key, mask, bias=bias, is_causal=is_causal)
    return F.dropout(weights.to(value.dtype), dropout) @ value


def _attend_fused(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    bias: Tensor | None,
    is_causal: bool,
    dropout: float,
) -> Tensor:
    if bias is not None and bias.dtype != query.dtype:
        # A kernel adds the bias in the precision of the queries; here that is too coarse for it.
        with torch.autocast(query.device.type, enabled=False):
            query, key, wide = (x.to(bias.dtype) for x in (query, key, value))
            out = _attend_fused(query, key, wide, mask, bias, is_causal, dropout)
        return out.to(value.dtype)
    T, S = query.shape[-2], key.shape[-2]
    if T == 1 and mask is None and bias is None and query.dim() > 3:
        # The query heads that share a key head ask as if they were positions: no key is repeated.
        heads = query.unflatten(-3, (key.shape[-3], query.shape[-3] // key.shape[-3])).squeeze(-2)
        out = F.scaled_dot_product_attention(heads, key, value, dropout_p=dropout)
        return out.reshape(*query.shape[:-1], value.shape[-1])
    # torch's is_causal aligns the first query with the first key: equal to ours only if T = S.
    # A single query, the newest, may see every key, so it needs no mask at all.
    use_causal_kernel = is_causal and mask is None and bias is None and T == S
    if is_causal and T > 1 and not use_causal_kernel:
        causal = causal_mask(T, S, device=query.device)
        mask = causal if mask is None else mask & causal
    sees_nothing: Tensor | None = None
    if mask is not None:
        # Not every kernel returns zeros for a row that sees nothing: it sees all, then is erased.
        sees_nothing = ~mask.any(dim=-1, keepdim=True)
        mask = mask | sees_nothing
    if bias is not None:
        mask = bias if mask is None else bias.masked_fill(~mask, -torch.inf)
    shares_keys = query.dim() > 3 and query.shape[-3] != key.shape[-3]
    out = F.scaled_dot_product_attention(
        query, key, value, mask, dropout, use_causal_kernel, enable_gqa=shares_keys
    )
    return out if sees_nothing is None else out.masked_fill(sees_nothing, 0.0)


class MultiHeadAttention(nn.Module):
    """Split into heads, attend in each, join the heads, mix them: Vaswani et al. 2017, sec. 3.2.2.

    Self-attention takes queries, keys and values from `x`; cross-attention takes keys and values
    from `memory`. `layers.plain_attention` has the same without the choices, in one page.

    The three projections stay three matrices: to join them saves time with one position only (see
    `models.one_token`), and would hide from LoRA and from published weights which part is which.

    Args:
        d_model: width of `x` and of the output, D.
        n_heads: query heads, H; each is d_model / n_heads wide.
        n_kv_heads: key and value heads, each serving n_heads / n_kv_heads query heads; n_heads by
            default, 1 is multi-query attention.
        d_memory: width of `memory`, d_model by default.
        has_bias: whether the four projections add a bias.
        qk_norm: makes a norm of a given width, for queries and keys in each head, which bounds the
            scores whatever the weights grow to (Henry et al. 2020).
        positions: how order enters the scores; None if it does not.
        dropout: probability of dropping an attention weight in training.
        fused: use torch's kernels; False computes the same by the written-out path.
        attend: a function of (query, key, value, mask) to use in place of ours: plug in your own.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        *,
        n_kv_heads: int | None = None,
        d_memory: int | None = None,
        has_bias: bool = True,
        qk_norm: Callable[[int], nn.Module] | None = None,
        positions: AttentionPositions | None = None,
        dropout: float = 0.0,
        fused: bool = True,
        attend: Callable[..., Tensor] | None = None,
    ) -> None:
        super().__init__()
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        d_memory = d_model if d_memory is None else d_memory
        whole_numbers(d_model=d_model, n_heads=n_heads, n_kv_heads=n_kv_heads, d_memory=d_memory)
        probabilities(dropout=dropout)
        if d_model % n_heads:
            raise ValueError(f"d_model is {d_model}; it must be a multiple of n_heads, {n_heads}")
        if n_heads % n_kv_heads:
            raise ValueError(f"n_kv_heads is {n_kv_heads}; it must divide n_heads, {n_heads}")
        positions = AttentionPositions() if positions is None else positions
        if attend is not None and positions.changes_scores:
            raise ValueError(
                f"positions is {type(positions).__name__}; with an attend function of your own it "
                "must not change the scores, since that function takes no bias"
            )
        d_head = d_model // n_heads
        self.d_model, self.n_heads, self.n_kv_heads = d_model, n_heads, n_kv_heads
        self.query = nn.Linear(d_model, n_heads * d_head, bias=has_bias)
        self.key = nn.Linear(d_memory, n_kv_heads * d_head, bias=has_bias)
        self.value = nn.Linear(d_memory, n_kv_heads * d_head, bias=has_bias)
        self.output = nn.Linear(n_heads * d_head, d_model, bias=has_bias)
        self.query_norm = None if qk_norm is None else qk_norm(d_head)
        self.key_norm = None if qk_norm is None else qk_norm(d_head)
        self.d_memory, self.positions = d_memory, positions
        self.dropout, self.fused, self.attend = dropout, fused, attend

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        memory: Float[Tensor, "B S M"] | None = None,
        *,
        mask: Bool[Tensor, "#B #T #S2"] | None = None,
        is_causal: bool = False,
        rotation: Float[Tensor, "2 T half"] | None = None,
        cache: KeyValueCache | FixedKeyValueCache | None = None,
        trace: list[Tensor] | None = None,
    ) -> Float[Tensor, "B T D"]:
        """Gather for each position of `x` what it looks for in `x`, or in `memory`.

        Args:
            x: the positions that ask.
            memory: the positions that answer, if they are others than `x`.
            mask: True where a position may look, the same for all heads. Its last axis covers
                cached positions too.
            is_causal: hide from each position what follows it.
            rotation: what `positions.rotation` returns for `x`, if it is known already.
            cache: keys and values of the positions before `x`, to which those of `x` are added; or,
                with a memory, that memory's, computed at the first call and kept. One of fixed size
                brings its own causal mask.
            trace: a list to which the weights of each head (B, H, T, S) are appended.

        Raises:
            ValueError: for an `x` of another shape; for a mask, or positions that change the
                scores, with a cache of fixed size; or if an `attend` of your own is to be traced,
                or returns another shape or dtype.
        """
        inputs.check_vectors("x", x, d_model=self.d_model)
        inputs.check_vectors("memory", memory, d_memory=self.d_memory)
        inputs.check_mask(mask)
        if isinstance(cache, FixedKeyValueCache):
            if mask is not None or self.positions.changes_scores:
                raise ValueError(
                    f"a mask is given: {mask is not None}, positions is "
                    f"{type(self.positions).__name__}; a cache of fixed size brings its own mask, "
                    "and expects scores that do not depend on how much room it has"
                )
            mask, is_causal = cache.visible(x.shape[1]), False  # most of its room is still empty
        if rotation is None:
            offset = 0 if cache is None else cache.length
            rotation = self.positions.rotation(x.shape[1], offset, x.device)
        query = self._split(self.query(x), self.n_heads)
        if self.query_norm is not None:
            query = self.query_norm(query)
        query = self.positions.rotate(query, rotation)
        key, value = self._keys_and_values(x, memory, rotation, cache)
        mask = None if mask is None else mask.unsqueeze(1)  # (B, 1, T, S)
        heads = self._attend(query, key, value, mask, is_causal, trace)
        out: Tensor = self.output(heads.transpose(1, 2).flatten(2))  # (B, T, H*K) -> (B, T, D)
        return out

    def _split(self, x: Tensor, n_heads: int) -> Tensor:
        return x.unflatten(-1, (n_heads, x.shape[-1] // n_heads)).transpose(1, 2)  # (B, H, T, K)

    def _keys_and_values(
        self,
        x: Tensor,
        memory: Tensor | None,
        rotation: Tensor | None,
        cache: KeyValueCache | FixedKeyValueCache | None,
    ) -> tuple[Tensor, Tensor]:
        """Return each key and value head (B, G, S, K), cached positions included."""
        if memory is not None and isinstance(cache, KeyValueCache) and cache.pair is not None:
            return cache.pair
        source = x if memory is None else memory
        key = self._split(self.key(source), self.n_kv_heads)
        value = self._split(self.value(source), self.n_kv_heads)
        if self.key_norm is not None:
            key = self.key_norm(key)
        key = self.positions.rotate(key, rotation)
        return (key, value) if cache is None else cache.append(key, value)

    def _attend(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        is_causal: bool,
        trace: list[Tensor] | None,
    ) -> Tensor:
        """Attend in every head by whichever path the arguments call for."""
        if self.attend is not None:
            return self._attend_by_plug_in(query, key, value, mask, is_causal, trace)
        bias = self.positions.bias(query, key)
        dropout = self.dropout if self.training else 0.0
        if self.fused and trace is None and not self.positions.needs_weights:
            return _attend_fused(query, key, value, mask, bias, is_causal, dropout)
        key, value = self._one_per_query_head(key), self._one_per_query_head(value)
        weights = attention_weights(query, key, mask, bias=bias, is_causal=is_causal)
        if trace is not None:
            trace.append(weights)
        weights = F.dropout(weights, dropout)
        return self.positions.add_values(weights.to(value.dtype) @ value, weights)

    def _attend_by_plug_in(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None,
        is_causal: bool,
        trace: list[Tensor] | None,
    ) -> Tensor:
        if trace is not None:
            raise ValueError("trace is given; an attend of your own returns no weights")
        if is_causal:
            causal = causal_mask(query.shape[2], key.shape[2], device=query.device)
            mask = causal[None, None] if mask is None else mask & causal
        key, value = self._one_per_query_head(key), self._one_per_query_head(value)
        assert self.attend is not None
        try:
            heads = self.attend(query, key, value, mask)
        except Exception as error:
            shapes = {"query": query, "key": key, "value": value, "mask": mask}
            given = (f"{n} {None if x is None else tuple(x.shape)}" for n, x in shapes.items())
            error.add_note(f"your attend was given {', '.join(given)}: (batch, heads, T or S, K)")
            raise
        inputs.check_heads(heads, query)
        return heads

    def _one_per_query_head(self, heads: Float[Tensor, "B G S K"]) -> Float[Tensor, "B H S K"]:
        """Repeat each key or value head for the query heads that share it, if they do."""
        n_shared = self.n_heads // self.n_kv_heads
        return heads if n_shared == 1 else heads.repeat_interleave(n_shared, dim=1)
