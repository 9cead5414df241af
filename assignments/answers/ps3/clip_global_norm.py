"""Answers to the task "clip the gradient"."""

import math

import torch

from assignments.answers import alternatives, mistakes


def each_on_its_own(gradients, max_norm):
    """Each tensor is clipped on its own."""
    present = [gradient for gradient in gradients if gradient is not None]
    norm = math.sqrt(sum(gradient.square().sum().item() for gradient in present))
    for gradient in present:
        own = gradient.norm().item()
        if own > max_norm:
            gradient *= max_norm / own
    return norm


def always_scaled(gradients, max_norm):
    """Short gradients are made longer."""
    present = [gradient for gradient in gradients if gradient is not None]
    norm = math.sqrt(sum(gradient.square().sum().item() for gradient in present))
    if norm > 0:
        for gradient in present:
            gradient *= max_norm / norm
    return norm


def norm_after_clipping(gradients, max_norm):
    """The norm after clipping is returned."""
    present = [gradient for gradient in gradients if gradient is not None]
    norm = math.sqrt(sum(gradient.square().sum().item() for gradient in present))
    if norm > max_norm:
        for gradient in present:
            gradient *= max_norm / norm
    return min(norm, max_norm)


def without_root(gradients, max_norm):
    """The root is missing: the squared norm is compared and returned."""
    present = [gradient for gradient in gradients if gradient is not None]
    norm = sum(gradient.square().sum().item() for gradient in present)
    if norm > max_norm:
        for gradient in present:
            gradient *= max_norm / norm
    return norm


def sum_of_norms(gradients, max_norm):
    """The norms of the tensors are added up."""
    present = [gradient for gradient in gradients if gradient is not None]
    norm = sum(gradient.square().sum().sqrt().item() for gradient in present)
    if norm > max_norm:
        for gradient in present:
            gradient *= max_norm / norm
    return norm


def largest_norm(gradients, max_norm):
    """The norm of the longest tensor stands for the joint norm."""
    present = [gradient for gradient in gradients if gradient is not None]
    norm = max((gradient.square().sum().sqrt().item() for gradient in present), default=0.0)
    if norm > max_norm:
        for gradient in present:
            gradient *= max_norm / norm
    return norm


def numbers_cut_off(gradients, max_norm):
    """Each number is cut off at max_norm."""
    present = [gradient for gradient in gradients if gradient is not None]
    norm = math.sqrt(sum(gradient.square().sum().item() for gradient in present))
    for gradient in present:
        gradient.clamp_(-max_norm, max_norm)
    return norm


def new_tensors(gradients, max_norm):
    """New tensors are put into the list; the caller's own stay as they are."""
    present = [gradient for gradient in gradients if gradient is not None]
    norm = math.sqrt(sum(gradient.square().sum().item() for gradient in present))
    if norm > max_norm:
        for place, gradient in enumerate(gradients):
            if gradient is not None:
                gradients[place] = gradient * (max_norm / norm)
    return norm


def name_rebound(gradients, max_norm):
    """The scaled tensor is given a name and lost."""
    present = [gradient for gradient in gradients if gradient is not None]
    norm = math.sqrt(sum(gradient.square().sum().item() for gradient in present))
    if norm > max_norm:
        for gradient in present:
            gradient = gradient * (max_norm / norm)
    return norm


def fail_at_none(gradients, max_norm):
    """A missing gradient is treated like the others."""
    norm = math.sqrt(sum(gradient.square().sum().item() for gradient in gradients))
    if norm > max_norm:
        for gradient in gradients:
            gradient *= max_norm / norm
    return norm


def stop_at_none(gradients, max_norm):
    """Everything after a missing gradient is left out."""
    present = []
    for gradient in gradients:
        if gradient is None:
            break
        present.append(gradient)
    norm = math.sqrt(sum(gradient.square().sum().item() for gradient in present))
    if norm > max_norm:
        for gradient in present:
            gradient *= max_norm / norm
    return norm


def drop_none(gradients, max_norm):
    """Missing gradients are taken out of the caller's list."""
    gradients[:] = [gradient for gradient in gradients if gradient is not None]
    norm = math.sqrt(sum(gradient.square().sum().item() for gradient in gradients))
    if norm > max_norm:
        for gradient in gradients:
            gradient *= max_norm / norm
    return norm


def sum_of_absolute_values(gradients, max_norm):
    """Absolute values are summed up instead of squares."""
    present = [gradient for gradient in gradients if gradient is not None]
    norm = sum(gradient.abs().sum().item() for gradient in present)
    if norm > max_norm:
        for gradient in present:
            gradient *= max_norm / norm
    return norm


