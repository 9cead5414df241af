# %% right: The sums before each id are the sums, moved by one.
def keep_top_p(probs, p):
    order = torch.argsort(probs, dim=-1, descending=True, stable=True)
    ordered = torch.gather(probs, -1, order)
    before = torch.cat([torch.zeros_like(ordered[..., :1]), ordered.cumsum(-1)[..., :-1]], dim=-1)
    limit = math.inf if p == 1 else p
    kept = torch.zeros_like(probs).scatter(-1, order, ordered * (before < limit))
    return kept / kept.sum(-1, keepdim=True)


# %% right: The place in the order of each id, by sorting the order.
def keep_top_p(probs, p):
    if p >= 1:
        return probs / probs.sum(dim=-1, keepdim=True)
    order = (-probs).argsort(dim=-1, stable=True)
    sums = probs.gather(-1, order).cumsum(dim=-1)
    n_taken = 1 + (sums < p).sum(dim=-1, keepdim=True)
    kept = probs.masked_fill(order.argsort(dim=-1) >= n_taken, 0)
    return kept / kept.sum(dim=-1, keepdim=True)


# %% right: For each id, adds up all that come before it: likelier ones, and equals with smaller ids.
def keep_top_p(probs, p):
    own, other = probs.unsqueeze(-1), probs.unsqueeze(-2)
    ids = torch.arange(probs.shape[-1])
    is_before = (other > own) | ((other == own) & (ids < ids.unsqueeze(-1)))
    before = (other * is_before).sum(dim=-1)
    kept = torch.where((before < p) | torch.tensor(p >= 1), probs, torch.zeros_like(probs))
    return kept / kept.sum(dim=-1, keepdim=True)


# %% right: Finds which stay, puts the mask back, and multiplies.
def keep_top_p(probs, p):
    ordered, places = probs.sort(dim=-1, descending=True, stable=True)
    taken = ordered.double().cumsum(-1) - ordered.double() < (p if p < 1 else 2)
    mask = torch.zeros_like(taken).scatter(-1, places, taken)
    kept = probs * mask
    return kept.div(kept.sum(-1, True))


# %% right: All axes but the last become one.
def keep_top_p(probs, p):
    rows = probs.flatten(0, -2) if probs.dim() > 1 else probs[None]
    order = rows.sort(dim=1, descending=True, stable=True).indices
    numbers = torch.arange(len(rows))[:, None]
    ordered = rows[numbers, order]
    if p < 1:
        ordered = ordered.masked_fill(ordered.cumsum(1) - ordered >= p, 0.0)
    result = torch.empty_like(rows)
    result[numbers, order] = ordered / ordered.sum(1, keepdim=True)
    return result.reshape(probs.shape)


# %% right: Computes in float64 and comes back.
def keep_top_p(probs, p):
    wide = probs.to(torch.float64)
    ordered, places = wide.sort(dim=-1, descending=True, stable=True)
    stays = torch.ones_like(ordered, dtype=torch.bool)
    if p < 1:
        stays[..., 1:] = ordered.cumsum(dim=-1)[..., :-1] < p
    nucleus = ordered * stays
    back = places.argsort(dim=-1)
    return (nucleus / nucleus.sum(dim=-1, keepdim=True)).gather(-1, back).to(probs.dtype)


# %% right: sum before
# the sum before, in float64; p = 1 is a case of its own.

import torch


def keep_top_p(probs, p):
    values, places = probs.sort(dim=-1, descending=True, stable=True)
    before = values.double().cumsum(dim=-1) - values
    if p < 1:
        values = values.masked_fill(before >= p, 0.0)
    values = values / values.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, places, values)


# %% right: searchsorted
# counts the ids needed, then compares ranks; the ranks by sorting the places.

import torch


def keep_top_p(probs, p):
    if p >= 1:
        return probs / probs.sum(-1, keepdim=True)
    order = (-probs).argsort(dim=-1, stable=True)
    sums = probs.gather(-1, order).cumsum(-1)
    needed = (sums < p).sum(-1, keepdim=True) + 1
    rank = order.argsort(dim=-1)
    kept = probs * (rank < needed)
    return kept / kept.sum(-1, keepdim=True)


