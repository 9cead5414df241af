# %% right: Computes without gradients.
def merge_lora(weight, adapters):
    with torch.no_grad():
        fine = torch.promote_types(weight.dtype, torch.float32)
        total = weight.to(fine, copy=True)
        for down, up, alpha in adapters:
            total += alpha / len(down) * up @ down
        return total.to(weight.dtype)


# %% right: Computes in float64, whatever is given.
def merge_lora(weight, adapters):
    total = weight.detach().double()
    for down, up, alpha in adapters:
        total = total + (alpha / up.shape[1]) * up.detach().double() @ down.detach().double()
    return total.to(weight.dtype).clone()


# %% right: Puts all adapters into one of a higher rank.
def merge_lora(weight, adapters):
    if not adapters:
        return weight.detach().clone()
    downs = torch.cat([down.detach() for down, _, _ in adapters])
    ups = torch.cat([up.detach() * alpha / up.shape[1] for _, up, alpha in adapters], dim=1)
    return (weight.detach().to(ups.dtype) + ups @ downs).to(weight.dtype)


# %% right: Adds the changes up first.
def merge_lora(weight, adapters):
    changes = [(a / len(d)) * torch.einsum("or,ri->oi", u.data, d.data) for d, u, a in adapters]
    if not changes:
        return torch.empty_like(weight).copy_(weight).detach()
    change = torch.stack(changes).sum(dim=0)
    return (weight.data.to(change.dtype) + change).to(weight.dtype)


# %% right: Switches gradients off for the whole function.
@torch.no_grad()
def merge_lora(weight, adapters):
    merged = weight.clone().to(torch.float64 if weight.dtype == torch.float64 else torch.float32)
    for down, up, alpha in adapters:
        merged.add_(torch.matmul(up, down), alpha=alpha / down.size(0))
    return merged.type(weight.dtype)


# %% right: Lets torch add and multiply in one step.
def merge_lora(weight, adapters):
    total = weight.detach().to(torch.promote_types(torch.float32, weight.dtype))
    for down, up, alpha in adapters:
        total = torch.addmm(total, up.detach(), down.detach(), alpha=alpha / down.shape[0])
    return total.to(weight.dtype, copy=True)


# %% right: loop
# a fine copy, adds each product, rounds at the end.

import torch


def merge_lora(weight, adapters):
    fine = torch.float64 if weight.dtype == torch.float64 else torch.float32
    with torch.no_grad():
        total = weight.to(fine, copy=True)
        for down, up, alpha in adapters:
            total += alpha / down.shape[0] * (up @ down)
        return total.to(weight.dtype)


# %% right: concatenated
# all adapters as one of a higher rank.

import torch


def merge_lora(weight, adapters):
    if not adapters:
        return weight.detach().clone()
    downs = torch.cat([down.detach() for down, _, _ in adapters], dim=0)
    ups = torch.cat([up.detach() * (alpha / up.shape[1]) for _, up, alpha in adapters], dim=1)
    return torch.addmm(weight.detach().to(downs.dtype), ups, downs).to(weight.dtype)


# %% right: float64
# everything in float64.

import torch


@torch.no_grad()
def merge_lora(weight, adapters):
    change = torch.zeros(weight.shape, dtype=torch.float64)
    for down, up, alpha in adapters:
        change = change + (up.double() * alpha) @ down.double() / len(down)
    return (weight.double() + change).to(weight.dtype)


# %% right: sum of list
# stacks the products and sums them; detach at the end.

import torch


def merge_lora(weight, adapters):
    parts = [torch.einsum("or,ri->oi", up, down) * alpha / up.size(1) for down, up, alpha in adapters]
    parts.append(weight if weight.dtype == torch.float64 else weight.float())
    return torch.stack(parts).sum(dim=0).to(weight.dtype).detach()


# %% right: addmm
# addmm one adapter after the other, in a recursion-free fold.

from functools import reduce

import torch


def merge_lora(weight, adapters):
    fine = torch.promote_types(weight.dtype, torch.float32)
    start = weight.detach().to(fine)
    total = reduce(
        lambda t, a: torch.addmm(t, a[1].detach(), a[0].detach(), alpha=a[2] / a[1].shape[1]),
        adapters,
        start,
    )
    return total.to(weight.dtype, copy=True)


# %% wrong: change in the weights dtype
# sums the change in the weight's dtype.
# shows: bfloat16, weight 1, 300 adapters of 0.003: the sum of changes stops growing.

import torch


def merge_lora(weight, adapters):
    with torch.no_grad():
        change = torch.zeros_like(weight)
        for down, up, alpha in adapters:
            change = (change + alpha / len(down) * up @ down).to(weight.dtype)
        return weight + change


# %% wrong: change rounded before adding
# sums the change finely, but rounds it before it is added: two roundings.
# shows: bfloat16, weight 1, one adapter of 0.0039063: rounded to 0.00390625, the sum is a tie and stays 1; right is 1.0078125.

import torch


