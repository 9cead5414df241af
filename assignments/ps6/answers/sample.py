# %% right: A binary search in each row.
def sample(probs, uniforms):
    sums = probs.to(torch.float64).cumsum(-1)
    place = torch.searchsorted(sums, uniforms[:, None].contiguous(), right=True)[:, 0]
    last = probs.shape[-1] - 1 - (probs.flip(-1) > 0).int().argmax(-1) if len(probs) else place
    return place.clamp(max=last)


# %% right: The first place at which the sum is above u; the last sum is made larger than any u.
def sample(probs, uniforms):
    sums = torch.cumsum(probs, dim=-1, dtype=torch.float64)
    V = probs.shape[-1]
    ids = torch.arange(V).expand(len(probs), V)
    last = ids.where(probs > 0, -1).amax(-1, keepdim=True)
    hit = (sums > uniforms.unsqueeze(1)) | (ids >= last)
    return ids.where(hit, V).amin(-1)


# %% right: Sums by a product with a triangle of ones.
def sample(probs, uniforms):
    V = probs.shape[-1]
    if V > 100:
        sums = probs.double().cumsum(1)
    else:
        sums = torch.einsum("bv,vw->bw", probs.double(), torch.ones(V, V).double().triu())
    is_left = torch.le(sums, uniforms.reshape(-1, 1))
    ids = torch.arange(V) * (probs > 0).long()
    return torch.minimum(is_left.long().sum(1), ids.max(1).values) if len(ids) else ids[:, 0]


# %% right: NumPy counts, and torch takes over.
import numpy as np


def sample(probs, uniforms):
    array = probs.numpy().astype(np.float64)
    left = (np.cumsum(array, axis=1) <= uniforms.numpy()[:, None]).sum(axis=1)
    last = (np.arange(array.shape[1]) * (array > 0)).max(axis=1, initial=0)
    return torch.from_numpy(np.minimum(left, last))


# %% right: The change from "not above u" to "above u" marks the place.
def sample(probs, uniforms):
    sums = probs.double().cumsum(dim=-1)
    last = (probs > 0).long().cumsum(dim=-1).argmax(dim=-1) if len(probs) else uniforms.long()
    above = (sums > uniforms[:, None]).long()
    above[torch.arange(len(probs)), last] = 1
    return above.cummax(dim=-1).values.argmax(dim=-1) if len(probs) else last


# %% right: The sums from the last id above 0 on are above any number.
def sample(probs, uniforms):
    sums = probs.double().cumsum(dim=-1)
    is_last_or_later = (probs > 0).flip(-1).cumsum(dim=-1).flip(-1) <= (probs > 0).long()
    sums = torch.where(is_last_or_later, math.inf, sums)
    return torch.sum(sums <= uniforms.unsqueeze(-1), dim=-1)


# %% right: count
# counts the sums at most u; the last id above 0 is the limit.

import torch


def sample(probs, uniforms):
    found = (probs.double().cumsum(dim=1) <= uniforms[:, None]).sum(dim=1)
    last = torch.where(probs > 0, torch.arange(probs.shape[1]), 0).amax(dim=1)
    return torch.minimum(found, last)


# %% right: searchsorted
# searchsorted from the right; argmax of the flipped row for the last one.

import torch


def sample(probs, uniforms):
    sums = probs.to(torch.float64).cumsum(-1).contiguous()
    found = torch.searchsorted(sums, uniforms.reshape(-1, 1).contiguous(), right=True).flatten()
    last = probs.shape[1] - 1 - (probs > 0).long().flip(1).argmax(1)
    return torch.where(found > last, last, found)


# %% right: argmax
# the first True is the argmax; the last id above 0 gets an infinite sum.

import torch


def sample(probs, uniforms):
    places = torch.arange(probs.shape[1]).expand(probs.shape)
    last = places.masked_fill(probs == 0, -1).amax(dim=1, keepdim=True)
    sums = probs.double().cumsum(dim=1).masked_fill(places >= last, torch.inf)
    return (sums > uniforms.unsqueeze(1)).to(torch.uint8).argmax(dim=1)


# %% right: smallest place
# the smallest place whose sum is above u, else V; then the last above 0.

import torch


def sample(probs, uniforms):
    n = probs.shape[1]
    sums = torch.cumsum(probs, dim=1, dtype=torch.float64)
    places = torch.arange(n)
    first = torch.where(sums > uniforms[:, None], places, n).amin(dim=1)
    last = (places * (probs > 0)).amax(dim=1)
    return first.clamp(max=last)


# %% right: triangle
# the sums by a triangular matrix.

import torch


def sample(probs, uniforms):
    n = probs.shape[1]
    where = (torch.arange(n) * (probs > 0)).max(dim=1).values
    if n > 2000:
        sums = probs.double().cumsum(1)
    else:
        sums = probs.double() @ torch.ones(n, n, dtype=torch.float64).triu()
    return torch.minimum((uniforms[:, None] >= sums).long().sum(1), where)


# %% wrong: brought to sum 1
# divides the sums by the last of them, which moves every border.
# shows: probs (0.5, 0.4999), u = 0.50001: id 1 by the contract, 0 here.


def sample(probs, uniforms):
    sums = probs.double().cumsum(dim=1)
    sums = sums / sums[:, -1:]
    return (sums <= uniforms[:, None]).sum(dim=1)


# %% wrong: counts ids above 0
# for the last id above 0 it counts the ids above 0.
# shows: probs (0, 0.5, 0.4999, 0), u = 0.99995: id 1 instead of 2.

import torch