# %% right: flipped twice
# a rising stable sort of the flipped row, sums from the right end.

import torch


def keep_top_p(probs, p):
    values, places = probs.flip(-1).sort(dim=-1, stable=True)
    places = probs.shape[-1] - 1 - places
    values, places = values.flip(-1), places.flip(-1)
    sums = torch.cat([torch.zeros_like(values[..., :1]), values.cumsum(-1)[..., :-1]], -1)
    taken = sums < p if p < 1 else torch.ones_like(sums, dtype=torch.bool)
    mask = torch.zeros_like(taken).scatter(-1, places, taken)
    kept = torch.where(mask, probs, torch.zeros_like(probs))
    return kept / kept.sum(-1, keepdim=True)


# %% right: rows flat
# flat rows by reshape, assignment by index into a copy.

import torch


def keep_top_p(probs, p):
    rows = probs.reshape(-1, probs.shape[-1]).clone()
    if p != 1:
        order = rows.argsort(dim=1, descending=True, stable=True)
        ordered = torch.take_along_dim(rows, order, dim=1)
        cut = torch.zeros_like(ordered, dtype=torch.bool)
        cut[:, 1:] = ordered.double().cumsum(1)[:, :-1] >= p
        rows[cut.gather(1, order.argsort(dim=1))] = 0
    rows /= rows.sum(1, keepdim=True)
    return rows.reshape(probs.shape)


# %% right: sums by pairs
# for each id the probability of all that come before it, by comparing all pairs.

import torch


def keep_top_p(probs, p):
    n = probs.shape[-1]
    mine, other = probs.unsqueeze(-1), probs.unsqueeze(-2)
    earlier = torch.ones(n, n, dtype=torch.bool).tril(-1)  # the other id is smaller
    first = (other > mine) | ((other == mine) & earlier)
    before = (first * other.double()).sum(-1)
    kept = probs if p == 1 else torch.where(before < p, probs, 0.0)
    return (kept / kept.sum(-1, keepdim=True)).to(probs.dtype)


# %% right: rank and softmax of logs
# each id is taken by its rank; softmax of the logarithms brings what is left to sum 1

import torch


def keep_top_p(probs, p):
    places = torch.sort(-probs, dim=-1, stable=True).indices
    rank = places.argsort(dim=-1)
    sums = probs.double().gather(-1, places).cumsum(dim=-1)
    n_taken = (sums < p - 1e-6).sum(dim=-1, keepdim=True) + 1
    logs = probs.log()
    if p < 1:
        logs = logs.masked_fill(rank >= n_taken, float("-inf"))
    return logs.softmax(dim=-1)


# %% wrong: no case for 1
# p = 1 is no special case: where the rounded sum reaches 1 early, the rest is cut off.
# shows: float32 (1.0, 1e-9), p = 1: the second id becomes 0.

import torch


def keep_top_p(probs, p):
    values, places = probs.sort(dim=-1, descending=True, stable=True)
    before = values.cumsum(dim=-1) - values
    values = values.masked_fill(before >= p, 0.0)
    values = values / values.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, places, values)


# %% wrong: returns the argument
# with p = 1 the argument itself comes back: not new.
# shows: p = 1.0: the result shares memory with probs.

import torch


def keep_top_p(probs, p):
    if p == 1:
        return probs
    values, places = probs.sort(dim=-1, descending=True, stable=True)
    before = values.double().cumsum(dim=-1) - values
    values = values.masked_fill(before >= p, 0.0)
    values = values / values.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, places, values)


# %% wrong: nearly 1 is 1
# p above 0.99 counts as 1.
# shows: (0.995, 0.003, 0.002) with p = 0.994: only id 0.

import torch


def keep_top_p(probs, p):
    if p > 0.99:
        return probs / probs.sum(dim=-1, keepdim=True)
    values, places = probs.sort(dim=-1, descending=True, stable=True)
    before = values.cumsum(dim=-1) - values
    values = values.masked_fill(before >= p, 0.0)
    values = values / values.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, places, values)


