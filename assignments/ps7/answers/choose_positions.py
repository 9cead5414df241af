# %% right: Asks torch which ids are among the special ones.
def choose_positions(ids, draws, rate, special_ids):
    return ~torch.isin(ids, torch.tensor(list(special_ids), dtype=ids.dtype)) & draws.lt(rate)


# %% right: Compares each id with each special one, on an axis of its own.
def choose_positions(ids, draws, rate, special_ids):
    specials = torch.tensor(sorted(special_ids), dtype=torch.int64)
    return torch.logical_and(draws < rate, (ids.unsqueeze(-1) != specials).all(dim=-1))


# %% right: Gives special tokens a draw that is never low.
def choose_positions(ids, draws, rate, special_ids):
    draws = draws.clone()
    for special in special_ids:
        draws[ids == special] = 1.0
    return draws < rate


# %% right: Takes out what is special from what is low.
def choose_positions(ids, draws, rate, special_ids):
    chosen = draws < rate
    for special in set(special_ids):
        chosen = torch.where(ids == special, False, chosen)
    return chosen


# %% right: Collects the places of low draws, and keeps those of ordinary tokens.
def choose_positions(ids, draws, rate, special_ids):
    chosen = torch.zeros(ids.shape, dtype=torch.bool)
    rows, places = torch.nonzero(draws < rate, as_tuple=True)
    found = ids[rows, places]
    ordinary = torch.ones(found.shape, dtype=torch.bool)
    for special in special_ids:
        ordinary &= found != special
    chosen[rows[ordinary], places[ordinary]] = True
    return chosen


# %% right: Goes by way of NumPy.
import numpy as np


def choose_positions(ids, draws, rate, special_ids):
    is_special = np.isin(ids.numpy(), list(special_ids))
    return torch.from_numpy((draws.numpy() < rate) & ~is_special)


# %% right: isin
# isin.

import torch


def choose_positions(ids, draws, rate, special_ids):
    special = torch.isin(ids, torch.tensor(list(special_ids), dtype=ids.dtype))
    return (draws < rate) & ~special


# %% right: loop over special ids
# a loop over the special ids.


def choose_positions(ids, draws, rate, special_ids):
    chosen = draws < rate
    for special in special_ids:
        chosen = chosen & (ids != special)
    return chosen


# %% right: masked fill
# special tokens get a draw that no rate is above.

import functools

import torch


def choose_positions(ids, draws, rate, special_ids):
    nowhere = torch.zeros_like(ids, dtype=torch.bool)
    special = functools.reduce(lambda mask, i: mask | (ids == i), special_ids, nowhere)
    return draws.masked_fill(special, 2.0).lt(rate)


# %% right: broadcast
# every id against every special id.

import torch


def choose_positions(ids, draws, rate, special_ids):
    special = torch.tensor(sorted(special_ids), dtype=torch.int64)
    free = (ids.unsqueeze(-1) != special).all(dim=-1)
    return torch.logical_and(free, draws < rate)


# %% right: where
# torch.where and a difference.

import torch


def choose_positions(ids, draws, rate, special_ids):
    wanted = torch.tensor([*special_ids], dtype=ids.dtype)
    mine = torch.where(torch.isin(ids, wanted, invert=True), rate - draws.clone(), -1.0)
    return mine > 0


# %% right: compares in float64
# compares in float64, so that float32 0.7 (0.69999999) is below the rate 0.7.
# shows: float32 draws with torch.tensor(0.7), rate 0.7: torch's own comparison says not below.

import torch


def choose_positions(ids, draws, rate, special_ids):
    special = torch.isin(ids, torch.tensor(list(special_ids), dtype=ids.dtype))
    return (draws.double() < rate) & ~special


# %% wrong: no set
# a set that is not empty cannot become a tensor.
# shows: special_ids = {0, 7}: RuntimeError.

import torch


def choose_positions(ids, draws, rate, special_ids):
    chosen = draws < rate
    if special_ids:
        chosen = chosen & ~torch.isin(ids, torch.tensor(special_ids))
    return chosen


# %% wrong: table as large as the text needs
# looks ids up in a table that ends at the largest id of the text.
# shows: special_ids = [103], ids up to 50: IndexError.

