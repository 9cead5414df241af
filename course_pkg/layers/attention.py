"""Attention: each query takes an average of the values, weighted by how well their keys fit it.

A score says how well one key fits one query; a softmax over the keys turns scores into weights; a
mask removes keys that may not be seen. Everything else here is arrangement: several heads at once,
keys that come from another sequence, and keys kept from earlier steps.

Chapters: sequence to sequence, self-attention. Bahdanau et al. 2015; Luong et al. 2015;
Vaswani et al. 2017; Ainslie et al. 2023 (grouped heads); Henry et al. 2020 (QK-norm).
"""

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F


class DotScore(nn.Module):
    """Score a key by its dot product with the query: Luong et al. 2015, eq. 8, "dot"."""

    def forward(
        self, query: Float[Tensor, "B T K"], key: Float[Tensor, "B S K"]
    ) -> Float[Tensor, "B T S"]:
        """Return one score for every pair of a query and a key."""
        return query @ key.transpose(-2, -1)


class ScaledDotScore(nn.Module):
    """The dot product divided by sqrt(K): Vaswani et al. 2017, eq. 1.

    The dot product of two vectors of K independent entries of variance one has variance K; undivided
    it would drive the softmax towards a single key, where its gradient vanishes.
    """

    def forward(
        self, query: Float[Tensor, "B T K"], key: Float[Tensor, "B S K"]
    ) -> Float[Tensor, "B T S"]:
        """Return one score for every pair of a query and a key."""
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
        return query @ self.project(key).transpose(-2, -1)


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
        return self.score(hidden.tanh()).squeeze(-1)  # (B, T, S, d_hidden) -> (B, T, S)


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
    """
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
    # Filling with -inf would give 0/0 in a row without any True, and a nan in its gradient even if
    # the row were overwritten later. The lowest finite score keeps that row finite; the second fill
    # removes what it would let through.
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~mask, lowest).softmax(dim=-1).masked_fill(~mask, 0.0)
