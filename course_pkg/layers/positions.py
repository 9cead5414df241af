"""Positions, or positional encoding: how a model that treats its input as a set learns its order.

Absolute positions add a vector to each token's embedding: learned, or a fan of sine waves. Relative
ones leave the embeddings alone and let distance enter the attention scores: as learned vectors, as
a penalty that grows with distance, or by rotating queries and keys by an angle that grows with
their position, so that their dot product sees only the difference.

Chapters: positions, BERT. Vaswani et al. 2017, sec. 3.5; Shaw et al. 2018; Su et al. 2021 (rotary);
Press et al. 2022 (ALiBi); He et al. 2021 (DeBERTa).
"""

import math
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn

from course_pkg.common.checks import whole_numbers


class AttentionPositions(nn.Module):
    """What a scheme may do inside attention; a scheme overrides what it needs.

    Here every method does nothing, so this class itself stands for "order does not enter". A new
    scheme is a subclass in this file and an entry of `ATTENTION_POSITIONS` in
    `models.transformer_config`; attention itself never asks which scheme it has.
    """

    @property
    def changes_scores(self) -> bool:
        """Whether the scheme adds to scores or to values, and not only turns queries and keys."""
        return type(self).bias is not AttentionPositions.bias or self.needs_weights

    @property
    def needs_weights(self) -> bool:
        """Whether the scheme reads the weights, which fused kernels never store."""
        return type(self).add_values is not AttentionPositions.add_values

    def share_with(self, others: Sequence["AttentionPositions"]) -> None:
        """Give the schemes of other layers what all layers have in common."""

    def rotation(
        self, T: int, offset: int | Int[Tensor, ""] = 0, device: torch.device | None = None
    ) -> Float[Tensor, "2 T half"] | None:
        """Return what `rotate` needs at positions offset, offset + 1, ..., the same in all layers.

        A stack computes it once and hands it to every layer.
        """
        return None

    def rotate(
        self, x: Float[Tensor, "B H T K"], rotation: Float[Tensor, "2 T half"] | None
    ) -> Float[Tensor, "B H T K"]:
        """Turn the queries or the keys of each head."""
        return x

    def bias(
        self, query: Float[Tensor, "B H T K"], key: Float[Tensor, "B G S K"]
    ) -> Float[Tensor, "*#BH T S"] | None:
        """Return what is added to the scores of the last T of S positions."""
        return None

    def add_values(
        self, heads: Float[Tensor, "B H T K"], weights: Float[Tensor, "B H T S"]
    ) -> Float[Tensor, "B H T K"]:
        """Add to each head's average of the values what the weights say beside them."""
        return heads


class LearnedPositions(nn.Module):
    """Add one learned vector per position, up to a longest input; beyond it there is none."""

    def __init__(self, context_length: int, d_model: int) -> None:
        super().__init__()
        self.table = nn.Embedding(context_length, d_model)

    def forward(
        self, x: Float[Tensor, "B T D"], offset: int | Int[Tensor, ""] = 0
    ) -> Float[Tensor, "B T D"]:
        """Add positions offset, offset + 1, ... to the embeddings.

        An offset in a tensor is not compared with the longest input: to read it, the
        CPU would have to wait for the GPU.

        Raises:
            ValueError: if the first or the last position has no vector.
        """
        if isinstance(offset, Tensor):
            added: Tensor = self.table(offset + torch.arange(x.shape[1], device=x.device))
            return x + added
        end, context_length = offset + x.shape[1], self.table.num_embeddings
        if offset < 0:
            raise ValueError(f"offset is {offset}; positions are counted from 0")
        if end > context_length:
            raise ValueError(f"the input reaches position {end}; it must end by {context_length}")
        return x + self.table.weight[offset:end]


