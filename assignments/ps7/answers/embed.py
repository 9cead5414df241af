# %% right: Uses torch's functions for both steps.
def embed(ids, segments, weights):
    sides = torch.zeros_like(ids) if segments is None else segments
    x = F.embedding(ids, weights["token"]) + F.embedding(sides, weights["segment"])
    x = x + weights["position"][: ids.shape[1]].unsqueeze(0)
    norm = weights["norm_weight"], weights["norm_bias"]
    return F.layer_norm(x, (x.shape[-1],), *norm, eps=1e-12)


# %% right: A look-up is a product with a row of zeros and a one.
def embed(ids, segments, weights):
    table = weights["token"]
    hot = F.one_hot(ids, table.shape[0]).to(table.dtype)
    sides = ids * 0 if segments is None else segments
    pair = F.one_hot(sides, 2).to(table.dtype)
    x = hot @ table + pair @ weights["segment"] + weights["position"].narrow(0, 0, ids.shape[1])
    x = x - x.mean(dim=-1, keepdim=True)
    x = x / (x.square().mean(dim=-1, keepdim=True) + 1e-12).sqrt()
    return x * weights["norm_weight"] + weights["norm_bias"]


# %% right: Looks up one long row and folds it again.
def embed(ids, segments, weights):
    B, T = ids.shape
    flat = weights["token"].index_select(0, ids.reshape(-1))
    places = torch.arange(T).repeat(B)
    flat = flat + weights["position"].index_select(0, places)
    if segments is None:
        flat = flat + weights["segment"][0]
    else:
        flat = flat + weights["segment"].index_select(0, segments.reshape(-1))
    x = flat.reshape(B, T, -1)
    return F.layer_norm(x, x.shape[2:], weights["norm_weight"], weights["norm_bias"], 1e-12)


# %% right: Adds the difference of the two segments where the second stands.
def embed(ids, segments, weights):
    first, second = weights["segment"]
    x = weights["token"][ids] + weights["position"][torch.arange(ids.shape[1])] + first
    if segments is not None:
        x = x + segments.unsqueeze(-1) * (second - first)
    return F.layer_norm(x, first.shape, weights["norm_weight"], weights["norm_bias"], 1e-12)


# %% right: Puts the weights into torch's modules, without making new parameters of them.
from torch.func import functional_call


def embed(ids, segments, weights):
    D = weights["token"].shape[1]
    norm = torch.nn.LayerNorm(D, eps=1e-12, dtype=weights["token"].dtype)
    sides = ids.new_zeros(ids.shape) if segments is None else segments
    x = weights["token"][ids]
    x = x + weights["segment"][sides] + weights["position"][None, : ids.size(1)]
    own = {"weight": weights["norm_weight"], "bias": weights["norm_bias"]}
    return functional_call(norm, own, (x,))


# %% right: Joins the three tables into one, and looks up three rows for each position.
def embed(ids, segments, weights):
    V, T = weights["token"].shape[0], ids.shape[1]
    table = torch.cat([weights["token"], weights["segment"], weights["position"][:T]])
    sides = torch.zeros_like(ids) if segments is None else segments
    places = torch.arange(T).expand_as(ids)
    x = table[torch.stack([ids, sides + V, places + V + 2])].sum(dim=0)
    return F.layer_norm(x, x.shape[-1:], weights["norm_weight"], weights["norm_bias"], 1e-12)


# %% right: index
# indexing and F.layer_norm.

from torch.nn import functional as F


def embed(ids, segments, weights):
    x = weights["token"][ids] + weights["position"][: ids.shape[1]]
    x = x + (weights["segment"][0] if segments is None else weights["segment"][segments])
    return F.layer_norm(x, x.shape[-1:], weights["norm_weight"], weights["norm_bias"], 1e-12)


# %% right: by hand
# F.embedding, LayerNorm by hand.

import torch
from torch.nn import functional as F


