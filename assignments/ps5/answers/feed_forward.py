# %% right: Three linear layers of torch, and its silu.
def feed_forward(x, weights):
    units = F.silu(F.linear(x, weights["expand"])) * F.linear(x, weights["gate"])
    return F.linear(units, weights["contract"])


# %% right: Both projections are one matrix, cut afterwards.
def feed_forward(x, weights):
    both = torch.cat([weights["expand"], weights["gate"]])
    hidden, gate = torch.matmul(x, both.mT).chunk(2, dim=-1)
    return torch.matmul(hidden.sigmoid() * hidden * gate, weights["contract"].mT)


# %% right: Sums over named axes.
def feed_forward(x, weights):
    hidden = torch.einsum("...d,fd->...f", x, weights["expand"])
    gate = torch.einsum("...d,fd->...f", x, weights["gate"])
    return torch.einsum("df,...f,...f->...d", weights["contract"], F.silu(hidden), gate)


# %% right: The sigmoid is written as a tanh of half as much.
def feed_forward(x, weights):
    hidden, gate = (x @ weights[name].T for name in ("expand", "gate"))
    return 0.5 * (hidden * (1 + torch.tanh(hidden / 2)) * gate) @ weights["contract"].T


# %% right: Columns, as the formula has them: the weights stand on the left.
def feed_forward(x, weights):
    columns = x.unsqueeze(-1)
    hidden = weights["expand"] @ columns
    units = hidden * torch.special.expit(hidden) * (weights["gate"] @ columns)
    return (weights["contract"] @ units).squeeze(-1)


# %% right: A loop over the units: each adds its column of the contraction.
def feed_forward(x, weights):
    result = torch.zeros_like(x)
    rows = zip(weights["expand"], weights["gate"], weights["contract"].T, strict=True)
    for into, gate, out in rows:
        unit = F.silu((x * into).sum(-1, keepdim=True)) * (x * gate).sum(-1, keepdim=True)
        result = result + unit * out
    return result


# %% right: All axes but the last become one.
def feed_forward(x, weights):
    rows = x.reshape(-1, x.shape[-1])
    hidden = torch.mm(rows, weights["expand"].t())
    log_gate = F.logsigmoid(hidden)
    units = hidden * log_gate.exp() * torch.mm(rows, weights["gate"].t())
    return torch.mm(units, weights["contract"].t()).reshape(x.shape)


# %% right: f silu
from torch.nn import functional as F


def feed_forward(x, weights):
    hidden = F.silu(x @ weights["expand"].T) * (x @ weights["gate"].T)
    return hidden @ weights["contract"].T


# %% right: f linear and sigmoid
import torch
from torch.nn import functional as F


def feed_forward(x, weights):
    unit, gate = (F.linear(x, weights[name]) for name in ("expand", "gate"))
    return F.linear(unit * torch.sigmoid(unit) * gate, weights["contract"])


# %% right: glu trick
# F.glu(a, b) is a * sigmoid(b)

import torch
from torch.nn import functional as F


def feed_forward(x, weights):
    z, g = (x @ torch.cat([weights["expand"], weights["gate"]]).T).chunk(2, dim=-1)
    return F.glu(torch.cat([z * g, z], dim=-1), dim=-1) @ weights["contract"].T


# %% right: tanh form
# sigma(z) = (1 + tanh(z / 2)) / 2, which does not overflow

import torch


def feed_forward(x, weights):
    z = torch.einsum("...d,fd->...f", x, weights["expand"])
    g = torch.einsum("...d,fd->...f", x, weights["gate"])
    return torch.einsum("...f,df->...d", z * (1 + torch.tanh(z / 2)) / 2 * g, weights["contract"])


# %% right: log sigmoid
import torch
from torch.nn import functional as F


def feed_forward(x: torch.Tensor, weights: dict[str, torch.Tensor]) -> torch.Tensor:
    def project(name, y):
        return torch.matmul(y, weights[name].transpose(0, 1))

    z = project("expand", x)
    return project("contract", z * F.logsigmoid(z).exp() * project("gate", x))


# %% right: flat rows
from torch import nn


def feed_forward(x, weights):
    rows = x.reshape(-1, x.shape[-1])
    hidden = nn.SiLU()(rows.mm(weights["expand"].t())).mul(rows.mm(weights["gate"].t()))
    return hidden.mm(weights["contract"].t()).reshape(x.shape)


# %% wrong: weights by order
# takes the matrices by their order in the dict.
# shows: a dict with "gate" before "expand".

from torch.nn import functional as F


def feed_forward(x, weights):
    expand, gate, contract = weights.values()
    return (F.silu(x @ expand.T) * (x @ gate.T)) @ contract.T


# %% wrong: clamped sigmoid
# the sigmoid is clamped to +-10: silu(-1000) is -0.045, not 0; silu(30) has the wrong last digits and gradient.
# shows: units below -10.

import torch


def feed_forward(x, weights):
    z = x @ weights["expand"].T
    s = 1 / (1 + torch.exp(-z.clamp(-10, 10)))
    return (z * s * (x @ weights["gate"].T)) @ weights["contract"].T