class SinusoidalPositions(nn.Module):
    """Add sines and cosines of geometrically growing wavelengths: Vaswani et al. 2017, sec. 3.5.

    The waves have amplitude one and embeddings start near D^-0.5, so embeddings are first
    multiplied by sqrt(D) (sec. 3.4); otherwise position would drown the token.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        whole_numbers(d_model=d_model)
        if d_model % 2:
            raise ValueError(f"d_model is {d_model}; it must be even: each wave is a pair")
        self.d_model = d_model

    def waves(
        self, T: int, offset: int | Int[Tensor, ""] = 0, device: torch.device | None = None
    ) -> Float[Tensor, "T D"]:
        """Return sines in the even and cosines in the odd columns, from position `offset` on."""
        angles = _angles(T, offset, self.d_model, base=10_000.0, device=device)
        return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)

    def forward(
        self, x: Float[Tensor, "B T D"], offset: int | Int[Tensor, ""] = 0
    ) -> Float[Tensor, "B T D"]:
        """Scale the embeddings and add positions offset, offset + 1, ... to them."""
        waves = self.waves(x.shape[1], offset, x.device)
        return x * math.sqrt(self.d_model) + waves.to(x.dtype)


class RotaryPositions(AttentionPositions):
    """RoPE: turn queries and keys by angles proportional to their position: Su et al. 2021, eq. 34.

    Entry i of a head is paired with entry i + K/2, and the pair turned by position * base^(-2i/K).
    This "halves" pairing is that of LLaMA in `transformers`; the paper pairs neighbours 2i, 2i + 1,
    which is the same up to a fixed order of the entries but not interchangeable once trained.
    """

    def __init__(self, d_head: int, base: float = 10_000.0) -> None:
        super().__init__()
        whole_numbers(d_head=d_head)
        if d_head % 2:
            raise ValueError(f"d_head is {d_head}; it must be even: entries turn in pairs")
        self.d_head, self.base = d_head, base

    def rotation(
        self, T: int, offset: int | Int[Tensor, ""] = 0, device: torch.device | None = None
    ) -> Float[Tensor, "2 T half"]:
        """Return cosines and sines of the angles of each position and pair, in float32."""
        angles = _angles(T, offset, self.d_head, self.base, device=device)
        return torch.stack([angles.cos(), angles.sin()])

    def rotate(
        self, x: Float[Tensor, "B H T K"], rotation: Float[Tensor, "2 T half"] | None
    ) -> Float[Tensor, "B H T K"]:
        """Turn each pair of entries by the angle of its position."""
        if rotation is None:
            raise ValueError("rotation is None; it must be what `rotation` returns")
        cos, sin = rotation.to(x.dtype)  # (T, K/2)
        first, second = x.chunk(2, dim=-1)
        return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)

    def forward(
        self, x: Float[Tensor, "B H T K"], offset: int | Int[Tensor, ""] = 0
    ) -> Float[Tensor, "B H T K"]:
        """Turn the queries or keys at positions offset, offset + 1, ..."""
        return self.rotate(x, self.rotation(x.shape[2], offset, x.device))


class ALiBi(AttentionPositions):
    """Subtract from each score a penalty that grows with distance: Press et al. 2022, sec. 3.

    Head h of H pays 2^(-8h/H) for each step. Nothing is learned. The paper's models are causal; for
    keys on both sides of the query the penalty here counts the distance either way.
    """

    def __init__(self, n_heads: int) -> None:
        super().__init__()
        whole_numbers(n_heads=n_heads)
        self.n_heads = n_heads

    def bias(
        self, query: Float[Tensor, "B H T K"], key: Float[Tensor, "B G S K"]
    ) -> Float[Tensor, "H T S"]:
        """Return the penalties, in float32 at least: bfloat16 holds 641 of the first 2048."""
        slopes = alibi_slopes(self.n_heads, query.device)
        slopes = slopes.to(torch.promote_types(query.dtype, torch.float32))
        return -slopes[:, None, None] * _distances(query, key).abs()


class RelativePositions(AttentionPositions):
    """Learn a vector for each distance, for keys and for values: Shaw et al. 2018, eqs. 3 and 4.

    Distances beyond `max_distance` share the vector of the farthest.
    """

    def __init__(self, d_head: int, max_distance: int = 16) -> None:
        super().__init__()
        self.max_distance = max_distance
        self.key_table = nn.Embedding(2 * max_distance + 1, d_head)
        self.value_table = nn.Embedding(2 * max_distance + 1, d_head)

    def bias(
        self, query: Float[Tensor, "B H T K"], key: Float[Tensor, "B G S K"]
    ) -> Float[Tensor, "B H T S"]:
        """Return query . a_distance / sqrt(K), what distance adds to the scores (eq. 4)."""
        # One score per distance, then the one that each key stands at: no (T, S, K) table is made.
        by_distance = query @ self.key_table.weight.T / math.sqrt(query.shape[-1])
        return _pick(by_distance, self._rows(query, key))  # (B, H, T, 2*max + 1) -> (B, H, T, S)

    def add_values(
        self, heads: Float[Tensor, "B H T K"], weights: Float[Tensor, "B H T S"]
    ) -> Float[Tensor, "B H T K"]:
        """Add the average of the distances' vectors to that of the values (eq. 3)."""
        rows = self._rows(heads, weights.mT).expand_as(weights)
        by_distance = weights.new_zeros(*weights.shape[:3], self.value_table.num_embeddings)
        by_distance = by_distance.scatter_add(-1, rows, weights)
        return heads + by_distance @ self.value_table.weight

    def _rows(self, query: Tensor, key: Tensor) -> Int[Tensor, "T S"]:
        limit = self.max_distance
        return _distances(query, key).clamp(-limit, limit) + limit