def embed(ids, segments, weights):
    segments = torch.zeros_like(ids) if segments is None else segments
    places = torch.arange(ids.shape[1]).unsqueeze(0)
    x = sum(
        F.embedding(which, weights[name])
        for which, name in ((ids, "token"), (places, "position"), (segments, "segment"))
    )
    x = x - x.mean(dim=-1, keepdim=True)
    scale = torch.rsqrt(x.square().mean(dim=-1, keepdim=True) + 1e-12)
    return x * scale * weights["norm_weight"] + weights["norm_bias"]


# %% right: one hot
# one-hot rows times tables.

from torch.nn import functional as F


def embed(ids, segments, weights):
    token, side = weights["token"], weights["segment"]
    x = F.one_hot(ids, token.shape[0]).to(token.dtype) @ token
    x = x + weights["position"].narrow(0, 0, ids.shape[1])
    s = (ids * 0 if segments is None else segments).unsqueeze(-1)
    x = x + (1 - s) * side[0] + s * side[1]
    return F.layer_norm(x, [x.shape[-1]], weight=weights["norm_weight"], bias=weights["norm_bias"], eps=1e-12)


# %% right: module
# var_mean, where for the sides, gather for the tokens.

import torch


def embed(ids, segments, weights):
    table = weights["token"]
    flat = ids.reshape(-1, 1).expand(-1, table.shape[1])
    x = table.gather(0, flat).reshape(*ids.shape, -1)
    zero, one = weights["segment"].unbind(0)
    side = zero if segments is None else torch.where(segments.unsqueeze(-1) == 1, one, zero)
    x = x + side + weights["position"][torch.arange(ids.size(1))]
    variance, mean = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
    return torch.addcmul(weights["norm_bias"], (x - mean) / torch.sqrt(variance + 1e-12), weights["norm_weight"])


# %% wrong: padding row
# row 0 of the tokens counts as padding and gets no gradient.
# shows: gradient of weights["token"][0], with id 0 in the text.

import torch
from torch.nn import functional as F


def embed(ids, segments, weights):
    if segments is None:
        segments = torch.zeros_like(ids)
    x = F.embedding(ids, weights["token"], padding_idx=0) + weights["position"][: ids.shape[1]]
    x = x + weights["segment"][segments]
    return F.layer_norm(x, x.shape[-1:], weights["norm_weight"], weights["norm_bias"], 1e-12)


# %% wrong: gradient by frequency
# the gradient of an id is divided by how often it occurs.
# shows: ids [[4, 4, 4]], the gradient of row 4.

import torch
from torch.nn import functional as F


def embed(ids, segments, weights):
    if segments is None:
        segments = torch.zeros_like(ids)
    x = F.embedding(ids, weights["token"], scale_grad_by_freq=True)
    x = x + weights["position"][: ids.shape[1]] + weights["segment"][segments]
    return F.layer_norm(x, x.shape[-1:], weights["norm_weight"], weights["norm_bias"], 1e-12)


# %% wrong: in float32
# normalises in float32 and casts back.
# shows: float64 weights: 7 digits only.

import torch
from torch.nn import functional as F


def embed(ids, segments, weights):
    if segments is None:
        segments = torch.zeros_like(ids)
    x = weights["token"][ids] + weights["position"][: ids.shape[1]] + weights["segment"][segments]
    y = F.layer_norm(x.float(), x.shape[-1:], eps=1e-12).to(x.dtype)
    return y * weights["norm_weight"] + weights["norm_bias"]


# %% wrong: statistics without gradient
# mean and variance are computed without gradients.
# shows: the gradient of weights["token"] (each entry's gradient leaves out what it does to the mean).

import torch


def embed(ids, segments, weights):
    x = weights["token"][ids] + weights["position"][: ids.shape[1]]
    x = x + (weights["segment"][0] if segments is None else weights["segment"][segments])
    with torch.no_grad():
        mean, variance = x.mean(-1, keepdim=True), x.var(-1, keepdim=True, correction=0)
    return (x - mean) / (variance + 1e-12).sqrt() * weights["norm_weight"] + weights["norm_bias"]


# %% wrong: eps outside the root
# eps is added to the root, not under it.
# shows: weights scaled by 1e-6: 1.0 instead of about 0.7 for the normalised entries.


