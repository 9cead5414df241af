# %% right: Writes both paths as products.
def lora_layer(x, weight, bias, down, up, alpha):
    y = x @ weight.detach().T
    if bias is not None:
        y = y + bias.detach()
    return y + (x @ down.T) @ up.T * (alpha / len(down))


# %% right: Scales x's way into the thin path.
def lora_layer(x, weight, bias, down, up, alpha):
    scale = alpha / up.shape[1]
    thin = torch.matmul(torch.matmul(scale * x, down.mT), up.mT)
    frozen = torch.matmul(x, weight.detach().mT)
    return frozen + thin if bias is None else frozen + bias.detach() + thin


# %% right: Lays all vectors one below the other.
def lora_layer(x, weight, bias, down, up, alpha):
    flat = x.reshape(-1, x.shape[-1])
    thin = flat.mm(down.t()).mm(up.t()).mul(alpha / down.size(0))
    y = flat.mm(weight.detach().t()) + thin
    if bias is not None:
        y = y + bias.detach().unsqueeze(0)
    return y.reshape(*x.shape[:-1], weight.shape[0])


# %% right: Scales what the thin layer's middle holds.
def lora_layer(x, weight, bias, down, up, alpha):
    middle = nn.functional.linear(x, down) * alpha / down.shape[0]
    constant = bias.detach() if bias is not None else None
    return nn.functional.linear(middle, up).add(nn.functional.linear(x, weight.detach(), constant))


# %% right: Names the axes.
def lora_layer(x, weight, bias, down, up, alpha):
    rank = down.shape[0]
    middle = torch.einsum("...i,ri->...r", x, down)
    thin = torch.einsum("...r,or->...o", middle, up)
    y = F.linear(x, weight.detach()) + thin * (alpha / rank)
    return y if bias is None else y + bias.detach()


# %% right: Takes a bias of 0 where there is none.
def lora_layer(x, weight, bias, down, up, alpha):
    bias = weight.new_zeros(weight.shape[0]) if bias is None else bias
    frozen = F.linear(x, weight.detach(), bias.detach())
    return torch.add(frozen, F.linear(F.linear(x, down), up), alpha=alpha / up.shape[-1])


# %% right: linear
# three F.linear, the frozen ones detached.

from torch.nn import functional as F


def lora_layer(x, weight, bias, down, up, alpha):
    frozen = F.linear(x, weight.detach(), None if bias is None else bias.detach())
    return frozen + alpha / down.shape[0] * F.linear(F.linear(x, down), up)


# %% right: matmul
# matrix products with views, scale in the middle.


def lora_layer(x, weight, bias, down, up, alpha):
    scale = alpha / up.shape[1]
    y = x @ weight.detach().T
    y = y + scale * (x @ down.T) @ up.T
    if bias is not None:
        y = y + bias.detach()
    return y


# %% right: einsum
# einsum, the scale last.

import torch


def lora_layer(x, weight, bias, down, up, alpha):
    rank, _ = down.shape
    thin = torch.einsum("...i,ri->...r", x, down)
    y = torch.einsum("...r,or->...o", thin, up) * (alpha / rank)
    y = y + torch.einsum("...i,oi->...o", x, weight.detach())
    return y if bias is None else y + bias.detach()


# %% right: addmm
# flat rows, addmm with a factor, shape restored.

import torch


def lora_layer(x, weight, bias, down, up, alpha):
    flat = x.reshape(-1, x.shape[-1])
    y = flat @ weight.detach().t()
    if bias is not None:
        y = y + bias.detach()
    y = torch.addmm(y, flat @ down.t(), up.t(), alpha=alpha / len(down))
    return y.reshape(*x.shape[:-1], len(weight))


# %% right: tensordot
# tensordot; scales the small vectors before they go up.

import torch


def lora_layer(x, weight, bias, down, up, alpha):
    with torch.no_grad():
        W = weight.view_as(weight)
    thin = torch.tensordot(x, down, dims=([-1], [1])) * alpha / down.size(0)
    y = torch.tensordot(x, W.detach(), dims=([-1], [1])) + torch.tensordot(thin, up, ([-1], [1]))
    if bias is None:
        return y
    return y + bias.data


# %% wrong: merges
# makes the whole product and adds it to the matrix, which the contract forbids.
# shows: the source; memory for large I and O.

from torch.nn import functional as F


def lora_layer(x, weight, bias, down, up, alpha):
    merged = weight.detach() + alpha / down.shape[0] * up @ down
    return F.linear(x, merged, None if bias is None else bias.detach())


# %% wrong: product first
# the frozen path is apart, but up @ down is made.
# shows: the source; memory for large I and O.

from torch.nn import functional as F


def lora_layer(x, weight, bias, down, up, alpha):
    y = F.linear(x, weight.detach(), None if bias is None else bias.detach())
    return y + F.linear(x, up @ down) * (alpha / len(down))


# %% wrong: copies the weight
# clone makes a new matrix of the size of weight.
# shows: memory for large I and O.

from torch.nn import functional as F


def lora_layer(x, weight, bias, down, up, alpha):
    frozen_weight = weight.clone().detach()
    frozen_bias = None if bias is None else bias.clone().detach()
    y = F.linear(x, frozen_weight, frozen_bias)
    return y + F.linear(F.linear(x, down), up) * (alpha / len(down))


# %% wrong: flattens with view
# view, which cannot deal with gaps in memory.
# shows: x = big[:, ::2] with three axes: RuntimeError.

from torch.nn import functional as F


