# %% right: Gathers a harmless id where nothing counts, and masks afterwards.
def cross_entropy(logits, targets, ignore_index):
    counts = targets != ignore_index
    top = logits.amax(dim=-1, keepdim=True)
    log_probs = logits - top - (logits - top).exp().sum(dim=-1, keepdim=True).log()
    safe = targets.masked_fill(~counts, 0).unsqueeze(-1)
    surprise = -log_probs.gather(-1, safe).squeeze(-1)
    return surprise.masked_fill(~counts, 0).sum() / counts.sum().clamp(min=1)


# %% right: The surprise is the logarithm of a sum of differences to the target's score.
def cross_entropy(logits, targets, ignore_index):
    rows = torch.nonzero(targets != ignore_index).flatten()
    if len(rows) == 0:
        return (logits * 0).sum()
    kept = logits[rows]
    behind = kept - kept[torch.arange(len(rows)), targets[rows]].unsqueeze(1)
    top = behind.max(dim=1).values.detach()
    return (top + torch.log(torch.exp(behind - top[:, None]).sum(dim=1))).mean()


# %% right: Multiplies by a one-hot matrix; rows that do not count have no one in it.
def cross_entropy(logits, targets, ignore_index):
    ids = torch.arange(logits.shape[1])
    is_target = (targets[:, None] == ids) & (targets[:, None] != ignore_index)
    top = logits.max(dim=1, keepdim=True)[0].detach()
    log_probs = (logits - top) - torch.log(torch.sum(torch.exp(logits - top), 1, keepdim=True))
    n = is_target.sum()
    return -torch.where(is_target, log_probs, torch.zeros_like(logits)).sum() / n.clamp(min=1)


# %% right: Adds up the row in the logarithm, one score after the other.
def cross_entropy(logits, targets, ignore_index):
    counts = targets != ignore_index
    total = logits[:, 0]
    for column in logits.unbind(1)[1:]:
        total = torch.logaddexp(total, column)
    chosen = logits.gather(1, torch.where(counts, targets, 0)[:, None])[:, 0]
    surprise = (total - chosen)[counts]
    return surprise.mean() if len(surprise) else surprise.sum()


# %% right: Goes from row to row.
def cross_entropy(logits, targets, ignore_index):
    losses = []
    for row, target in zip(logits, targets.tolist(), strict=True):
        if target != ignore_index:
            top = row.max()
            losses.append(top + (row - top).exp().sum().log() - row[target])
    return torch.stack(losses).mean() if losses else logits.new_zeros(()) * logits.sum()


# %% right: throw away first
import torch


def cross_entropy(logits, targets, ignore_index):
    counts = targets != ignore_index
    rows, wanted = logits[counts], targets[counts]
    if len(wanted) == 0:
        return (logits * 0).sum()
    rows = rows - rows.max(dim=1, keepdim=True).values
    surprise = rows.exp().sum(dim=1).log() - rows[torch.arange(len(wanted)), wanted]
    return surprise.mean()


# %% right: sum over count
import torch


def cross_entropy(logits, targets, ignore_index):
    keep = targets.ne(ignore_index)
    z = logits[keep] - logits[keep].detach().amax(dim=-1, keepdim=True) if keep.any() else logits[keep]
    surprise = torch.log(torch.exp(z).sum(-1)) - z.gather(-1, targets[keep].unsqueeze(-1)).squeeze(-1)
    return surprise.sum() / max(int(keep.sum()), 1)


# %% right: differences to the target
# -ln p = ln sum exp(z_j - z_target), with the largest difference taken out

import torch


def cross_entropy(logits, targets, ignore_index):
    index = torch.nonzero(targets != ignore_index).squeeze(1)
    if index.numel() == 0:
        return (logits * 0).sum()
    rows = logits.index_select(0, index)
    apart = rows - rows.gather(1, targets[index].unsqueeze(1))
    top = apart.detach().amax(1, keepdim=True)
    return (top.squeeze(1) + (apart - top).exp().sum(1).log()).mean()


# %% right: where on rows
import torch


def cross_entropy(logits, targets, ignore_index):
    real = targets != ignore_index
    safe = torch.where(real[:, None], logits, torch.zeros_like(logits))
    ids = torch.where(real, targets, torch.zeros_like(targets))
    top = torch.max(safe, dim=1).values.unsqueeze(1)
    log_z = torch.log(torch.sum(torch.exp(safe - top), dim=1)) + top.squeeze(1)
    surprise = torch.where(real, log_z - safe.take_along_dim(ids[:, None], dim=1).squeeze(1), safe.new_zeros(()))
    return surprise.sum() / real.sum().clamp(min=1)