def embed(ids, segments, weights):
    x = weights["token"][ids] + weights["position"][: ids.shape[1]]
    x = x + (weights["segment"][0] if segments is None else weights["segment"][segments])
    x = x - x.mean(-1, keepdim=True)
    x = x / (x.square().mean(-1, keepdim=True).sqrt() + 1e-12)
    return x * weights["norm_weight"] + weights["norm_bias"]


# %% wrong: difference of squares
# the variance as the mean of squares minus the square of the mean: it loses its digits if the mean is large.
# shows: float32, all token rows plus 10,000: nan or far off.


def embed(ids, segments, weights):
    x = weights["token"][ids] + weights["position"][: ids.shape[1]]
    x = x + (weights["segment"][0] if segments is None else weights["segment"][segments])
    mean = x.mean(-1, keepdim=True)
    variance = (x * x).mean(-1, keepdim=True) - mean * mean
    return (x - mean) / (variance + 1e-12).sqrt() * weights["norm_weight"] + weights["norm_bias"]


# %% wrong: flattens with view
# flattens ids with `view`, which cannot deal with gaps in memory.
# shows: ids = x.T of a (3, 2) tensor: RuntimeError.

from torch.nn import functional as F


def embed(ids, segments, weights):
    rows = weights["token"].index_select(0, ids.view(-1))
    x = rows.view(*ids.shape, -1) + weights["position"][: ids.shape[1]]
    x = x + (weights["segment"][0] if segments is None else weights["segment"][segments])
    return F.layer_norm(x, x.shape[-1:], weights["norm_weight"], weights["norm_bias"], 1e-12)


# %% wrong: usual eps
# the usual eps, 1e-5.
# shows: small vectors.

from torch.nn import functional as F


def embed(ids, segments, weights):
    x = weights["token"][ids] + weights["position"][: ids.shape[1]]
    x = x + (weights["segment"][0] if segments is None else weights["segment"][segments])
    return F.layer_norm(x, x.shape[-1:], weights["norm_weight"], weights["norm_bias"])


# %% wrong: second text starts again
# the positions of the second text begin at 0 again.
# shows: segments (0, 1, 1).

import torch
from torch.nn import functional as F


def embed(ids, segments, weights):
    segments = torch.zeros_like(ids) if segments is None else segments
    places = torch.arange(ids.shape[1]).expand(ids.shape)
    places = places - segments * (1 - segments).sum(dim=1, keepdim=True)
    x = weights["token"][ids] + weights["position"][places] + weights["segment"][segments]
    return F.layer_norm(x, x.shape[-1:], weights["norm_weight"], weights["norm_bias"], 1e-12)


# %% wrong: loop over positions
# a loop over the positions, which the rules forbid (the result is right).
# shows: the source.

import torch
from torch.nn import functional as F


def embed(ids, segments, weights):
    segments = torch.zeros_like(ids) if segments is None else segments
    columns = []
    for t in range(ids.shape[1]):
        x = weights["token"][ids[:, t]] + weights["position"][t] + weights["segment"][segments[:, t]]
        columns.append(F.layer_norm(x, x.shape[-1:], weights["norm_weight"], weights["norm_bias"], 1e-12))
    return torch.stack(columns, dim=1)


# %% wrong: segments from the first row
# where the second text begins is taken from the first row alone.
# shows: two rows whose second texts begin at different positions (the second row).

import torch
from torch.nn import functional as F


def embed(ids, segments, weights):
    x = weights["token"][ids] + weights["position"][: ids.shape[1]]
    sides = torch.zeros(ids.shape[1], dtype=torch.int64) if segments is None else segments[0]
    x = x + weights["segment"][sides]
    return F.layer_norm(x, x.shape[-1:], weights["norm_weight"], weights["norm_bias"], 1e-12)


# %% wrong: no gradient at the segments without them
# without segments their row is taken as a constant.
# shows: segments None: no gradient reaches weights["segment"].

from torch.nn import functional as F


def embed(ids, segments, weights):
    x = weights["token"][ids] + weights["position"][: ids.shape[1]]
    if segments is None:
        x = x + weights["segment"][0].detach()
    else:
        x = x + weights["segment"][segments]
    return F.layer_norm(x, x.shape[-1:], weights["norm_weight"], weights["norm_bias"], 1e-12)
