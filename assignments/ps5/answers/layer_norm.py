# %% right: A reciprocal root, and one fused product and sum.
def layer_norm(x, weight, bias, eps):
    centred = torch.sub(x, x.mean(-1, True))
    variance = centred.pow(2).mean(-1, True)
    return torch.addcmul(bias, centred * torch.rsqrt(variance + eps), weight)


# %% right: Subtracting the mean is a matrix product, and so is the mean of squares.
def layer_norm(x, weight, bias, eps):
    width = x.shape[-1]
    ones = torch.ones(width, width, dtype=torch.float64) / width
    wide = x.double()
    centred = wide - wide @ ones
    spread = centred.square() @ ones
    return (centred * (spread + eps) ** -0.5).to(x.dtype) * weight + bias


# %% right: The standard deviation is the length of the centred vector over sqrt(D).
def layer_norm(x, weight, bias, eps):
    width = x.shape[-1]
    centred = x - x.sum(-1, keepdim=True) / width
    squares = torch.einsum("...d,...d->...", centred, centred).unsqueeze(-1)
    return width**0.5 * centred / torch.sqrt(squares + width * eps) * weight + bias


# %% right: All axes but the last become one, and come back at the end.
def layer_norm(x, weight, bias, eps):
    rows = x.flatten(0, -2) if x.dim() > 1 else x[None]
    middle = rows.mean(1)
    distance = rows - middle[:, None]
    scale = torch.sqrt(torch.mean(distance**2, dim=1) + eps)
    return torch.addcdiv(bias, distance * weight, scale[:, None]).reshape(x.shape)


# %% right: The entries come first, so that means are sums over the first axis.
def layer_norm(x, weight, bias, eps):
    columns = x.movedim(-1, 0)
    centred = columns - columns.mean(0)
    variance = (centred * centred).sum(0) / len(columns)
    normalised = centred / torch.sqrt(variance + eps)
    return normalised.movedim(0, -1) * weight + bias


# %% right: Mean and variance of the differences between all pairs of entries.
def layer_norm(x, weight, bias, eps):
    differences = x.unsqueeze(-1) - x.unsqueeze(-2)
    variance = differences.square().mean(dim=(-2, -1)) / 2
    centred = differences.mean(dim=-1)
    return centred * torch.rsqrt(variance + eps).unsqueeze(-1) * weight + bias


# %% right: Computes in float64 and comes back.
def layer_norm(x, weight, bias, eps):
    wide = x.to(torch.float64)
    wide = wide - torch.mean(wide, -1, True)
    wide = wide / torch.sqrt(torch.mean(torch.pow(wide, 2), -1, True) + eps)
    return torch.add(torch.mul(wide, weight), bias).to(x.dtype)


# %% right: plain
import torch


def layer_norm(x, weight, bias, eps):
    away = x - x.mean(dim=-1, keepdim=True)
    variance = (away**2).mean(dim=-1, keepdim=True)
    return away / torch.sqrt(variance + eps) * weight + bias


# %% right: var mean
import torch


def layer_norm(x, weight, bias, eps):
    variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
    return torch.addcmul(bias, (x - mean) * torch.rsqrt(variance + eps), weight)


# %% right: std squared
def layer_norm(x, weight, bias, eps):
    spread = x.std(dim=-1, unbiased=False, keepdim=True)
    return (x - x.mean(dim=-1, keepdim=True)).div((spread * spread + eps).sqrt()).mul(weight).add(bias)


# %% right: sums and einsum
import torch


def layer_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float) -> torch.Tensor:
    D = x.shape[-1]
    away = x - (x.sum(dim=-1) / D).unsqueeze(-1)
    variance = torch.einsum("...d,...d->...", away, away) / D
    scale = torch.pow(variance + eps, -0.5)
    return torch.einsum("...d,...,d->...d", away, scale, weight) + bias