def sample(probs, uniforms):
    found = (probs.double().cumsum(dim=1) <= uniforms[:, None]).sum(dim=1)
    last = (probs > 0).sum(dim=1) - 1
    return torch.where(found == probs.shape[1], last, found)


# %% wrong: tiny is 0
# probabilities below 1e-6 count as 0 when the last id is looked for.
# shows: probs (0.5, 0.4999, 1e-9), u = 0.99995: id 1 instead of 2.

import torch


def sample(probs, uniforms):
    found = (probs.double().cumsum(dim=1) <= uniforms[:, None]).sum(dim=1)
    last = ((probs > 1e-6) * torch.arange(probs.shape[1])).amax(dim=1)
    return torch.minimum(found, last)


# %% wrong: uniforms in float32
# rounds the random numbers to the dtype of probs.
# shows: float32 probs (0.25, 0.75), u = 0.25 - 1e-12: id 1 instead of 0.

import torch


def sample(probs, uniforms):
    u = uniforms.to(probs.dtype).double()
    found = (probs.double().cumsum(dim=1) <= u[:, None]).sum(dim=1)
    last = ((probs > 0) * torch.arange(probs.shape[1])).amax(dim=1)
    return torch.minimum(found, last)


# %% wrong: sums in float32
# adds up in the dtype of probs.
# shows: float32 (0.1, 0.2, 0.7), u between the sum in float64 and the one in float32 (0.3000000045 and 0.3000000119).

import torch


def sample(probs, uniforms):
    found = (probs.cumsum(dim=1) <= uniforms[:, None]).sum(dim=1)
    last = ((probs > 0) * torch.arange(probs.shape[1])).amax(dim=1)
    return torch.minimum(found, last)


# %% wrong: first place of the whole sum
# if u is above the sum, takes the place where the sum first reaches its last value.
# shows: float64 (0.5, 0.4999, 1e-20), u = 0.99995: id 1; the last id above 0 is 2.

import torch


def sample(probs, uniforms):
    sums = probs.double().cumsum(dim=1)
    whole = sums[:, -1:]
    below = torch.nextafter(whole, torch.zeros_like(whole))
    u = torch.minimum(uniforms[:, None], below)
    return torch.searchsorted(sums, u, right=True)[:, 0]


# %% wrong: clamps uniforms in place
# clamps the caller's random numbers in place (the ids are right).
# shows: uniforms after the call, where u is above the sum.

import torch


def sample(probs, uniforms):
    sums = probs.double().cumsum(dim=1)
    last = ((probs > 0) * torch.arange(probs.shape[1])).amax(dim=1)
    over = uniforms >= sums[:, -1]
    uniforms[over] = 0.0
    return torch.where(over, last, (sums <= uniforms[:, None]).sum(dim=1))


# %% wrong: clamped to the vocabulary
# if u is above the sum, the last id of all, even with probability 0.
# shows: probs (0.5, 0.4999, 0, 0), u = 0.99995: id 3.


def sample(probs, uniforms):
    found = (probs.double().cumsum(dim=1) <= uniforms[:, None]).sum(dim=1)
    return found.clamp(max=probs.shape[1] - 1)


# %% wrong: right end
# the smallest id whose sum is at least u: a piece owns its right end.
# shows: u = 0 with p_0 = 0; u = 0.25 in the table.

import torch


def sample(probs, uniforms):
    found = torch.searchsorted(probs.double().cumsum(dim=1), uniforms[:, None]).squeeze(1)
    last = ((probs > 0) * torch.arange(probs.shape[1])).amax(dim=1)
    return torch.minimum(found, last)


# %% wrong: loop over rows
# a loop over the rows, which the rules forbid (the ids are right).
# shows: the source.

import torch


def sample(probs, uniforms):
    drawn = torch.zeros(len(probs), dtype=torch.int64)
    for b in range(len(probs)):
        over = (probs[b].double().cumsum(0) > uniforms[b]).nonzero()
        drawn[b] = over[0] if len(over) else probs[b].nonzero()[-1]
    return drawn


# %% wrong: nothing beyond any
# looks whether any u is above its sum by the largest of all differences: the largest of nothing.
# shows: B = 0: RuntimeError; right otherwise.

import torch


def sample(probs, uniforms):
    sums = probs.double().cumsum(dim=1)
    found = (sums <= uniforms[:, None]).sum(dim=1)
    if (uniforms - sums[:, -1]).max() >= 0:
        last = ((probs > 0) * torch.arange(probs.shape[1])).amax(dim=1)
        found = torch.minimum(found, last)
    return found


# %% wrong: one long line
# lays all rows on one line, one unit each: what a row lacks to 1 moves all rows behind it.
# shows: rows (0.5, 0.4999) and (0.5, 0.5), u = (0.1, 0.49995): the second draws id 1 instead of 0.

import torch


def sample(probs, uniforms):
    n = probs.shape[1]
    line = probs.double().reshape(-1).cumsum(0)
    flat = torch.searchsorted(line, uniforms + torch.arange(len(probs)), right=True)
    found = flat - n * torch.arange(len(probs))
    last = ((probs > 0) * torch.arange(n)).amax(dim=1)
    return torch.minimum(found.clamp(min=0), last)


# %% wrong: above 0.999 the last id
# A u above 0.999 always gives the last id, even if the sums go beyond it and another id owns the place.
# shows: probs (0.5, 0.5 - 2**-11, 2**-11), u = 1 - 2**-10: id 1
def sample(probs, uniforms):
    drawn = (probs.double().cumsum(-1) <= uniforms.unsqueeze(-1)).sum(-1)
    last = (torch.arange(probs.shape[-1]) * (probs > 0)).amax(-1)
    return torch.where(uniforms > 0.999, last, torch.minimum(drawn, last))
