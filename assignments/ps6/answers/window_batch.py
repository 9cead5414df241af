# %% right: All windows are a view of the stream; some rows of it are taken.
def window_batch(ids, length, uniforms):
    windows = ids.unfold(0, length + 1, 1)[(uniforms * (len(ids) - length)).to(torch.int64)]
    return windows[:, :length], windows[:, 1:]


# %% right: Gathers from two shifted streams.
def window_batch(ids, length, uniforms):
    starts = torch.floor(uniforms * (ids.numel() - length)).to(torch.int64)
    places = torch.arange(length).add(starts.unsqueeze(-1))
    streams = ids.expand(len(starts), -1)
    return streams[:, :-1].gather(1, places), streams[:, 1:].gather(1, places)


# %% right: One index of length + 1 places, then two slices.
def window_batch(ids, length, uniforms):
    starts = torch.trunc((len(ids) - length) * uniforms).long()
    windows = ids[torch.add(starts[:, None], torch.arange(length + 1)[None])]
    return windows[:, :-1].clone(), windows[:, 1:].clone()


# %% right: Broadcasts sums of places, and takes them.
def window_batch(ids, length, uniforms):
    starts = (uniforms.double() * (ids.shape[0] - length)).floor().long()
    grid = starts.repeat_interleave(length) + torch.arange(length).repeat(len(starts))
    return tuple(torch.take(ids, grid + shift).view(-1, length) for shift in (0, 1))


# %% right: NumPy indexes, and torch takes over.
import numpy as np


def window_batch(ids, length, uniforms):
    array = ids.numpy()
    places = np.floor(uniforms.numpy() * (len(array) - length)).astype(np.int64)[:, None]
    places = places + np.arange(length)
    return torch.from_numpy(array[places]), torch.from_numpy(array[places + 1])


# %% right: Index_select on a flat list of places.
def window_batch(ids, length, uniforms):
    starts = uniforms.mul(len(ids) - length).int().long().reshape(-1, 1)
    offsets = torch.cumsum(torch.ones(length, dtype=torch.int64), 0) - 1
    flat = (starts + offsets).flatten()
    shape = (len(uniforms), length)
    inputs = ids.index_select(0, flat).unflatten(0, shape)
    return inputs, ids.index_select(0, flat + 1).unflatten(0, shape)


# %% right: column plus row
# a column of beginnings plus a row.

import torch


def window_batch(ids, length, uniforms):
    starts = (uniforms * (len(ids) - length)).floor().long()
    places = starts[:, None] + torch.arange(length)
    return ids[places], ids[places + 1]


# %% right: unfold
# all windows as a view, then its rows.


def window_batch(ids, length, uniforms):
    windows = ids.unfold(0, length + 1, 1)
    rows = windows[uniforms.mul(windows.shape[0]).to(int)]
    return rows[:, :length], rows[:, 1:]


# %% right: gather and roll
# gather from an expanded stream; targets from the rolled one.

import torch


def window_batch(ids, length, uniforms):
    n, b = ids.shape[0], uniforms.shape[0]
    first = torch.trunc(uniforms * float(n - length)).to(torch.int64)
    places = torch.arange(length).expand(b, length) + first.reshape(b, 1)
    both = torch.stack([ids, ids.roll(-1)]).unsqueeze(1).expand(2, b, n)
    inputs, targets = both.gather(2, places.expand(2, b, length))
    return inputs, targets


# %% right: take and flat
# a flat list of places, made with repeat_interleave; take.

import torch


def window_batch(ids, length, uniforms):
    starts = (uniforms * (ids.numel() - length)).type(torch.int64)
    flat = starts.repeat_interleave(length) + torch.arange(length).repeat(len(starts))
    shape = len(starts), length
    return torch.take(ids, flat).reshape(shape), torch.take(ids, flat + 1).reshape(shape)


# %% right: cumsum
# places as running sums of ones.

import torch


def window_batch(ids, length, uniforms):
    places = torch.ones(len(uniforms), length + 1, dtype=torch.int64)
    places[:, 0] = (uniforms.double() * (len(ids) - length)).floor().long()
    rows = ids.index_select(0, places.cumsum(1).flatten()).reshape(places.shape)
    return rows[:, :-1].clone(), rows[:, 1:].clone()


# %% right: borders from linspace
# looks u up among the borders k / n, instead of rounding the product u n down.

import torch


def window_batch(ids, length, uniforms):
    n = len(ids) - length
    borders = torch.linspace(0, 1, n + 1, dtype=torch.float64)
    starts = torch.searchsorted(borders, uniforms, right=True) - 1
    places = starts[:, None] + torch.arange(length)
    return ids[places], ids[places + 1]


# %% wrong: as strided
# reads the memory of `ids` as if it had no gaps.
# shows: ids = torch.arange(20)[::2], length 3, u = 0.5: neighbours in memory instead of in the stream.

import torch


def window_batch(ids, length, uniforms):
    n = len(ids) - length
    windows = torch.as_strided(ids, (n, length + 1), (1, 1))
    rows = windows[(uniforms * n).long()]
    return rows[:, :-1], rows[:, 1:]


# %% wrong: scales uniforms in place
# multiplies the caller's random numbers in place (the windows are right).
# shows: uniforms after the call; or calling twice with the same ones.

import torch


def window_batch(ids, length, uniforms):
    starts = uniforms.mul_(len(ids) - length).long()
    places = starts[:, None] + torch.arange(length)
    return ids[places], ids[places + 1]


