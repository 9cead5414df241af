"""Whether a model is still made of numbers: nan and inf never pass, neither saved nor returned.

A loss tells of the weights before an update, a gradient of the update itself; only the weights and
buffers tell what came of it. Chapter: training transformers.
"""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn

from course_pkg.training import distributed


class Health:
    """Knows what of a model must be finite: all of its weights, and its buffers if they once were.

    A buffer may hold inf on purpose, such as a mask that is added to scores.

    Raises:
        ValueError: if a weight is not finite already.
    """

    def __init__(self, model: nn.Module) -> None:
        self.model = model
        weight = first_not_finite(dict(model.named_parameters()))
        if weight is not None:
            raise ValueError(f"{weight} has a number that is not finite; there is nothing to train")
        buffers = {name: [buffer] for name, buffer in model.named_buffers()}
        self.exempt = {name for name, (buffer,) in buffers.items() if not all_finite([buffer])}

    def ailment(self) -> str | None:
        """Return the name of what is not finite, the first of them; None if all is well."""
        named = [*self.model.named_parameters(), *self.model.named_buffers()]
        kept = {name: tensor for name, tensor in named if name not in self.exempt}
        return None if all_finite(kept.values()) else first_not_finite(kept)

    def of_weights(self, weights: Mapping[str, Tensor]) -> str | None:
        """Return the same of weights that were saved."""
        return first_not_finite({n: w for n, w in weights.items() if n not in self.exempt})


def first_not_finite(tensors: Mapping[str, Tensor]) -> str | None:
    """Return the name of the first tensor with nan or inf in it."""
    return next((name for name, tensor in tensors.items() if not all_finite([tensor])), None)


def all_finite(tensors: Iterable[Tensor]) -> bool:
    """Say whether no number is nan or inf, in the part that this process holds."""
    own = [distributed.own_part(tensor.detach()) for tensor in tensors]
    floats = [part for part in own if part.is_floating_point() and part.numel()]
    if not floats:
        return True
    # Their lengths are found at the speed of memory, and waited for once. If the squares overflow
    # that says little: then each number is looked at.
    lengths = torch.stack([length.float() for length in torch._foreach_norm(floats)])
    return bool(lengths.isfinite().all()) or all(bool(p.isfinite().all()) for p in floats)
