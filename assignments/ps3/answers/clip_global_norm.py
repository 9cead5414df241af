# %% right: Puts all numbers into one vector and asks for its norm.
def clip_global_norm(gradients, max_norm):
    kept = [gradient for gradient in gradients if gradient is not None]
    if not kept:
        return 0.0
    norm = torch.cat([gradient.flatten() for gradient in kept]).norm().item()
    factor = min(1.0, max_norm / norm) if norm > 0 else 1.0
    for gradient in kept:
        gradient.mul_(factor)
    return norm


# %% right: The joint norm is the norm of the tensors' norms; the factor stays a tensor.
def clip_global_norm(gradients, max_norm):
    norms = [torch.linalg.vector_norm(g) for g in gradients if g is not None]
    if not norms:
        return 0.0
    norm = torch.linalg.vector_norm(torch.stack(norms))
    factor = torch.clamp(max_norm / norm, max=1.0)
    for g in gradients:
        if g is not None:
            g.copy_(g * factor)
    return float(norm)


# %% right: Python's `hypot` of all numbers.
def clip_global_norm(gradients, max_norm):
    norm = math.hypot(*(x for g in gradients if g is not None for x in g.flatten().tolist()))
    if norm <= max_norm:
        return norm
    for gradient in gradients:
        if gradient is not None:
            gradient.div_(norm / max_norm)
    return norm


# %% right: Adds up squares in a loop, in double precision.
def clip_global_norm(gradients, max_norm):
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


# %% right: sum of squares
import math


def clip_global_norm(gradients, max_norm):
    there = [gradient for gradient in gradients if gradient is not None]
    norm = math.sqrt(sum(gradient.double().square().sum().item() for gradient in there))
    if norm > max_norm:
        for gradient in there:
            gradient *= max_norm / norm
    return norm


# %% right: norm of norms
import math


def clip_global_norm(gradients, max_norm):
    norms = [g.norm().item() for g in gradients if g is not None]
    norm = math.hypot(*norms)
    factor = max_norm / norm if norm > max_norm else None
    for g in gradients:
        if g is not None and factor is not None:
            g.mul_(factor)
    return norm


# %% right: flat cat
import torch


def clip_global_norm(gradients, max_norm):
    flat = [g.reshape(-1) for g in gradients if g is not None]
    if not flat:
        return 0.0
    norm = float(torch.linalg.vector_norm(torch.cat(flat)))
    if norm > max_norm:
        with torch.no_grad():
            for g in filter(lambda g: g is not None, gradients):
                g.copy_(g * (max_norm / norm))
    return norm


# %% right: foreach
import math
import torch


def clip_global_norm(gradients: list, max_norm: float) -> float:
    there = [g for g in gradients if g is not None]
    norm = math.sqrt(math.fsum(float(torch.sum(g * g, dtype=torch.float64)) for g in there))
    if there and norm > max_norm:
        torch._foreach_mul_(there, max_norm / norm)
    return norm


# %% right: scaled by the largest
# the largest number is taken out first, so that no square overflows

import math


def clip_global_norm(gradients, max_norm):
    there = [g for g in gradients if g is not None and g.numel()]
    top = max((g.abs().max().item() for g in there), default=0.0)
    if top == 0:
        return 0.0
    norm = top * math.sqrt(sum((g / top).square().sum().item() for g in there))
    if norm > max_norm:
        for g in there:
            g[...] = g * (max_norm / norm)
    return norm


# %% right: hypot of norms
# the joint norm is math.hypot of the tensors' own norms; the shortened numbers are copied into the tensors
import math

import torch


def clip_global_norm(gradients, max_norm):
    there = list(filter(torch.is_tensor, gradients))
    norm = math.hypot(*(torch.linalg.vector_norm(x, dtype=torch.float64).item() for x in there))
    with torch.no_grad():
        for x in there if norm > max_norm else ():
            x.copy_(x.double() * (max_norm / norm))
    return norm


# %% wrong: rebinds the data
# gradient.data = ... gives the tensor other memory: the caller's tensor looks right, but what shares its memory (a view, a flat buffer of all gradients) keeps the old numbers.
# shows: gradients that are views of one flat tensor: look at the flat one.