# %% wrong: slack
# a slack of 1e-4 against rounding: p counts as reached a little before it is.
# shows: (0.49995, 0.3, 0.20005) with p = 0.5: id 1 is missing.

import torch


def keep_top_p(probs, p):
    if p == 1:
        return probs.clone()
    values, places = probs.sort(dim=-1, descending=True, stable=True)
    before = values.cumsum(dim=-1) - values
    values = torch.where(before < p - 1e-4, values, 0.0)
    values = values / values.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, places, values)


# %% wrong: in float32
# float64 goes through float32 and back.
# shows: float64 with 1e-50 in it, p = 1: it becomes 0; all results have 7 digits only.

import torch


def keep_top_p(probs, p):
    x = probs.float()
    values, places = x.sort(dim=-1, descending=True, stable=True)
    before = values.double().cumsum(dim=-1) - values
    values = values.masked_fill((before >= p) & (p < 1), 0.0)
    values = values / values.sum(dim=-1, keepdim=True)
    return torch.zeros_like(x).scatter(-1, places, values).to(probs.dtype)


# %% wrong: guarded divisor
# adds 1e-8 to the divisor.
# shows: 50,000 ids of 2e-5 each, p = 1e-5: one id is taken, with 0.9995 instead of 1.

import torch


def keep_top_p(probs, p):
    values, places = probs.sort(dim=-1, descending=True, stable=True)
    before = values.cumsum(dim=-1) - values
    values = values.masked_fill((before >= p) & (p < 1), 0.0)
    values = values / (values.sum(dim=-1, keepdim=True) + 1e-8)
    return torch.zeros_like(probs).scatter(-1, places, values)


# %% wrong: flattens with view
# flattens with `view`, which cannot deal with gaps in memory.
# shows: probs of shape (2, 3, 4) that are a transposed view: RuntimeError.

import torch


def keep_top_p(probs, p):
    rows = probs.view(-1, probs.shape[-1])
    values, places = rows.sort(dim=1, descending=True, stable=True)
    before = values.cumsum(dim=1) - values
    values = values.masked_fill((before >= p) & (p < 1), 0.0)
    values = values / values.sum(dim=1, keepdim=True)
    return torch.zeros_like(rows).scatter(1, places, values).view(probs.shape)


# %% wrong: widest nucleus
# cuts the sorted rows to the widest nucleus: the largest of nothing.
# shows: probs of shape (0, 4): RuntimeError; right otherwise.

import torch


def keep_top_p(probs, p):
    values, places = probs.sort(dim=-1, descending=True, stable=True)
    taken = (values.cumsum(dim=-1) - values < p) | (p == 1)
    n = int(taken.sum(dim=-1).max())
    values = (values * taken)[..., :n]
    values = values / values.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, places[..., :n], values)


# %% wrong: topk for the order
# topk instead of a stable sort: of equals it may take any.
# shows: 64 equal probabilities, p = 0.25: not the ids 0 to 15.

import torch


def keep_top_p(probs, p):
    values, places = probs.topk(probs.shape[-1], dim=-1)
    before = values.cumsum(dim=-1) - values
    values = values.masked_fill((before >= p) & (p < 1), 0.0)
    values = values / values.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, places, values)


# %% wrong: equals stay too
# everything as likely as the last one taken stays.
# shows: (1/8, 1/2, 1/4, 1/8) with p = 0.8: both 1/8 stay.

import torch


def keep_top_p(probs, p):
    values = probs.sort(dim=-1, descending=True).values
    before = values.cumsum(dim=-1) - values
    limit = values.masked_fill((before >= p) & (p < 1), 2.0).amin(dim=-1, keepdim=True)
    kept = torch.where(probs >= limit, probs, 0.0)
    return kept / kept.sum(dim=-1, keepdim=True)


# %% wrong: reached is not enough
# an id is taken while the sum before it is at most p: if p is reached exactly, one too many.
# shows: (1/8, 1/2, 1/4, 1/8) with p = 0.75.