# %% right: logaddexp fold
# the logarithm of the sum of exponentials, folded column by column

import torch
import functools


def cross_entropy(logits: torch.Tensor, targets: torch.Tensor, ignore_index: int) -> torch.Tensor:
    mask = targets != ignore_index
    rows = logits[mask]
    if not rows.shape[0]:
        return logits.mul(0).sum()
    total = functools.reduce(torch.logaddexp, rows.unbind(dim=1))
    chosen = rows[range(rows.shape[0]), targets[mask]]
    return torch.mean(total - chosen)


# %% right: logaddexp column by column
# measures all scores from that of the target, then adds the exponentials up column by column with logaddexp; an empty selection sums to 0 and keeps its graph
from functools import reduce

import torch


def cross_entropy(logits, targets, ignore_index):
    (rows,) = torch.nonzero(targets != ignore_index, as_tuple=True)
    chosen = logits.index_select(0, rows)
    hit = chosen.gather(1, targets[rows].unsqueeze(1))
    surprise = reduce(torch.logaddexp, (chosen - hit).unbind(1))
    return surprise.sum() / max(rows.numel(), 1)


# %% wrong: largest of all
# subtracts the largest score of ALL rows: a row far below it has only exponentials of 0, and log 0 = -inf.
# shows: two rows whose scores differ by more than 100 (float32) or 750 (float64).

import torch


def cross_entropy(logits, targets, ignore_index):
    keep = targets != ignore_index
    z, t = logits[keep], targets[keep]
    if len(t) == 0:
        return logits.sum() * 0
    z = z - z.max().detach()
    return (z.exp().sum(dim=1).log() - z[torch.arange(len(t)), t]).mean()


# %% wrong: zero from nowhere
# where no row counts it returns torch.tensor(0.0): float32 whatever the logits are, and backward fails.
# shows: all targets ignored, with float64 logits, or with backward.

import torch


def cross_entropy(logits, targets, ignore_index):
    keep = targets != ignore_index
    if not keep.any():
        return torch.tensor(0.0)
    z, t = logits[keep], targets[keep]
    z = z - z.amax(dim=1, keepdim=True)
    return (z.exp().sum(1).log() - z.gather(1, t[:, None]).squeeze(1)).mean()


# %% wrong: multiplied by mask
# ignored rows are computed and multiplied by 0: inf or nan scores in them spoil the loss; a target of -100 is taken for id 0 meanwhile.
# ambiguous in part: that ignored rows may hold inf or nan is not said ("does not count").
# shows: an ignored row with inf or nan.

def cross_entropy(logits, targets, ignore_index):
    keep = (targets != ignore_index).to(logits.dtype)
    z = logits - logits.amax(dim=1, keepdim=True).detach()
    surprise = z.exp().sum(dim=1).log() - z.gather(1, targets.clamp(min=0).unsqueeze(1)).squeeze(1)
    return (surprise * keep).sum() / keep.sum().clamp(min=1)


# %% wrong: clamped probability
# log(p + 1e-30) cannot be more than 69: a target 1000 below the best has the loss 69 (and in float32 no gradient).
# shows: improbable targets.

import torch


def cross_entropy(logits, targets, ignore_index):
    keep = targets != ignore_index
    if not keep.any():
        return (logits * 0).sum()
    p = torch.softmax(logits[keep], dim=1).gather(1, targets[keep].unsqueeze(1))
    return -(p + 1e-30).log().mean()


# %% wrong: clamped scores
# scores are clamped to +-5000 first: those beyond are alike, and have no gradient.
# shows: scores of 10,000 and 20,000.

import torch


def cross_entropy(logits, targets, ignore_index):
    keep = targets != ignore_index
    z = logits[keep].clamp(-5000, 5000)
    if z.shape[0] == 0:
        return logits.sum() * 0.0
    z = z - z.amax(1, keepdim=True).detach()
    return (z.exp().sum(1).log() - z[torch.arange(len(z)), targets[keep]]).mean()


# %% wrong: divides by all rows if ignored is an id
# if ignore_index is an id of the vocabulary its rows are left out of the sum, but counted in the mean.
# shows: ignore_index = 3, say, with some targets 3.

