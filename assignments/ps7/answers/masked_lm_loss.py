# %% right: Lets torch's function add up the losses.
def masked_lm_loss(vectors, targets, table, bias):
    chosen = targets != IGNORE
    scores = F.linear(vectors[chosen], table, bias)
    total = F.cross_entropy(scores, targets[chosen], reduction="sum")
    return total / chosen.sum().clamp(min=1)


# %% right: Names the chosen positions by their numbers.
def masked_lm_loss(vectors, targets, table, bias):
    rows, places = (targets != IGNORE).nonzero(as_tuple=True)
    scores = torch.addmm(bias, vectors[rows, places], table.T)
    true = scores.gather(1, targets[rows, places].unsqueeze(1)).squeeze(1)
    losses = torch.logsumexp(scores, dim=1) - true
    return losses.sum() / max(1, losses.numel())


# %% right: Lays all positions in one row first.
def masked_lm_loss(vectors, targets, table, bias):
    flat = targets.reshape(-1)
    chosen = torch.nonzero(flat >= 0).reshape(-1)
    kept = vectors.reshape(-1, vectors.shape[-1]).index_select(0, chosen)
    log_probs = F.log_softmax(kept @ table.t() + bias, dim=1)
    return F.nll_loss(log_probs, flat[chosen], reduction="sum") / max(len(chosen), 1)


# %% right: Takes the mean where there is one.
def masked_lm_loss(vectors, targets, table, bias):
    chosen = targets.ne(IGNORE)
    scores = torch.einsum("nk,vk->nv", vectors[chosen], table) + bias
    if chosen.any():
        return F.cross_entropy(scores, targets[chosen])
    return scores.sum() + 0 * bias.sum()


# %% right: Writes the softmax out, with the largest score subtracted.
def masked_lm_loss(vectors, targets, table, bias):
    chosen = targets != IGNORE
    scores = vectors[chosen] @ table.T + bias
    scores = scores - scores.detach().amax(dim=-1, keepdim=True)
    hot = F.one_hot(targets[chosen], table.shape[0]).to(scores.dtype)
    losses = scores.exp().sum(dim=-1).log() - (scores * hot).sum(dim=-1)
    return losses.sum() / max(int(chosen.sum()), 1)


# %% right: Looks up the rows of the true ids for their scores.
def masked_lm_loss(vectors, targets, table, bias):
    chosen = targets != IGNORE
    kept, true = vectors[chosen], targets[chosen]
    true_scores = (kept * table[true]).sum(dim=-1) + bias[true]
    losses = (kept @ table.mT + bias).logsumexp(dim=-1) - true_scores
    return losses.sum() / chosen.sum().clamp_min(1)


# %% right: mask
# the mask as an index; the sum by at least one.

from torch.nn import functional as F


def masked_lm_loss(vectors, targets, table, bias):
    chosen = targets != -100
    total = F.cross_entropy(F.linear(vectors[chosen], table, bias), targets[chosen], reduction="sum")
    return total / chosen.sum().clamp(min=1)


# %% right: logsumexp
# logsumexp minus the score of the target, by dot products with the target's own row.

import torch


def masked_lm_loss(vectors, targets, table, bias):
    rows, columns = (targets != -100).nonzero(as_tuple=True)
    x, y = vectors[rows, columns], targets[rows, columns]
    whole = torch.logsumexp(x @ table.T + bias, dim=-1)
    right = (x * table[y]).sum(dim=-1) + bias[y]
    return (whole - right).sum() / max(len(rows), 1)


# %% right: flat places
# reshape, index_select, log_softmax, one-hot.

import torch
from torch.nn import functional as F


def masked_lm_loss(vectors, targets, table, bias):
    flat = targets.reshape(-1)
    places = torch.where(flat >= 0)[0]
    x = vectors.reshape(-1, vectors.shape[-1]).index_select(0, places)
    logs = torch.log_softmax(torch.einsum("nk,vk->nv", x, table) + bias, dim=1)
    hot = F.one_hot(flat[places], table.shape[0]).to(logs.dtype)
    return -(logs * hot).sum() / (len(places) or 1)