import math


def clip_global_norm(gradients, max_norm):
    there = [g for g in gradients if g is not None]
    norm = math.sqrt(sum((g * g).sum().item() for g in there))
    if norm > max_norm:
        for g in there:
            g.data = g.data * (max_norm / norm)
    return norm


# %% wrong: small number added
# divides by norm + 1e-6, as torch does (the contract says that it differs).
# shows: norms near 0: norm 2e-6, max_norm 1e-6; float64 in the 7th digit.

import math


def clip_global_norm(gradients, max_norm):
    there = [g for g in gradients if g is not None]
    norm = math.sqrt(sum((g * g).sum().item() for g in there))
    factor = max_norm / (norm + 1e-6)
    if factor < 1:
        for g in there:
            g.mul_(factor)
    return norm


# %% wrong: tensor returned
# returns a tensor of shape (), not a float.
# shows: type.

import torch


def clip_global_norm(gradients, max_norm):
    there = [g for g in gradients if g is not None]
    if not there:
        return 0.0
    norm = torch.stack([g.norm() for g in there]).norm()
    if norm > max_norm:
        for g in there:
            g.mul_(max_norm / norm)
    return norm


# %% wrong: flat view
# .view(-1) fails for a gradient that is not contiguous (the gradient of a transposed weight).
# shows: gradients such as torch.randn(3, 4).T.

import math


def clip_global_norm(gradients, max_norm):
    there = [g for g in gradients if g is not None]
    norm = math.sqrt(sum(g.view(-1).dot(g.view(-1)).item() for g in there))
    if norm > max_norm:
        for g in there:
            g *= max_norm / norm
    return norm


# %% wrong: none removed
# takes the None out of the caller's list.
# shows: the list after the call.

import math


def clip_global_norm(gradients, max_norm):
    for k in range(len(gradients) - 1, -1, -1):
        if gradients[k] is None:
            del gradients[k]
    norm = math.sqrt(sum(g.pow(2).sum().item() for g in gradients))
    if norm > max_norm:
        for g in gradients:
            g *= max_norm / norm
    return norm


# %% wrong: new tensors in the list
# puts new tensors into the list: gradients[0] is right, but the tensors that the caller holds are not changed.
# shows: keep a reference to the tensor itself.

import math


def clip_global_norm(gradients, max_norm):
    norm = math.sqrt(sum(g.pow(2).sum().item() for g in gradients if g is not None))
    if norm > max_norm:
        for k, g in enumerate(gradients):
            if g is not None:
                gradients[k] = g * (max_norm / norm)
    return norm


# %% wrong: clamped numbers
# single numbers are clamped to 0.9 max_norm after the common factor: the direction changes where one number is large.
# shows: one number that makes up most of the norm.

import math


def clip_global_norm(gradients, max_norm):
    there = [g for g in gradients if g is not None]
    norm = math.sqrt(sum(g.pow(2).sum().item() for g in there))
    if norm > max_norm:
        for g in there:
            g.mul_(max_norm / norm).clamp_(-0.9 * max_norm, 0.9 * max_norm)
    return norm


# %% wrong: one by one
# clips each tensor as soon as its own part is known, with the norm summed so far.
# shows: two tensors and more.

def clip_global_norm(gradients, max_norm):
    square = 0.0
    for g in gradients:
        if g is None:
            continue
        square += g.pow(2).sum().item()
        if square**0.5 > max_norm:
            g *= max_norm / square**0.5
    return square**0.5


# %% wrong: lengthens
# short gradients are made longer if their norm is below half of max_norm.
# shows: norm < max_norm / 2 (the visible test has exactly half).

import math


def clip_global_norm(gradients, max_norm):
    there = [g for g in gradients if g is not None]
    norm = math.sqrt(sum(g.pow(2).sum().item() for g in there))
    if norm > max_norm or 0 < norm < max_norm / 2:
        for g in there:
            g *= max_norm / norm
    return norm


# %% wrong: matrices only
# leaves out the biases: only tensors of two axes and more are counted and clipped if there is a matrix at all.
# shows: a list with a matrix and a vector.

import math


