"""What enters a model: ids and lengths, with clear errors for those that make no sense.

Values are looked at on the CPU only: to look at a GPU's, the CPU would have to wait for it.
"""

from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn


class TokenEmbedding(nn.Embedding):
    """Look up a vector for each id; as `torch.nn.Embedding`, but it says what is wrong with ids.

    On a GPU an id out of range stops the process with a "device-side assert": run the same batch on
    the CPU to learn which it is.
    """

    def forward(self, ids: Int[Tensor, "*T"]) -> Float[Tensor, "*T D"]:
        """Return a vector for each id.

        Raises:
            ValueError: if an id is out of range.
        """
        try:
            return super().forward(ids)
        except IndexError as error:
            n = self.num_embeddings
            wrong = ids[(ids < 0) | (ids >= n)]
            raise ValueError(
                f"ids has {int(wrong[0])}; the vocabulary has {n} tokens, 0 to {n - 1}"
            ) from error


def check_documents(documents: Sequence[Sequence[int]]) -> None:
    """Refuse what is not lists of ids: a string, say, or one list in place of several.

    Raises:
        ValueError: naming the document.
    """
    for number, document in enumerate(documents):
        if isinstance(document, str | int) or getattr(document, "ndim", 1) == 0:
            raise ValueError(
                f"document {number} is {document!r:.20}; it must be a list of ids, as a "
                "tokenizer's encode makes of a text"
            )


def check_rows(ids: Int[Tensor, "B T"]) -> None:
    """Refuse what is not rows of ids, by shape and type alone.

    Raises:
        ValueError: naming the shape or type.
    """
    if not isinstance(ids, Tensor):
        raise ValueError(f"ids is {type(ids).__name__}; it must be a tensor of ids")
    if ids.dtype not in (torch.int64, torch.int32):
        raise ValueError(f"ids is {ids.dtype}; it must be int64, as torch.tensor makes of a list")
    if ids.dim() != 2 or ids.shape[1] == 0:
        raise ValueError(
            f"ids has shape {tuple(ids.shape)}; it must be (batch, positions), with a position at "
            "least: ids[None] makes a batch of one text, and an empty text begins with eos"
        )


def check_lengths(lengths: Int[Tensor, "*N"], n_positions: int) -> None:
    """Refuse lengths of rows that have less than one real position, or more than there are.

    Raises:
        ValueError: naming the lengths; on a GPU they are not looked at.
    """
    if lengths.device.type != "cpu":
        return
    if not bool(((lengths >= 1) & (lengths <= n_positions)).all()):
        raise ValueError(
            f"lengths is {lengths.tolist()}; each must be 1 to {n_positions}, the number of "
            "positions"
        )
