"""The loss that every model of the course reports: nats per target.

Chapter: fixed-window models.
"""

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from course_pkg.models import IGNORE


def nats_per_target(logits: Float[Tensor, "*N V"], targets: Int[Tensor, "*N"]) -> Float[Tensor, ""]:
    """Return the mean surprise at the targets that are not IGNORE, in nats; 0 if there are none.

    `training.objectives.cross_entropy` is the same written out.

    Args:
        targets: whole numbers of any type, one for each row of the logits.

    Raises:
        ValueError: if there is not one target for each row, or a target is no class.
    """
    check_targets(logits, targets)
    n_classes = logits.shape[-1]
    targets = targets.flatten().long()
    # A sum over a batch would overflow 16 bits.
    wide = logits.to(torch.promote_types(logits.dtype, torch.float32)).reshape(-1, n_classes)
    try:
        total = F.cross_entropy(wide, targets, ignore_index=IGNORE, reduction="sum")
    except IndexError as error:
        wrong = targets[(targets != IGNORE) & ((targets < 0) | (targets >= n_classes))]
        raise ValueError(
            f"targets has {int(wrong[0])}; it must be 0 to {n_classes - 1} or {IGNORE}, IGNORE"
        ) from error
    return total / (targets != IGNORE).sum().clamp(min=1)


def check_targets(logits: Float[Tensor, "*N V"], targets: Int[Tensor, "*N"]) -> None:
    """Refuse targets that are not one whole number for each row of the logits.

    Raises:
        ValueError: naming the shape or type.
    """
    if targets.shape != logits.shape[:-1]:
        raise ValueError(
            f"targets has shape {tuple(targets.shape)}; the logits call for "
            f"{tuple(logits.shape[:-1])}, one target for each position"
        )
    if targets.is_floating_point():
        raise ValueError(f"targets is {targets.dtype}; it must hold whole numbers, such as int64")