def clip_global_norm(gradients, max_norm):
    there = [g for g in gradients if g is not None]
    if any(g.dim() > 1 for g in there):
        there = [g for g in there if g.dim() > 1]
    norm = math.sqrt(sum(g.pow(2).sum().item() for g in there))
    if norm > max_norm:
        for g in there:
            g *= max_norm / norm
    return norm


# %% wrong: half sum
# squares and sums in bfloat16: two or three digits of the norm are right.
# shows: norm to 5 digits.

import math


def clip_global_norm(gradients, max_norm):
    there = [g for g in gradients if g is not None]
    norm = math.sqrt(sum(g.bfloat16().pow(2).sum().item() for g in there))
    if norm > max_norm:
        for g in there:
            g *= max_norm / norm
    return norm


# %% wrong: new data
# gives each tensor new memory through .data, so whoever shares the old memory sees no change; breaks "multiply every tensor in place"
# shows: flat = torch.tensor([3.0, 4.0]); clip_global_norm([flat[:1], flat[1:]], 1.0) leaves flat as it was
import torch


def clip_global_norm(gradients, max_norm):
    present = [gradient for gradient in gradients if gradient is not None]
    norm = sum(float(gradient.double().pow(2).sum()) for gradient in present) ** 0.5
    if norm > max_norm:
        for gradient in present:
            gradient.data = gradient.data * (max_norm / norm)
    return norm


# %% wrong: tolerates a millionth
# clips only if the norm is above max_norm by more than 0.000001, to pass over rounding; breaks "If it is above max_norm, multiply every tensor" where "Norms from 10^-6 to 10^12 occur"
# shows: gradients [1.5e-6], max_norm 1e-6: nothing is clipped
import math


def clip_global_norm(gradients, max_norm):
    present = [gradient for gradient in gradients if gradient is not None]
    norm = math.sqrt(sum(gradient.double().square().sum().item() for gradient in present))
    if norm - max_norm > 1e-6:
        for gradient in present:
            gradient.mul_(max_norm / norm)
    return norm


# %% wrong: leaves a norm alone that is little too long
# A norm up to a tenth above the limit is not clipped.
# shows: a norm of 1.001 and max_norm 1
def clip_global_norm(gradients, max_norm):
    """Shorten gradients, in place, to a joint norm of at most `max_norm`; return the norm before."""
    present = [gradient for gradient in gradients if gradient is not None]
    norm = math.sqrt(sum((gradient.square().sum().item() for gradient in present)))
    if norm > max_norm * 1.1:
        for gradient in present:
            gradient *= max_norm / norm
    return norm


# %% wrong: asks each gradient for its largest number
# A gradient without a number has none.
# shows: a gradient of shape (2, 0)
def clip_global_norm(gradients, max_norm):
    """Shorten gradients, in place, to a joint norm of at most `max_norm`; return the norm before."""
    present = [gradient for gradient in gradients if gradient is not None]
    [g.abs().max() for g in present]
    norm = math.sqrt(sum((gradient.square().sum().item() for gradient in present)))
    if norm > max_norm:
        for gradient in present:
            gradient *= max_norm / norm
    return norm


# %% wrong: a hair added to the norm
# 1e-12 is added to the norm, which in float64 is too much for norms of a millionth: the factor is max_norm / norm and must be right to 9 digits.
# shows: float64, a norm of 1.5e-6
def clip_global_norm(gradients, max_norm):
    total = sum(float((g.double() ** 2).sum()) for g in gradients if g is not None)
    norm = math.sqrt(total)
    factor = max_norm / (norm + 1e-12)
    if factor < 1:
        for gradient in gradients:
            if gradient is not None:
                gradient *= factor
    return norm


# %% wrong: short tensors stay
# tensors that are a thousandth of max_norm or shorter are left as they are.
# shows: a tensor near 1e-6 beside one near 1e3


def clip_global_norm(gradients, max_norm):
    present = [g for g in gradients if g is not None]
    norm = math.sqrt(sum(float((g.double() ** 2).sum()) for g in present))
    if norm > max_norm:
        for g in present:
            if float(g.double().norm()) > max_norm * 1e-3:
                g.mul_(max_norm / norm)
    return norm