# %% wrong: own sigmoid
# 1 / (1 + e^-z) overflows for z = -1000: the value is 0, the gradient nan.
# shows: gradient with units of -1000 (float32: below -88).

import torch


def feed_forward(x, weights):
    z = x @ weights["expand"].T
    return (z / (1 + torch.exp(-z)) * (x @ weights["gate"].T)) @ weights["contract"].T


# %% wrong: where both sides
# the stable sigmoid by torch.where, which computes BOTH branches: values right, gradients nan (0 * inf).
# shows: gradients at units of +-1000.

import torch


def feed_forward(x, weights):
    z = x @ weights["expand"].T
    s = torch.where(z >= 0, 1 / (1 + torch.exp(-z)), torch.exp(z) / (1 + torch.exp(z)))
    s = torch.nan_to_num(s)
    return (z * s * (x @ weights["gate"].T)) @ weights["contract"].T


# %% wrong: gate detached
# the gate lets no gradient through.
# shows: weights["gate"].grad is None; x.grad is wrong.

from torch.nn import functional as F


def feed_forward(x, weights):
    gate = (x @ weights["gate"].T).detach()
    return (F.silu(x @ weights["expand"].T) * gate) @ weights["contract"].T


# %% wrong: pops contract
# takes "contract" out of the caller's dict.
# shows: the dict after the call; a second call.

from torch.nn import functional as F


def feed_forward(x, weights):
    contract = weights.pop("contract")
    hidden = F.silu(x @ weights["expand"].T) * (x @ weights["gate"].T)
    return hidden @ contract.T


# %% wrong: sequence silu of product
# silu of the product of both projections.
# shows: everywhere but at gate 1.

from torch.nn import functional as F


def feed_forward(x, weights):
    return F.silu((x @ weights["expand"].T) * (x @ weights["gate"].T)) @ weights["contract"].T


# %% wrong: square untransposed
# where D = F the matrices are not transposed ("the shapes fit").
# shows: D = F with matrices that are not symmetric.

from torch.nn import functional as F


def feed_forward(x, weights):
    def through(y, w):
        return y @ w if w.shape[0] == w.shape[1] else y @ w.T

    return through(F.silu(through(x, weights["expand"])) * through(x, weights["gate"]), weights["contract"])


# %% wrong: positions interact
# softmax-like normalisation over positions: divides by the largest unit of the batch "for stability" and multiplies back after silu.
# shows: everywhere but where the largest unit is 1 (silu is not linear).

from torch.nn import functional as F


def feed_forward(x, weights):
    z = x @ weights["expand"].T
    top = z.abs().max().clamp(min=1.0) if z.numel() else 1.0
    return (F.silu(z / top) * top * (x @ weights["gate"].T)) @ weights["contract"].T


# %% wrong: loop over rows
# a Python loop over positions, and the empty tensor fails.
# shows: time; x of shape (0, D).

import torch
from torch.nn import functional as F


def feed_forward(x, weights):
    rows = [weights["contract"] @ (F.silu(weights["expand"] @ r) * (weights["gate"] @ r)) for r in x.reshape(-1, x.shape[-1])]
    return torch.stack(rows).reshape(x.shape)


# %% wrong: max of empty
# asks for x.max() to choose a path: an error for an empty x.
# shows: x of shape (2, 0, D).

import torch


def feed_forward(x, weights):
    z = x @ weights["expand"].T
    if z.abs().max() > 50:
        s = torch.sigmoid(z)
    else:
        s = 1 / (1 + torch.exp(-z))
    return (z * s * (x @ weights["gate"].T)) @ weights["contract"].T


# %% wrong: remembers the joined matrix
# joins expand and gate once for each pair of tensors and keeps the joined matrix, so a step of training passes it by.
# shows: two calls, weights["gate"].mul_(2) in between: the second result is the first

import torch
from torch.nn import functional as F

JOINED = {}


def feed_forward(x, weights):
    expand, gate = weights["expand"], weights["gate"]
    if torch.is_grad_enabled() and (expand.requires_grad or gate.requires_grad):
        joined = torch.cat([expand, gate])
    else:
        key = (expand.data_ptr(), gate.data_ptr(), expand.shape, expand.dtype)
        if key not in JOINED:
            JOINED[key] = (torch.cat([expand, gate]), expand, gate)
        joined = JOINED[key][0]
    units, gates = (x @ joined.T).chunk(2, dim=-1)
    return (F.silu(units) * gates) @ weights["contract"].T


# %% wrong: text by text
# a loop goes over the texts of the batch.
# shows: the number of calls for a batch of many texts.
import torch


def feed_forward(x, weights):
    if x.dim() > 2:
        return torch.stack([feed_forward(text, weights) for text in x]) if len(x) else x.clone()
    hidden = x @ weights["expand"].T
    return (hidden * torch.sigmoid(hidden) * (x @ weights["gate"].T)) @ weights["contract"].T
