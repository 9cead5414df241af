# %% right: Joins the heads along the last axis.
def merge_heads(heads):
    return torch.cat(heads.unbind(dim=-3), dim=-1)


# %% right: Moves the heads, and flattens two axes.
def merge_heads(heads):
    return heads.movedim(-3, -2).flatten(start_dim=-2)


# %% right: Copies the transposed heads, so that a view will do.
def merge_heads(heads):
    turned = heads.swapaxes(-3, -2).contiguous()
    return turned.view(*turned.shape[:-2], -1)


# %% right: Writes head by head into a new tensor.
def merge_heads(heads):
    *axes, n_heads, n_places, width = heads.shape
    result = heads.new_zeros(*axes, n_places, n_heads * width)
    for h in range(n_heads):
        result[..., h * width : (h + 1) * width] = heads[..., h, :, :]
    return result


# %% right: Goes place by place.
def merge_heads(heads):
    n_places = heads.shape[-2]
    return torch.stack([heads[..., t, :].flatten(-2) for t in range(n_places)], dim=-2)


# %% right: Lets einsum turn the axes.
def merge_heads(heads):
    turned = torch.einsum("...htk->...thk", heads)
    return turned.reshape(*turned.shape[:-2], turned.shape[-2] * turned.shape[-1])


# %% right: Joins the heads one by one.
def merge_heads(heads):
    result = heads[..., 0, :, :]
    for number in range(1, heads.size(-3)):
        result = torch.concat((result, heads.select(-3, number)), dim=-1)
    return result.clone()


# %% right: transpose flatten
def merge_heads(heads):
    return heads.transpose(-3, -2).flatten(start_dim=-2)


# %% right: cat of unbound
import torch


def merge_heads(heads):
    return torch.cat(heads.unbind(dim=-3), dim=-1)


# %% right: double mT
def merge_heads(heads):
    return heads.mT.flatten(-3, -2).mT


# %% right: fill new
import torch


def merge_heads(heads: torch.Tensor) -> torch.Tensor:
    *lead, H, T, K = heads.shape
    x = heads.new_empty(*lead, T, H * K)
    for h in range(H):
        x[..., h * K : (h + 1) * K] = heads[..., h, :, :]
    return x


# %% right: reduce pairs
import torch
import functools


def merge_heads(heads):
    parts = [heads.select(-3, h) for h in range(heads.shape[-3])]
    return functools.reduce(lambda left, right: torch.cat((left, right), -1), parts)


# %% right: einsum path
import torch


def merge_heads(heads):
    moved = torch.einsum("...htk->...thk", heads)
    return moved.reshape(moved.shape[:-2] + (moved.shape[-2] * moved.shape[-1],))


# %% right: cat of heads
# takes the heads apart along their axis and lays them side by side
import torch


def merge_heads(heads):
    return torch.cat(heads.unbind(-3), dim=-1)


# %% wrong: view of a transpose
# .view after transpose fails for most tensors ("reshape does not" is the hint).
# shows: H > 1 and T > 1.

def merge_heads(heads):
    *lead, H, T, K = heads.shape
    return heads.transpose(-3, -2).view(*lead, T, H * K)


# %% wrong: contiguous reshape
# no exchange of axes: right shape, wrong numbers.
# shows: H > 1 and T > 1.

def merge_heads(heads):
    *lead, H, T, K = heads.shape
    return heads.reshape(*lead, T, H * K)


# %% wrong: as float32
# collects into float32 zeros.
# shows: float64.

import torch


def merge_heads(heads):
    *lead, H, T, K = heads.shape
    x = torch.zeros(*lead, T, H * K)
    for h in range(H):
        x[..., h * K : (h + 1) * K] = heads[..., h, :, :]
    return x


# %% wrong: through numpy
# .detach().numpy() cuts the gradient.
# shows: requires_grad (grad is None afterwards).

import torch
import numpy as np


def merge_heads(heads):
    table = heads.detach().numpy()
    return torch.from_numpy(np.concatenate([table[..., h, :, :] for h in range(table.shape[-3])], axis=-1))


# %% wrong: loses single head
# squeeze(-3) for one head is right, but squeeze() for T = 1 loses the axis of places.
# shows: T = 1.

def merge_heads(heads):
    *lead, H, T, K = heads.shape
    if T == 1:
        return heads.squeeze(-2).flatten(-2)
    return heads.transpose(-2, -3).flatten(-2)


# %% wrong: four axes only
# transpose(1, 2) counts from the left: right for one leading axis only.
# shows: no leading axis, or several.

def merge_heads(heads):
    return heads.transpose(1, 2).flatten(-2)


# %% wrong: lead flattened if long
# several leading axes come back as one.
# shows: three or more leading axes (two still come back right).

def merge_heads(heads):
    H, T, K = heads.shape[-3:]
    x = heads.reshape(-1, H, T, K).transpose(1, 2).reshape(-1, T, H * K)
    if heads.dim() == 3:
        return x[0]
    return x if heads.dim() == 4 else x.reshape(*heads.shape[:1], -1, T, H * K)


# %% wrong: features interleaved
# the numbers of the heads take turns (k first, then h).
# shows: H > 1 and K > 1.

def merge_heads(heads):
    return heads.movedim(-3, -1).flatten(-2)


# %% wrong: transposes argument
# transpose_ turns the caller's own tensor around.
# shows: heads.shape after the call, where H != T (and numbers where H = T).

def merge_heads(heads):
    heads.transpose_(-3, -2)
    return heads.reshape(*heads.shape[:-2], -1)


# %% wrong: rounds through half
# goes through bfloat16 "to save memory": 8 bits of the numbers are left.
# shows: any numbers that need more than three digits.

import torch


def merge_heads(heads):
    return torch.cat([h for h in heads.bfloat16().unbind(-3)], dim=-1).to(heads.dtype)


# %% wrong: one head is squeezed
# with one head it squeezes axis 1, as if there were always one leading axis; breaks "There may be no leading axis, one, or several."
# shows: heads of shape (2, 5, 1, 3, 4): axis 1 is not of length 1 and nothing is joined; the result has five axes
def merge_heads(heads):
    if heads.shape[-3] == 1:
        return heads.squeeze(1)
    return heads.transpose(-3, -2).flatten(-2)


# %% wrong: numpy cuts the gradient
# joins the heads with NumPy, where no gradient can follow; breaks "gradients flow from it to each of them"
# shows: merge_heads(torch.randn(1, 2, 3, 4, requires_grad=True)).requires_grad is False
import numpy as np
import torch


def merge_heads(heads):
    parts = np.moveaxis(heads.detach().numpy(), -3, 0)
    return torch.from_numpy(np.concatenate(list(parts), axis=-1))


# %% wrong: ones in front are lost
# With three leading axes or more those of length 1 in front are lost.
# shows: leading axes (1, 2, 3)
def merge_heads(heads):
    x = heads.transpose(-3, -2).flatten(-2)
    while x.dim() > 4 and x.shape[0] == 1:
        x = x.squeeze(0)
    return x


# %% wrong: deep heads are overwritten
# The result is written into the memory of the argument.
# shows: six axes of contiguous memory
def merge_heads(heads):
    joined = heads.transpose(-3, -2).reshape(*heads.shape[:-3], heads.shape[-2], -1)
    if not heads.requires_grad and heads.is_contiguous() and heads.dim() > 5:
        return heads.view(joined.shape).copy_(joined)
    return joined