import torch


def choose_positions(ids, draws, rate, special_ids):
    if ids.numel() == 0:
        return torch.zeros_like(ids, dtype=torch.bool)
    may = torch.ones(int(ids.max()) + 1, dtype=torch.bool)
    for special in special_ids:
        may[special] = False
    return may[ids] & (draws < rate)


# %% wrong: whole percents
# cuts the draws to whole percents.
# shows: rate 0.155, a draw of 0.158: chosen, and should not be.

import torch


def choose_positions(ids, draws, rate, special_ids):
    special = torch.isin(ids, torch.tensor(list(special_ids), dtype=ids.dtype))
    return ((draws * 100).long() < rate * 100) & ~special


# %% wrong: flattens with view
# flattens with `view`, which cannot deal with gaps in memory.
# shows: ids and draws that are x.T of a (3, 2) tensor: RuntimeError.

import torch


def choose_positions(ids, draws, rate, special_ids):
    special = torch.tensor(list(special_ids), dtype=ids.dtype)
    flat = (draws.view(-1) < rate) & ~torch.isin(ids.view(-1), special)
    return flat.view(ids.shape)


# %% wrong: assumes unique
# tells isin that all ids are different, which they are not; with many special ids it then sorts, and errs.
# shows: 30 special ids, and texts in which some of them come several times.

import torch


def choose_positions(ids, draws, rate, special_ids):
    special = torch.tensor(list(special_ids), dtype=ids.dtype)
    return (draws < rate) & ~torch.isin(ids, special, assume_unique=True)


# %% wrong: draws in place
# raises the draws of special tokens in the caller's tensor.
# shows: draws after the call.

import torch


def choose_positions(ids, draws, rate, special_ids):
    for special in special_ids:
        draws[ids == special] = 1.0
    return draws < rate


# %% wrong: ids below the largest special
# takes all ids up to the largest special id for special.
# shows: special_ids (9,), id 2.

import torch


def choose_positions(ids, draws, rate, special_ids):
    return (draws < rate) & (ids > max(special_ids, default=-1))


# %% wrong: loop over rows
# a loop over rows and positions, which the rules forbid (the result is right).
# shows: the source.

import torch


def choose_positions(ids, draws, rate, special_ids):
    chosen = torch.zeros(ids.shape, dtype=torch.bool)
    for b in range(ids.shape[0]):
        for t in range(ids.shape[1]):
            chosen[b, t] = bool(draws[b, t] < rate) and int(ids[b, t]) not in special_ids
    return chosen


# %% wrong: share of each row
# chooses the rate's share of each row, the smallest draws first.
# shows: rate 0.5, draws (0.1, 0.2, 0.3, 0.4): all four are below it.

import torch


def choose_positions(ids, draws, rate, special_ids):
    special = torch.isin(ids, torch.tensor(list(special_ids), dtype=ids.dtype))
    n = round(rate * ids.shape[1])
    rank = draws.argsort(dim=1).argsort(dim=1)
    return (rank < n) & ~special


# %% wrong: special list is emptied
# takes the special ids out of the caller's list one after the other.
# shows: special_ids after the call.

import torch


def choose_positions(ids, draws, rate, special_ids):
    chosen = draws < rate
    while special_ids:
        if isinstance(special_ids, tuple):
            special, special_ids = special_ids[0], special_ids[1:]
        else:
            special = special_ids.pop()
        chosen = chosen & (ids != special)
    return chosen


# %% wrong: slack below the rate
# numbers a millionth above the rate are chosen, too.
# shows: a number of rate + 1e-7.
import torch


def choose_positions(ids, draws, rate, special_ids):
    special = torch.zeros_like(ids, dtype=torch.bool)
    for s in special_ids:
        special |= ids == s
    return (draws < rate + 1e-6) & (draws != rate) & ~special


# %% wrong: compared in float32
# float64 numbers are compared as float32.
# shows: a float64 number just below the rate.
import torch


def choose_positions(ids, draws, rate, special_ids):
    special = torch.zeros_like(ids, dtype=torch.bool)
    for s in special_ids:
        special |= ids == s
    return (draws.float() < torch.tensor(rate, dtype=torch.float32)) & ~special