# %% right: constant one
# the bias as one more column of the table; the largest score subtracted by hand.

import torch


def masked_lm_loss(vectors, targets, table, bias):
    chosen = targets.ne(-100)
    x = vectors[chosen]
    x = torch.cat([x, torch.ones_like(x[:, :1])], dim=1)
    scores = x @ torch.cat([table, bias.unsqueeze(1)], dim=1).T
    if not len(scores):
        return scores.sum()
    scores = scores - scores.detach().amax(dim=1, keepdim=True)
    right = scores.take_along_dim(targets[chosen].unsqueeze(1), dim=1).squeeze(1)
    return (scores.exp().sum(dim=1).log() - right).mean()


# %% wrong: empty by 0 times sums
# if nothing is chosen, 0 times the sums, also of the vectors: nan, if any of them is nan or infinite.
# shows: all targets -100, vectors with a nan.

from torch.nn import functional as F


def masked_lm_loss(vectors, targets, table, bias):
    chosen = targets != -100
    if not chosen.any():
        return 0.0 * (vectors.sum() + table.sum() + bias.sum())
    return F.cross_entropy(vectors[chosen] @ table.T + bias, targets[chosen])


# %% wrong: scores everywhere
# empties the other vectors, but computes the scores of all positions.
# shows: the largest tensor: B = 64, T = 512, V = 30,000 with one chosen position.

from torch.nn import functional as F


def masked_lm_loss(vectors, targets, table, bias):
    chosen = targets != -100
    x = vectors.masked_fill(~chosen.unsqueeze(-1), 0.0)
    scores = (x @ table.T + bias).flatten(0, 1)
    total = F.cross_entropy(scores, targets.flatten(), ignore_index=-100, reduction="sum")
    return total / chosen.sum().clamp(min=1)


# %% wrong: products before the sum
# the dot products by a tensor (N, V, D), which is larger than (B, T, V) as soon as N * D > B * T.
# shows: one chosen position of B * T = 100, D = 256, by the largest tensor.

from torch.nn import functional as F


def masked_lm_loss(vectors, targets, table, bias):
    chosen = targets != -100
    scores = (vectors[chosen].unsqueeze(1) * table).sum(dim=-1) + bias
    return F.cross_entropy(scores, targets[chosen], reduction="sum") / max(1, len(scores))


# %% wrong: in float32
# computes in float32 and casts the loss.
# shows: float64: 7 digits only.

from torch.nn import functional as F


def masked_lm_loss(vectors, targets, table, bias):
    chosen = targets != -100
    scores = vectors[chosen].float() @ table.float().T + bias.float()
    total = F.cross_entropy(scores, targets[chosen], reduction="sum")
    return (total / chosen.sum().clamp(min=1)).to(vectors.dtype)


# %% wrong: bias without gradient
# no gradient flows to the bias.
# shows: bias.grad after backward.

from torch.nn import functional as F


def masked_lm_loss(vectors, targets, table, bias):
    chosen = targets != -100
    scores = vectors[chosen] @ table.T + bias.detach()
    return F.cross_entropy(scores, targets[chosen], reduction="sum") / chosen.sum().clamp(min=1)


# %% wrong: empty without vectors
# if nothing is chosen, the loss knows nothing of the vectors: they get no gradient at all.
# shows: all targets -100, vectors that require a gradient: .grad is None (and backward fails if only they do).

from torch.nn import functional as F


def masked_lm_loss(vectors, targets, table, bias):
    chosen = targets != -100
    if not chosen.any():
        return 0.0 * (table.sum() + bias.sum())
    return F.cross_entropy(vectors[chosen] @ table.T + bias, targets[chosen])


# %% wrong: flattens with view
# flattens with `view`, which cannot deal with gaps in memory.
# shows: vectors = x.transpose(0, 1): RuntimeError.

from torch.nn import functional as F


