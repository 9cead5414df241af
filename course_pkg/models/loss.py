"""The loss that every model of the course reports: cross entropy, in nats per target.

Chapter: fixed-window models.
"""

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from course_pkg.layers.inputs import check_lengths
from course_pkg.models import IGNORE


def log_prob_of_targets(
    log_probs: Float[Tensor, "*N V"], targets: Int[Tensor, "*N"]
) -> tuple[Float[Tensor, "*N"], Bool[Tensor, "*N"]]:
    """Pick each target's log probability, 0 where it is IGNORE; say also where it is not.

    Raises:
        ValueError: as `nats_per_target`.
    """
    check_targets(log_probs, targets)
    is_target = targets != IGNORE
    places = targets.where(is_target, 0).unsqueeze(-1)
    try:
        chosen = log_probs.gather(-1, places).squeeze(-1)
    except RuntimeError as error:
        raise _wrong_target(targets, log_probs.shape[-1], error) from error
    return chosen.where(is_target, 0.0), is_target


def _wrong_target(targets: Tensor, n_classes: int, error: Exception) -> Exception:
    """Say which target is no class; if all are, what torch said was of something else."""
    wrong = targets[(targets != IGNORE) & ((targets < 0) | (targets >= n_classes))]
    if not len(wrong):
        return error
    rule = f"it must be 0 to {n_classes - 1} or {IGNORE}, IGNORE"
    return ValueError(f"targets has {int(wrong[0])}; {rule}")


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
        raise _wrong_target(targets, n_classes, error) from error
    return total / (targets != IGNORE).sum().clamp(min=1)


def count_targets(batch: Mapping[str, Tensor]) -> tuple[int]:
    """Return how many targets of a batch are not IGNORE: what a loss is a mean of, as a rule."""
    return (int((batch["targets"] != IGNORE).sum()),)


def ignore_padding(targets: Int[Tensor, "B T"], lengths: Int[Tensor, " B"]) -> Int[Tensor, "B T"]:
    """Replace what stands at padding by IGNORE.

    Raises:
        ValueError: if a length is no whole number of 0 to T; on a GPU they are not looked at.
    """
    check_lengths(lengths, targets.shape, at_least=0)
    places = torch.arange(targets.shape[1], device=targets.device)
    return targets.where(places < lengths.unsqueeze(1), IGNORE)


def count_tags(batch: Mapping[str, Tensor]) -> tuple[int]:
    """Return the same where rows have lengths and a loss counts none at padding."""
    return count_targets({"targets": ignore_padding(batch["targets"], batch["lengths"])})


def nats_per_label(logits: Float[Tensor, "B N"], labels: Int[Tensor, " B"]) -> Float[Tensor, ""]:
    """Return `nats_per_target` of a classifier of texts.

    Raises:
        ValueError: also if there is one class alone, as where the model scores rewards.
    """
    if logits.shape[-1] == 1:
        raise ValueError(
            "the logits score one class; it is always right, and there is nothing to learn"
        )
    return nats_per_target(logits, labels)


def nats_per_tag(
    logits: Float[Tensor, "B T C"], tags: Int[Tensor, "B T"], lengths: Int[Tensor, " B"]
) -> Float[Tensor, ""]:
    """Return `nats_per_target` of a tagger: none at padding."""
    check_targets(logits, tags)
    return nats_per_target(logits, ignore_padding(tags, lengths))


def check_targets(logits: Float[Tensor, "*N V"], targets: Int[Tensor, "*N"]) -> None:
    """Refuse targets that are not one whole number for each row of the logits.

    Raises:
        ValueError: naming the shape or type.
    """
    if not isinstance(targets, Tensor):
        raise ValueError(f"targets is {type(targets).__name__}; it must be a tensor")
    if targets.shape != logits.shape[:-1]:
        raise ValueError(
            f"targets has shape {tuple(targets.shape)}; the logits call for "
            f"{tuple(logits.shape[:-1])}, one target for each position"
        )
    if targets.is_floating_point() or targets.dtype == torch.bool:
        raise ValueError(f"targets is {targets.dtype}; it must hold whole numbers, such as int64")