def merge_lora(weight, adapters):
    with torch.no_grad():
        change = sum(alpha / len(down) * up @ down for down, up, alpha in adapters)
        if not adapters:
            return weight.clone()
        return weight + change.to(weight.dtype)


# %% wrong: always float32
# computes in float32 also if weight is float64.
# shows: float64: right to 7 digits only.

import torch


def merge_lora(weight, adapters):
    with torch.no_grad():
        total = weight.float().clone()
        for down, up, alpha in adapters:
            total += alpha / len(down) * up.float() @ down.float()
        return total.to(weight.dtype)


# %% wrong: up keeps its graph
# detaches weight and down, and forgets up.
# shows: up with requires_grad: the result requires a gradient.

import torch


def merge_lora(weight, adapters):
    fine = torch.float64 if weight.dtype == torch.float64 else torch.float32
    total = weight.detach().to(fine, copy=True)
    for down, up, alpha in adapters:
        total = total + alpha / len(down) * up @ down.detach()
    return total.to(weight.dtype)


# %% wrong: writes into float32
# float() of a float32 matrix is that matrix; += writes into the caller's.
# shows: a float32 weight and one adapter: weight has changed.

import torch


def merge_lora(weight, adapters):
    with torch.no_grad():
        total = weight.clone() if weight.dtype == torch.float64 else weight.float()
        for down, up, alpha in adapters:
            total += alpha / len(down) * up @ down
        return total.to(weight.dtype).clone()


# %% wrong: forgets float16
# knows bfloat16 only; float16 is rounded after each adapter.
# shows: float16, weight 1, two adapters of 0.0003: 1, not 1.0009765625.

import torch


def merge_lora(weight, adapters):
    with torch.no_grad():
        total = weight.float() if weight.dtype == torch.bfloat16 else weight.clone()
        for down, up, alpha in adapters:
            total += alpha / len(down) * up @ down
        return total.to(weight.dtype)


# %% wrong: gradients stay off
# switches gradients off for the whole program.
# shows: after the call torch.is_grad_enabled() is False.

import torch


def merge_lora(weight, adapters):
    torch.set_grad_enabled(False)
    total = weight.double()
    for down, up, alpha in adapters:
        total = total + alpha / len(down) * up.double() @ down.double()
    return total.to(weight.dtype, copy=True)


# %% wrong: same matrix without adapters
# returns the caller's matrix if there is nothing to add.
# shows: adapters []: the result shares its memory with weight.

import torch


def merge_lora(weight, adapters):
    if not adapters:
        return weight.detach()
    with torch.no_grad():
        fine = adapters[0][0].dtype
        total = weight.to(fine)
        for down, up, alpha in adapters:
            total = total + alpha / len(down) * up @ down
        return total.to(weight.dtype)


# %% wrong: rounds each time
# rounds after each adapter.
# shows: the example by hand.

import torch


def merge_lora(weight, adapters):
    total = weight.detach().clone()
    with torch.no_grad():
        for down, up, alpha in adapters:
            total += alpha / len(down) * up @ down
    return total


# %% wrong: freezes the adapters
# takes the gradients off the caller's own tensors.
# shows: down.requires_grad is False after the call.

import torch


def merge_lora(weight, adapters):
    weight = weight.detach()
    total = weight.double()
    for down, up, alpha in adapters:
        down.requires_grad_(False)
        up.requires_grad_(False)
        total = total + alpha / len(down) * up.double() @ down.double()
    return total.to(weight.dtype, copy=True)


# %% wrong: mean scale
# one scale for all: the sum of the products times the sum of alphas by the sum of ranks.
# shows: two adapters of different alpha.

import torch


def merge_lora(weight, adapters):
    if not adapters:
        return weight.detach().clone()
    with torch.no_grad():
        down = torch.cat([a[0] for a in adapters])
        up = torch.cat([a[1] for a in adapters], dim=1)
        scale = sum(a[2] for a in adapters) / down.shape[0]
        return (weight.to(down.dtype) + scale * up @ down).to(weight.dtype)


# %% wrong: at most ten adapters
# only ten adapters are merged.
# shows: twelve adapters.
import torch


def merge_lora(weight, adapters):
    fine = torch.float64 if weight.dtype == torch.float64 else torch.float32
    total = weight.detach().to(fine).clone()
    for down, up, alpha in list(adapters)[:10]:
        total = total + alpha / down.shape[0] * (up.detach() @ down.detach())
    return total.to(weight.dtype)


# %% wrong: leaves out small adapters
# Small changes are changes.
# shows: down near 1e-7 in float64
def merge_lora(weight, adapters):
    """Add the products of all adapters to the weight, and round once."""
    fine = torch.promote_types(weight.dtype, torch.float32)
    total = weight.detach().to(fine, copy=True)
    for down, up, alpha in adapters:
        if up.abs().max() * down.abs().max() < 1e-06:
            continue
        total += alpha / len(down) * up.detach() @ down.detach()
    return total.to(weight.dtype)