# %% wrong: windows kept by size
# keeps all windows of a stream by (N, length), so another stream of the same size gets the old ids.
# shows: two calls, with arange(8) and then with arange(8) + 100, length 3.

_windows = {}


def window_batch(ids, length, uniforms):
    key = len(ids), length
    if key not in _windows:
        _windows[key] = ids.unfold(0, length + 1, 1).clone()
    rows = _windows[key][(uniforms * (len(ids) - length)).long()]
    return rows[:, :-1], rows[:, 1:]


# %% wrong: squeezed
# windows of one id lose their axis.
# shows: length = 1: shape (B,) instead of (B, 1).

import torch


def window_batch(ids, length, uniforms):
    starts = (uniforms * (len(ids) - length)).floor().long()
    places = starts.unsqueeze(1) + torch.arange(length)
    return ids[places].squeeze(-1), ids[places + 1].squeeze(-1)


# %% wrong: loop over rows
# a loop over the rows, which the rules of the set forbid (the ids are right).
# shows: the source.

import torch


def window_batch(ids, length, uniforms):
    starts = [int(u * (len(ids) - length)) for u in uniforms.tolist()]
    inputs = torch.stack([ids[s : s + length] for s in starts])
    targets = torch.stack([ids[s + 1 : s + length + 1] for s in starts])
    return inputs, targets


# %% wrong: loop over places
# a loop over the places of a window, which the rules of the set forbid (the ids are right).
# shows: the source.

import torch


def window_batch(ids, length, uniforms):
    starts = (uniforms * (len(ids) - length)).long()
    columns = torch.stack([ids[starts + i] for i in range(length + 1)], dim=1)
    return columns[:, :-1], columns[:, 1:]


# %% wrong: ids through float32
# looks ids up as an embedding of floats: large ids are rounded.
# shows: ids = torch.tensor([16_777_217, 5, 16_777_219]), length 1: 16777216.

import torch
from torch.nn import functional as F


def window_batch(ids, length, uniforms):
    places = (uniforms * (len(ids) - length)).long()[:, None] + torch.arange(length + 1)
    rows = F.embedding(places, ids.float()[:, None]).squeeze(-1).long()
    return rows[:, :-1], rows[:, 1:]


# %% wrong: float32 product
# the product in float32.
# shows: N - length = 5, u = 0.4 - 1e-12: place 2 instead of 1.

import torch


def window_batch(ids, length, uniforms):
    starts = (uniforms.float() * (len(ids) - length)).long()
    places = starts[:, None] + torch.arange(length)
    return ids[places], ids[places + 1]


# %% wrong: targets wrap in the window
# targets by rolling the window: its last target is its own first id.
# shows: every window whose first id is not what follows it.

import torch


def window_batch(ids, length, uniforms):
    starts = (uniforms * (len(ids) - length)).long()
    inputs = ids[starts[:, None] + torch.arange(length)]
    return inputs, inputs.roll(-1, dims=1)


# %% wrong: one window per place
# windows that lie end to end (start at a multiple of length) instead of at every place.
# shows: N = 8, length = 3, u = 0.5: place 3 instead of 2.

import torch


def window_batch(ids, length, uniforms):
    n = (len(ids) - 1) // length
    starts = (uniforms * n).long() * length
    places = starts[:, None] + torch.arange(length)
    return ids[places], ids[places + 1]


# %% wrong: rounds half to even
# rounds the product minus a half; where the product is whole, this goes to the even neighbour.
# shows: N - length = 2, u = 0.5: place 0 in place of 1

import torch


def window_batch(ids, length, uniforms):
    starts = torch.round(uniforms * (len(ids) - length) - 0.5).long().clamp(min=0)
    places = starts[:, None] + torch.arange(length)
    return ids[places], ids[places + 1]


# %% wrong: whole numbers overflow
# computes in whole numbers of 2^-53, whose product with more than 1024 places is beyond int64.
# shows: a stream of 3000 ids, length 10, u = 0.9: a place that does not exist

import torch


def window_batch(ids, length, uniforms):
    numbers = (uniforms * 2**53).long()
    starts = (numbers * (len(ids) - length)) >> 53
    windows = starts[:, None] + torch.arange(length + 1)
    rows = ids[windows]
    return rows[:, :-1], rows[:, 1:]


# %% wrong: beginnings in 16 bits
# Beginnings are kept in 16 bits, which overflow in a stream of more than 32,767 ids.
# shows: 70,000 ids, a number of 0.9999
def window_batch(ids, length, uniforms):
    begins = torch.floor(uniforms * (ids.numel() - length)).to(torch.int32).to(torch.int16)
    places = begins[:, None] + torch.arange(length + 1)
    rows = ids[places.long()]
    return rows[:, :length], rows[:, 1:]


# %% wrong: a hair before rounding down
# A small number is added before rounding down, against rounding errors, but a product that is nearer to the next whole number than that, yet not as near as 1e-12, then falls into the next window.
# shows: 1,027 ids, length 3, uniforms 77 / 1024 - 2**-49: place 76
def window_batch(ids, length, uniforms):
    n_places = ids.shape[0] - length
    starts = torch.floor(uniforms * n_places + 4e-12).to(torch.int64)
    starts = torch.clamp(starts, max=n_places - 1)
    places = starts.unsqueeze(1) + torch.arange(length).unsqueeze(0)
    return ids[places], ids[places + 1]