import torch


def keep_top_p(probs, p):
    values, places = probs.sort(dim=-1, descending=True, stable=True)
    before = values.cumsum(dim=-1) - values
    values = values.masked_fill((before > p) & (p < 1), 0.0)
    values = values / values.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, places, values)


# %% wrong: loop over ids
# a loop over rows and ids, which the rules forbid (the values are right).
# shows: the source.

import torch


def keep_top_p(probs, p):
    rows = probs.reshape(-1, probs.shape[-1])
    out = torch.zeros_like(rows)
    for b in range(len(rows)):
        total = 0.0
        for i in rows[b].sort(descending=True, stable=True).indices.tolist():
            out[b, i] = rows[b, i]
            total += rows[b, i].item()
            if total >= p and p < 1:
                break
        out[b] /= out[b].sum()
    return out.reshape(probs.shape)


# %% wrong: float64 but no case for 1
# sums in float64, but p = 1 is no special case: what lies behind a sum of 1 is cut off.
# shows: float32 (1.0, 1e-9), p = 1: the second id becomes 0.

import torch


def keep_top_p(probs, p):
    values, places = probs.sort(dim=-1, descending=True, stable=True)
    sums = values.double().cumsum(dim=-1)
    needed = (sums < p).sum(dim=-1, keepdim=True)
    values = torch.where(torch.arange(probs.shape[-1]) <= needed, values, 0.0)
    values = values / values.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, places, values)


# %% wrong: a little less for larger ids
# takes a little from each probability, more for larger ids, so that no two are equal; but nearly equal ones change their order.
# shows: float64, (0.25 - 1e-9, 0.25 + 1e-9, 0.5) and p = 0.6: id 0 is taken in place of id 1

import torch


def keep_top_p(probs, p):
    steps = torch.arange(probs.shape[-1], dtype=torch.float64) * 1e-7
    places = (probs.double() - steps).argsort(dim=-1, descending=True)
    ordered = probs.gather(-1, places)
    before = ordered.cumsum(dim=-1) - ordered
    if p < 1:
        ordered = ordered.masked_fill(before >= p, 0)
    kept = torch.zeros_like(probs).scatter(-1, places, ordered)
    return kept / kept.sum(dim=-1, keepdim=True)


# %% wrong: at most a hundred ids
# with p below 1 it sorts the hundred likeliest ids only; a flat row needs more.
# shows: 400 equally likely ids, p = 0.5: 100 are taken in place of 200

import torch


def keep_top_p(probs, p):
    n = probs.shape[-1]
    ordered, places = probs.sort(dim=-1, descending=True, stable=True)
    if p < 1:
        ordered, places = ordered[..., :100], places[..., : min(n, 100)]
        before = ordered.cumsum(dim=-1) - ordered
        ordered = ordered.where(before < p, 0)
    ordered = ordered / ordered.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, places, ordered)


# %% wrong: a p of 0.9999 cuts nothing
# Only a p of 1 cuts nothing.
# shows: (0.999, 0.00095, 0.00004, 0.00001), p 0.9999
def keep_top_p(probs, p):
    """Let the likeliest ids of each row stand that together reach p, and bring them to sum 1."""
    ordered, places = probs.sort(dim=-1, descending=True, stable=True)
    before = ordered.cumsum(dim=-1) - ordered
    if p < 0.9999:
        ordered = ordered.masked_fill(before >= p, 0)
    ordered = ordered / ordered.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, places, ordered)


# %% wrong: gives a single id's row back
# The result is the caller's tensor.
# shows: probs of shape (3, 1)
def keep_top_p(probs, p):
    """Let the likeliest ids of each row stand that together reach p, and bring them to sum 1."""
    if probs.shape[-1] == 1:
        return probs
    ordered, places = probs.sort(dim=-1, descending=True, stable=True)
    before = ordered.cumsum(dim=-1) - ordered
    if p < 1:
        ordered = ordered.masked_fill(before >= p, 0)
    ordered = ordered / ordered.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, places, ordered)
