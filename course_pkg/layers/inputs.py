"""What enters a model or a layer, with clear errors for what makes no sense.

Values are looked at on the CPU only: to look at a GPU's, the CPU would have to wait for it.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F


class TokenEmbedding(nn.Embedding):
    """Look up a vector for each id; as `torch.nn.Embedding`, but it says what is wrong with ids.

    On a GPU an id out of range stops the process with a "device-side assert": run the same batch on
    the CPU to learn which it is.
    """

    def __init__(self, n: int, d_model: int, what: str = "ids") -> None:
        super().__init__(n, d_model)
        self.what = what

    def forward(self, ids: Int[Tensor, "*T"]) -> Float[Tensor, "*T D"]:
        """Return a vector for each id.

        Raises:
            ValueError: if an id is out of range.
        """
        return look_up(self.weight, ids, self.what)

    def compare(self, x: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch V"]:
        """Return how well vectors fit each row of the table: what a tied output layer computes."""
        return F.linear(x, self.weight)


def look_up(table: Tensor, ids: Int[Tensor, "*T"], what: str) -> Tensor:
    """Return the rows of a table that ids name.

    Raises:
        ValueError: if an id is out of range.
    """
    try:
        return F.embedding(ids, table)
    except IndexError as error:
        n = len(table)
        wrong = ids[(ids < 0) | (ids >= n)]
        there = f"the vocabulary has {n} tokens" if what == "ids" else f"there are {n}"
        raise ValueError(f"{what} has {int(wrong[0])}; {there}, 0 to {n - 1}") from error


def check_rows(ids: Int[Tensor, "B T"]) -> None:
    """Refuse what is not rows of ids, by shape and type alone.

    Raises:
        ValueError: naming the shape or type.
    """
    if not isinstance(ids, Tensor):
        raise ValueError(f"ids is {type(ids).__name__}; it must be a tensor of ids")
    if ids.dtype not in (torch.int64, torch.int32) and ids.numel():  # an empty list makes float32
        raise ValueError(f"ids is {ids.dtype}; it must be int64, as torch.tensor makes of a list")
    if ids.dim() != 2 or ids.shape[1] == 0:
        raise ValueError(
            f"ids has shape {tuple(ids.shape)}; it must be (batch, positions), with a position at "
            "least: ids[None] makes a batch of one text, and an empty text begins with eos"
        )


def check_lengths(lengths: Int[Tensor, "*N"], rows: Sequence[int], *, at_least: int = 1) -> None:
    """Refuse lengths that are not one whole number, of `at_least` to T, for each of B rows.

    Args:
        rows: the shape of what they are lengths of; (B, T) are its first two axes.

    Raises:
        ValueError: naming the lengths; on a GPU, and in compiled code, their values are not looked
            at.
    """
    if not isinstance(lengths, Tensor):
        raise ValueError(f"lengths is {type(lengths).__name__}; it must be a tensor")
    n_rows, n_positions = rows[0], rows[1]
    is_whole = not lengths.is_floating_point() and lengths.dtype != torch.bool
    if not is_whole or lengths.shape != (n_rows,):
        raise ValueError(
            f"lengths is {lengths.dtype} of shape {tuple(lengths.shape)}; it must hold one whole "
            f"number for each of {n_rows} rows"
        )
    if lengths.device.type != "cpu" or torch.compiler.is_compiling():
        return
    if not bool(((lengths >= at_least) & (lengths <= n_positions)).all()):
        raise ValueError(
            f"lengths is {lengths.tolist()}; each must be {at_least} to {n_positions}, the number "
            "of positions"
        )


def check_batches(source_ids: Int[Tensor, "B S"], ids: Int[Tensor, "B T"]) -> None:
    """Refuse what is not rows of ids, and a source and a target of different numbers of rows.

    Raises:
        ValueError: naming shape, type or both numbers.
    """
    check_rows(source_ids)
    check_rows(ids)
    if len(source_ids) != len(ids):
        raise ValueError(f"ids has {len(ids)} rows; source_ids has {len(source_ids)}: pair them")


def check_mask(mask: Tensor | None) -> None:
    """Refuse masks of other types: numbers could mean "add to the scores", or True by 1 or by 0."""
    if mask is not None and mask.dtype != torch.bool:
        raise ValueError(f"mask is {mask.dtype}; it must be bool, True where a query may look")


def check_shapes(
    query: Tensor, key: Tensor, value: Tensor | None = None, *, shares_heads: bool = False
) -> None:
    """Refuse queries, keys and values that do not fit, which torch would call "a" and "b".

    Args:
        shares_heads: there may be other numbers of heads, the third axis from the end.

    Raises:
        ValueError: naming the shapes.
    """
    rules = []
    if query.dim() < 2 or key.dim() < 2 or query.shape[-1] != key.shape[-1]:
        rules.append("queries and keys must be equally wide")
    if value is not None and (value.dim() < 2 or value.shape[-2] != key.shape[-2]):
        rules.append("each key must have a value")
    if value is not None and not value.is_floating_point():
        rules.append(f"values must be fractions, as their averages are, and not {value.dtype}")
    for other in (key, value):
        if other is not None and not rules:
            pairs = list(zip(query.shape[-3::-1], other.shape[-3::-1], strict=False))
            if any(a != b and 1 not in (a, b) for a, b in pairs[int(shares_heads) :]):
                rules.append("all must have as many rows")
    if rules:
        shapes = f"query has shape {tuple(query.shape)}, key {tuple(key.shape)}"
        if value is not None:
            shapes += f", value {tuple(value.shape)}"
        raise ValueError(f"{shapes}; {' and '.join(rules)}")


def check_heads(heads: object, query: Tensor) -> None:
    """Refuse what an attend of your own must not return: another shape or dtype than the queries'.

    Raises:
        ValueError: naming both.
    """
    is_cast = torch.is_autocast_enabled(query.device.type)  # then the next layer casts anyway
    if isinstance(heads, Tensor):
        if heads.shape == query.shape and (is_cast or heads.dtype == query.dtype):
            return
        returned = f"{tuple(heads.shape)} of {heads.dtype}"
    else:
        returned = type(heads).__name__
    raise ValueError(
        f"your attend returned {returned}; it must return the shape and dtype of the queries, "
        f"{tuple(query.shape)} of {query.dtype}: batch, heads, positions, width of a head"
    )


def check_vectors(name: str, x: Tensor | None, **width: int) -> None:
    """Refuse what is not rows of vectors of one width.

    Raises:
        ValueError: naming the shape.
    """
    ((what, n),) = width.items()
    if x is not None and (x.dim() != 3 or x.shape[-1] != n):
        raise ValueError(
            f"{name} has shape {tuple(x.shape)}; it must be (batch, positions, {what}), and "
            f"{what} is {n}"
        )