def scaled_to_one(gradients, max_norm):
    """Long gradients are shortened to the norm 1, whatever max_norm is."""
    present = [gradient for gradient in gradients if gradient is not None]
    norm = math.sqrt(sum(gradient.square().sum().item() for gradient in present))
    if norm > max_norm:
        for gradient in present:
            gradient /= norm
    return norm


def by_one_vector(gradients, max_norm):
    """Puts all numbers into one vector and asks for its norm."""
    kept = [gradient for gradient in gradients if gradient is not None]
    if not kept:
        return 0.0
    norm = torch.cat([gradient.flatten() for gradient in kept]).norm().item()
    factor = min(1.0, max_norm / norm) if norm > 0 else 1.0
    for gradient in kept:
        gradient.mul_(factor)
    return norm


def by_norm_of_norms(gradients, max_norm):
    """The joint norm is the norm of the tensors' norms; the factor stays a tensor."""
    norms = [torch.linalg.vector_norm(g) for g in gradients if g is not None]
    if not norms:
        return 0.0
    norm = torch.linalg.vector_norm(torch.stack(norms))
    factor = torch.clamp(max_norm / norm, max=1.0)
    for g in gradients:
        if g is not None:
            g.copy_(g * factor)
    return float(norm)


def by_hypot(gradients, max_norm):
    """Python's `hypot` of all numbers."""
    norm = math.hypot(*(x for g in gradients if g is not None for x in g.flatten().tolist()))
    if norm <= max_norm:
        return norm
    for gradient in gradients:
        if gradient is not None:
            gradient.div_(norm / max_norm)
    return norm


def by_running_sum(gradients, max_norm):
    """Adds up squares in a loop, in double precision."""
    total = 0.0
    for gradient in gradients:
        if gradient is None:
            continue
        flat = gradient.double().reshape(-1)
        total += (flat @ flat).item()
    norm = total**0.5
    if norm > max_norm:
        factor = max_norm / norm
        for gradient in filter(lambda g: g is not None, gradients):
            gradient[...] = gradient * factor
    return norm


MISTAKES = mistakes(
    (
        each_on_its_own,
        "You clip each tensor on its own. That turns the step into another direction: compute one "
        "norm of everything, and one factor for all.",
    ),
    (
        always_scaled,
        "You scale short gradients too, and so make them longer. Where the model is nearly done, "
        "it would jump away again: clip only what is above max_norm.",
    ),
    (
        norm_after_clipping,
        "The gradients are right, but you return the norm after clipping. The one before is worth "
        "watching: it shows when training is about to explode.",
    ),
    (
        without_root,
        "Your norm has no square root. So it is far too large for long gradients, and too small "
        "for short ones.",
    ),
    (
        sum_of_norms,
        "You add up the norms of the tensors. The joint norm is that of one long vector: sum the "
        "squares of all numbers, and take the root once.",
    ),
    (
        largest_norm,
        "You take the longest tensor for the whole. All tensors together are one vector, and it is "
        "longer than each: sum all squares.",
    ),
    (
        numbers_cut_off,
        "You cut off single numbers. That changes the direction of the step, and leaves many small "
        "numbers as long as they were. Multiply everything by one factor.",
    ),
    (
        new_tensors,
        "You put new tensors into the list. The caller's tensors, which the optimizer reads, stay "
        "as they were: multiply them in place.",
    ),
    (
        name_rebound,
        "You compute the shorter gradient, but give it only a name of your own. The tensor itself "
        "does not change: multiply in place.",
    ),
    (
        fail_at_none,
        "You treat None like a tensor. A weight that took no part in the loss has no gradient: "
        "pass over it.",
    ),
    (
        stop_at_none,
        "At the first None you stop, and all gradients after it are forgotten. Pass over it and "
        "go on.",
    ),
    (
        drop_none,
        "You take every None out of the caller's list, so its places no longer fit the weights. "
        "Pass over None, and leave the list as it is.",
    ),
    (
        sum_of_absolute_values,
        "You add up absolute values. The norm that is meant is the length of a vector: the root of "
        "the sum of squares.",
    ),
    (
        scaled_to_one,
        "You make long gradients as long as 1. They should be as long as max_norm: what must the "
        "factor be?",
    ),
)

ALTERNATIVES = alternatives(by_one_vector, by_norm_of_norms, by_hypot, by_running_sum)