class DisentangledPositions(AttentionPositions):
    """Match what a token is and how far away it is separately: He et al. 2021, eqs. 2 to 4.

    To the score of content with content, query . key, are added that of content with distance,
    query . K_r, and of distance with content, Q_r . key, each divided by sqrt(3 K) since they are
    three. K_r and Q_r are projections of one table of vectors, a row for each distance from query
    to key, which all layers share. (Eq. 4 counts the distance from key to query in the last term;
    this is the authors' code.)

    Args:
        d_model: width of the model and of the table.
        n_heads: query heads, each with a key head of its own.
        max_distance: distances from -max_distance to max_distance - 1 have a row; those beyond
            share the last.
    """

    _SHARE = 3**-0.25
    """Of each factor of a product that is to be divided by sqrt(3)."""

    def __init__(self, d_model: int, n_heads: int, max_distance: int) -> None:
        super().__init__()
        self.n_heads, self.max_distance = n_heads, max_distance
        self.table = nn.Embedding(2 * max_distance, d_model)
        self.key = nn.Linear(d_model, d_model, bias=False)
        self.query = nn.Linear(d_model, d_model)

    def share_with(self, others: Sequence[AttentionPositions]) -> None:
        """Give other layers our table; each keeps its projections."""
        for other in others:
            other.table = self.table

    def rotate(
        self, x: Float[Tensor, "B H T K"], rotation: Float[Tensor, "2 T half"] | None
    ) -> Float[Tensor, "B H T K"]:
        """Take a share of the scale off the queries or keys; nothing turns."""
        return x * self._SHARE

    def bias(
        self, query: Float[Tensor, "B H T K"], key: Float[Tensor, "B H S K"]
    ) -> Float[Tensor, "B H T S"]:
        """Return what distance adds to the scores: the last two terms."""
        scale = self._SHARE / math.sqrt(query.shape[-1])
        keys, queries = (
            project(self.table.weight).unflatten(-1, (self.n_heads, -1)).transpose(0, 1) * scale
            for project in (self.key, self.query)
        )  # (H, 2*max, K)
        limit = self.max_distance
        rows = (-_distances(query, key)).clamp(-limit, limit - 1) + limit  # (T, S)
        by_content = _pick(query @ keys.mT, rows)
        return by_content + _pick(key @ queries.mT, rows.T).mT


def _angles(
    T: int, offset: int | Int[Tensor, ""], width: int, base: float, device: torch.device | None
) -> Float[Tensor, "T half"]:
    """Return position * base^(-2i / width); always float32, since bf16 merges late positions."""
    exponents = torch.arange(0, width, 2, device=device, dtype=torch.float32) / width
    positions = torch.arange(T, device=device, dtype=torch.float32) + offset
    return positions.unsqueeze(-1) * (1.0 / base**exponents)


def _distances(
    query: Float[Tensor, "B H T K"], key: Float[Tensor, "B G S W"]
) -> Int[Tensor, "T S"]:
    """Return key position minus query position, the queries being the last T of S positions."""
    T, S = query.shape[2], key.shape[2]
    queries = torch.arange(S - T, S, device=query.device)
    return torch.arange(S, device=query.device) - queries.unsqueeze(-1)


def _pick(by_row: Float[Tensor, "B H T R"], rows: Int[Tensor, "T S"]) -> Float[Tensor, "B H T S"]:
    """Take from the scores of all rows of a table the one that each pair of positions calls for."""
    return by_row.gather(-1, rows.expand(*by_row.shape[:2], *rows.shape))


def alibi_slopes(n_heads: int, device: torch.device | None = None) -> Float[Tensor, " H"]:
    """Return 2^(-8h/H) for a power of two; else fill up from the slopes of twice that power.

    Made on the device and not kept: a buffer would be rounded with the model's weights.
    """
    power = 2 ** int(math.log2(n_heads))
    steps = torch.arange(1, 2 * power + 1, device=device, dtype=torch.float32) / power
    exponents = torch.cat([8 * steps[:power], 4 * steps[::2]])
    return torch.exp2(-exponents[:n_heads])