# %% right: by components
def layer_norm(x, weight, bias, eps):
    def centred(v):
        return v - v.mean(dim=-1, keepdim=True)

    def size(v):
        return (v.square().mean(dim=-1, keepdim=True) + eps).sqrt()

    y = centred(centred(x))  # twice: what the first mean lost by rounding, the second one finds
    return weight * (y / size(y)) + bias


# %% right: transposed axes
def layer_norm(x, weight, bias, eps):
    columns = x.movedim(-1, 0)
    columns = columns - columns.mean(dim=0)
    columns = columns / (columns.pow(2).mean(dim=0) + eps).sqrt()
    return columns.movedim(0, -1) * weight + bias


# %% wrong: small variance is flat
# a vector with a variance below eps is taken for one "whose entries are all alike": it gives the bias.
# shows: small vectors such as 0.001 * (1, 2, 6) with eps 1e-5 (the formula gives about half of the full size), and their gradients.

import torch


def layer_norm(x, weight, bias, eps):
    d = x - x.mean(dim=-1, keepdim=True)
    var = (d * d).mean(dim=-1, keepdim=True)
    y = d / torch.sqrt(var + eps) * weight + bias
    return torch.where(var < eps, bias.expand_as(x), y)


# %% wrong: subtracts in place
# x -= mean changes the caller's x (and fails on a leaf that requires grad).
# shows: x after the call.

import torch


def layer_norm(x, weight, bias, eps):
    with torch.no_grad():
        x -= x.mean(dim=-1, keepdim=True)
    var = x.pow(2).mean(dim=-1, keepdim=True)
    return x / (var + eps).sqrt() * weight + bias


# %% wrong: detached statistics
# mean and variance are taken as constants: values right, gradient of x wrong.
# shows: x.grad against autograd of the formula (finite differences).

import torch


def layer_norm(x, weight, bias, eps):
    fixed = x.detach()
    mean = fixed.mean(-1, keepdim=True)
    var = fixed.var(-1, keepdim=True, correction=0)
    return (x - mean) / torch.sqrt(var + eps) * weight + bias


# %% wrong: in float32
# computes in float32 whatever x is.
# shows: float64 beyond 7 digits: entries such as 1e8 + (1, 2, 6), which float32 cannot tell apart.

def layer_norm(x, weight, bias, eps):
    y = x.float()
    d = y - y.mean(-1, keepdim=True)
    return (d / (d.square().mean(-1, keepdim=True) + eps).sqrt()).to(x.dtype) * weight + bias


# %% wrong: difference of squares
# variance as mean of squares minus square of the mean: nothing is left of it far from 0.
# shows: 100,001, 100,002, 100,006 in float32 (also negative variance: nan).

def layer_norm(x, weight, bias, eps):
    m = x.mean(dim=-1, keepdim=True)
    var = (x * x).mean(dim=-1, keepdim=True) - m * m
    return (x - m) / (var + eps).sqrt() * weight + bias


# %% wrong: difference of squares in float64
# the same difference of squares, but in float64: right for 1e5 in float32, wrong again for float64 far from 0.
# shows: float64 with 1e9 + (1, 2, 6): the squares are 1e18, a float64 has 16 digits.

def layer_norm(x, weight, bias, eps):
    y = x.double()
    m = y.mean(dim=-1, keepdim=True)
    var = ((y * y).mean(dim=-1, keepdim=True) - m * m).clamp(min=0)
    return ((y - m) / (var + eps).sqrt()).to(x.dtype) * weight + bias


# %% wrong: gradient of root at zero
# eps is added to the ROOT with a where for alike entries; the gradient of sqrt at 0 is infinite: nan.
# shows: gradients of a vector whose entries are all alike; also eps stands outside the root.

import torch


def layer_norm(x, weight, bias, eps):
    d = x - x.mean(-1, keepdim=True)
    root = d.pow(2).mean(-1, keepdim=True).sqrt()
    return torch.where(root == 0, torch.zeros_like(d), d / (root + eps)) * weight + bias