import torch


def cross_entropy(logits, targets, ignore_index):
    keep = targets != ignore_index
    n = keep.sum() if not 0 < ignore_index < logits.shape[1] else len(targets)
    z = logits[keep]
    if len(z) == 0:
        return logits.sum() * 0.0
    z = z - z.amax(1, keepdim=True).detach()
    return (z.exp().sum(1).log() - z[torch.arange(len(z)), targets[keep]]).sum() / n


# %% wrong: in place on logits
# subtracts the largest score in the caller's logits if they need no gradient ("then nobody minds").
# shows: logits after the call, without requires_grad; no row ignored.

def cross_entropy(logits, targets, ignore_index):
    keep = targets != ignore_index
    if not keep.any():
        return logits.sum() * 0
    if logits.requires_grad:
        z = logits - logits.amax(1, keepdim=True).detach()
    else:
        z = logits.sub_(logits.amax(1, keepdim=True))
    surprise = z.exp().sum(1).log() - z.gather(1, targets.masked_fill(~keep, 0)[:, None])[:, 0]
    return surprise[keep].mean()


# %% wrong: python floats
# a loop with .item(): no gradient, and slow.
# shows: backward.

import math
import torch


def cross_entropy(logits, targets, ignore_index):
    total, n = 0.0, 0
    for row, t in zip(logits.tolist(), targets.tolist()):
        if t != ignore_index:
            m = max(row)
            total += math.log(sum(math.exp(z - m) for z in row)) - (row[t] - m)
            n += 1
    return torch.tensor(total / max(n, 1), dtype=logits.dtype)


# %% wrong: nan if nothing counts
# the mean of nothing is nan.
# shows: all rows ignored, or N = 0.

def cross_entropy(logits, targets, ignore_index):
    keep = targets != ignore_index
    z = logits[keep]
    z = z - z.amax(dim=1, keepdim=True)
    return (z.exp().sum(1).log() - z.gather(1, targets[keep, None])[:, 0]).mean()


# %% wrong: compared as bytes
# ids are compared with ignore_index as bytes (mod 256), so that too many rows are ignored in a large vocabulary.
# shows: ignore_index = 5 and a target 261 in a vocabulary of 300.

import torch


def cross_entropy(logits, targets, ignore_index):
    keep = (targets >= 0) & (targets.to(torch.uint8) != ignore_index % 256 if ignore_index >= 0 else targets >= 0)
    if not keep.any():
        return logits.sum() * 0
    z = logits[keep]
    z = z - z.amax(1, keepdim=True).detach()
    return (z.exp().sum(1).log() - z[torch.arange(len(z)), targets[keep]]).mean()


# %% wrong: torch does it
# logsumexp is not allowed (nor the others).
# shows: by reading.

import torch


def cross_entropy(logits, targets, ignore_index):
    keep = targets != ignore_index
    if not keep.any():
        return logits.sum() * 0
    z = logits[keep]
    return (torch.logsumexp(z, dim=1) - z[torch.arange(len(z)), targets[keep]]).mean()


# %% wrong: overwrites targets
# writes 0 over the ignored targets, in the caller's own tensor, to be able to look them up; breaks "Do not change your arguments"
# shows: targets = torch.tensor([1, -100]); after the call they are [1, 0]
import torch


def cross_entropy(logits, targets, ignore_index):
    counts = targets != ignore_index
    targets[~counts] = 0
    shifted = logits - logits.max(dim=1, keepdim=True).values
    surprise = shifted.exp().sum(dim=1).log() - shifted[torch.arange(len(targets)), targets]
    return torch.where(counts, surprise, 0).sum() / counts.sum().clamp(min=1)


# %% wrong: the maximum begins at -1e9
# A row whose scores are all lower becomes log(0).
# shows: scores -1e37, -2e37
def cross_entropy(logits, targets, ignore_index):
    """Return the mean surprise at the targets that count, in nats."""
    counts = targets != ignore_index
    logits, targets = (logits[counts], targets[counts])
    shifted = logits - logits.max(dim=1, keepdim=True).values.clamp(min=-1000000000.0)
    log_totals = shifted.exp().sum(dim=1).log()
    chosen = shifted[torch.arange(len(targets)), targets]
    return (log_totals - chosen).sum() / max(len(targets), 1)