def lora_layer(x, weight, bias, down, up, alpha):
    flat = x.view(-1, x.shape[-1])
    y = F.linear(flat, weight.detach(), None if bias is None else bias.detach())
    y = y + flat @ down.T @ up.T * (alpha / down.shape[0])
    return y.view(*x.shape[:-1], -1) if y.numel() else y.new_zeros(*x.shape[:-1], len(weight))


# %% wrong: one or three axes
# knows one axis and three.
# shows: x of shape (2, 5) or (2, 3, 4, 5): ValueError of einsum.

import torch


def lora_layer(x, weight, bias, down, up, alpha):
    weight = weight.detach()
    if x.dim() == 1:
        y = weight @ x + alpha / len(down) * (up @ (down @ x))
    else:
        thin = torch.einsum("bti,ri->btr", x, down)
        thin = torch.einsum("btr,or->bto", thin, up)
        y = torch.einsum("bti,oi->bto", x, weight) + alpha / len(down) * thin
    return y if bias is None else y + bias.detach()


# %% wrong: switches the arguments off
# freezes by requires_grad_(False) on the caller's tensors.
# shows: weight.requires_grad is False after the call (and a weight that is no leaf raises a RuntimeError).

from torch.nn import functional as F


def lora_layer(x, weight, bias, down, up, alpha):
    weight.requires_grad_(False)
    if bias is not None:
        bias.requires_grad_(False)
    return F.linear(x, weight, bias) + alpha / len(down) * F.linear(F.linear(x, down), up)


# %% wrong: shortcut for zero
# leaves the thin path out while up is 0: then up never gets a gradient, and LoRA never learns.
# shows: up = 0 with requires_grad, backward: up.grad is None.

from torch.nn import functional as F


def lora_layer(x, weight, bias, down, up, alpha):
    y = F.linear(x, weight.detach(), None if bias is None else bias.detach())
    if not up.any():
        return y
    return y + alpha / len(down) * F.linear(F.linear(x, down), up)


# %% wrong: alpha zero is default
# alpha 0 is taken for "not given".
# shows: alpha 0.0: the thin path counts once instead of not at all.

from torch.nn import functional as F


def lora_layer(x, weight, bias, down, up, alpha):
    rank = down.shape[0]
    alpha = alpha or rank
    y = F.linear(x, weight.detach(), bias.detach() if bias is not None else None)
    return y + alpha / rank * F.linear(F.linear(x, down), up)


# %% wrong: thin path in float32
# computes the thin path in float32.
# shows: float64: right to 7 digits only.

from torch.nn import functional as F


def lora_layer(x, weight, bias, down, up, alpha):
    y = F.linear(x, weight.detach(), bias.detach() if bias is not None else None)
    thin = F.linear(F.linear(x.float(), down.float()), up.float())
    return y + (alpha / len(down) * thin).to(x.dtype)


# %% wrong: scale in the default dtype
# the scale is a tensor of torch's default dtype, so a float32 number.
# shows: float64 and alpha 0.1: right to 8 digits only.

import torch
from torch.nn import functional as F


def lora_layer(x, weight, bias, down, up, alpha):
    scale = torch.tensor(alpha / len(down))
    y = F.linear(x, weight.detach(), bias.detach() if bias is not None else None)
    return y + scale * F.linear(F.linear(x, down), up)


# %% wrong: frozen path without x
# no_grad for the frozen path, so x gets no gradient through it.
# shows: the gradient of x.

import torch
from torch.nn import functional as F


def lora_layer(x, weight, bias, down, up, alpha):
    with torch.no_grad():
        y = F.linear(x, weight, bias)
    return y + alpha / len(down) * F.linear(F.linear(x, down), up)


# %% wrong: shortcut for alpha
# ambiguous: with alpha 0 the gradients of down and up are 0 by the formula; here there are none ("Gradients flow to x, down and up").
# leaves the thin path out if alpha is 0.
# shows: alpha 0.0, only down and up ask for gradients: backward raises, or the gradients are None.

from torch.nn import functional as F


def lora_layer(x, weight, bias, down, up, alpha):
    y = F.linear(x, weight.detach(), bias.detach() if bias is not None else None)
    if alpha == 0:
        return y
    return y + alpha / len(down) * F.linear(F.linear(x, down), up)


# %% wrong: rank is the smaller side
# takes the smaller side of `down` for the rank, though R may be larger than I.
# shows: I = 1, R = 3: the scale is alpha in place of alpha / 3

from torch.nn import functional as F


def lora_layer(x, weight, bias, down, up, alpha):
    rank = min(down.shape)
    frozen = F.linear(x, weight.detach(), bias if bias is None else bias.detach())
    return frozen + F.linear(F.linear(x, down), up) * (alpha / rank)


# %% wrong: at most one empty axis
# Two axes of length 0 are refused.
# shows: x of shape (0, 0, 3)
def lora_layer(x, weight, bias, down, up, alpha):
    """Apply a frozen linear layer and a thin one beside it."""
    assert list(x.shape).count(0) < 2
    frozen = F.linear(x, weight.detach(), None if bias is None else bias.detach())
    thin = F.linear(F.linear(x, down), up)
    return frozen + alpha / len(down) * thin


# %% wrong: a whole number for a scale
# where alpha is at least the rank, the scale is rounded down.
# shows: alpha 7 and rank 2: the scale is 3.5, not 3
def lora_layer(x, weight, bias, down, up, alpha):
    rank = down.shape[0]
    scale = alpha // rank if alpha >= rank else alpha / rank
    frozen = F.linear(x, weight.detach(), None if bias is None else bias.detach())
    return frozen + scale * ((x @ down.T) @ up.T)