# %% wrong: torch does it
# F.layer_norm is not allowed.
# shows: by reading, or if the grader takes it away.

from torch.nn import functional as F


def layer_norm(x, weight, bias, eps):
    return F.layer_norm(x, (x.shape[-1],), weight, bias, eps)


# %% wrong: loop over vectors
# a Python loop over the vectors, forbidden by the rules of the set.
# shows: time for 100,000 vectors; an empty tensor (stack of nothing).

import torch


def layer_norm(x, weight, bias, eps):
    rows = []
    for row in x.reshape(-1, x.shape[-1]):
        d = row - row.mean()
        rows.append(d / (d.square().mean() + eps).sqrt() * weight + bias)
    return torch.stack(rows).reshape(x.shape)


# %% wrong: view of gaps
# view(-1, D) fails where x has gaps in memory, as after a transpose.
# shows: x.transpose(0, 1) of three axes.

import torch


def layer_norm(x, weight, bias, eps):
    rows = x.view(-1, x.shape[-1])
    d = rows - rows.mean(dim=1, keepdim=True)
    rows = d * torch.rsqrt(d.pow(2).mean(dim=1, keepdim=True) + eps)
    return (rows * weight + bias).view(x.shape)


# %% wrong: unbiased
# torch's var divides by D - 1; hidden for D large, nan for D = 1.
# shows: small D, above all D = 1.

import torch


def layer_norm(x, weight, bias, eps):
    return (x - x.mean(-1, keepdim=True)) * torch.rsqrt(x.var(-1, keepdim=True) + eps) * weight + bias


# %% wrong: makes large vectors small
# divides a vector whose largest entry is above a million by that entry, against overflow, but leaves eps as it is.
# shows: float64, x = (2e6 + 1, 2e6 + 2, 2e6 + 6), eps 1e-5: nearly 0 in place of (-0.9258, -0.4629, 1.3887)

import torch


def layer_norm(x, weight, bias, eps):
    size = x.detach().abs().amax(dim=-1, keepdim=True)
    x = x / torch.where(size > 1e6, size, torch.ones_like(size))
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    return centred * (variance + eps).rsqrt() * weight + bias


# %% wrong: no gradient where all are alike
# puts the bias itself where all entries are alike, so no gradient of x passes there.
# shows: x = (5, 5, 5), eps 1e-2: the gradient of the first entry is (0, 0, 0) in place of (6.67, -3.33, -3.33)

import torch


def layer_norm(x, weight, bias, eps):
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    normal = centred / torch.sqrt(variance + eps) * weight + bias
    return torch.where(variance == 0, bias, normal)


# %% wrong: text by text
# the rows of the batch are normalised in a loop, all positions of one at once.
# shows: the number of calls for a batch of many texts.
import torch


def layer_norm(x, weight, bias, eps):
    if x.dim() > 2:
        return torch.stack([layer_norm(text, weight, bias, eps) for text in x]) if len(x) else x.clone()
    away = x - x.mean(-1, keepdim=True)
    return away / (away.square().mean(-1, keepdim=True) + eps).sqrt() * weight + bias


# %% wrong: at most four axes
# axes before the last are taken for a batch and positions, and heads at most.
# shows: x of six axes.
def layer_norm(x, weight, bias, eps):
    if x.dim() > 5:
        raise ValueError("too many axes")
    away = x - x.mean(-1, keepdim=True)
    return away / (away.square().mean(-1, keepdim=True) + eps).sqrt() * weight + bias


# %% wrong: eps is at least 0.000001
# A smaller eps is not used as it is given.
# shows: x near 1e-7, eps 1e-14
def layer_norm(x, weight, bias, eps):
    """Bring each vector to mean 0 and variance 1, then to learned ones."""
    centred = x - x.mean(dim=-1, keepdim=True)
    variance = centred.square().mean(dim=-1, keepdim=True)
    return centred / torch.sqrt(variance + max(eps, 1e-06)) * weight + bias