def masked_lm_loss(vectors, targets, table, bias):
    rows, flat = vectors.view(-1, vectors.shape[-1]), targets.view(-1)
    places = (flat != -100).nonzero()[:, 0]
    total = F.cross_entropy(rows[places] @ table.T + bias, flat[places], reduction="sum")
    return total / max(1, len(places))


# %% wrong: nothing is nan
# the mean of nothing is nan.
# shows: all targets -100.

from torch.nn import functional as F


def masked_lm_loss(vectors, targets, table, bias):
    chosen = targets != -100
    return F.cross_entropy(vectors[chosen] @ table.T + bias, targets[chosen])


# %% wrong: mean of means
# the mean of the rows' means.
# shows: two rows with 2 and 1 chosen positions.

import torch
from torch.nn import functional as F


def masked_lm_loss(vectors, targets, table, bias):
    chosen = targets != -100
    nats = F.cross_entropy(vectors[chosen] @ table.T + bias, targets[chosen], reduction="none")
    each = torch.zeros(targets.shape, dtype=nats.dtype).masked_scatter(chosen, nats)
    n = chosen.sum(dim=1)
    return (each.sum(dim=1) / n.clamp(min=1)).sum() / (n > 0).sum().clamp(min=1)


# %% wrong: exponentials as they are
# the softmax without subtracting the largest score.
# shows: scores of 1000: inf or nan.


def masked_lm_loss(vectors, targets, table, bias):
    chosen = targets != -100
    scores = vectors[chosen] @ table.T + bias
    right = scores.gather(1, targets[chosen].unsqueeze(1)).squeeze(1)
    return (scores.exp().sum(dim=1).log() - right).sum() / chosen.sum().clamp(min=1)


# %% wrong: loop over positions
# a loop over the chosen positions, which the rules forbid (loss and gradients are right).
# shows: the source.

import torch


def masked_lm_loss(vectors, targets, table, bias):
    places = (targets != -100).nonzero().tolist()
    total = vectors[:0].sum() + table[:0].sum() + bias[:0].sum()
    for b, t in places:
        scores = table @ vectors[b, t] + bias
        total = total + torch.logsumexp(scores, 0) - scores[targets[b, t]]
    return total / max(1, len(places))


# %% wrong: first choice of each id
# of several chosen positions with the same target only one counts (a dict by target).
# shows: targets 3 and 3 at two positions. Right if all targets differ.

import torch
from torch.nn import functional as F


def masked_lm_loss(vectors, targets, table, bias):
    places = {int(targets[b, t]): (b, t) for b, t in (targets != -100).nonzero().tolist()}
    rows = [b for b, _ in places.values()]
    columns = [t for _, t in places.values()]
    scores = vectors[rows, columns] @ table.T + bias
    total = F.cross_entropy(scores, torch.tensor(list(places), dtype=torch.int64), reduction="sum")
    return total / max(1, len(places))


# %% wrong: no graph to the table
# where nothing is chosen, the 0 hangs on the vectors alone.
# shows: no position is chosen: table.grad is None

from torch.nn import functional as F

IGNORE = -100


def masked_lm_loss(vectors, targets, table, bias):
    chosen = targets != IGNORE
    picked = vectors[chosen]
    if not len(picked):
        return picked.sum()
    return F.cross_entropy(F.linear(picked, table, bias), targets[chosen])


# %% wrong: no probability below tiny
# keeps probabilities from being 0 before it takes their logarithm, so no loss is above 87 (or 708).
# shows: float32, scores (0, 3000), target 0: 87.3 in place of 3000

import torch

IGNORE = -100


def masked_lm_loss(vectors, targets, table, bias):
    chosen = targets != IGNORE
    scores = vectors[chosen] @ table.T + bias
    probs = scores.softmax(dim=-1).gather(1, targets[chosen][:, None])
    logs = probs.clamp(min=torch.finfo(probs.dtype).tiny).log()
    return -logs.sum() / max(1, int(chosen.sum()))
