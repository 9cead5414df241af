# %% right: Chooses positions first, and adds each to its row.
def score_replies(logits, targets):
    rows, places = (targets != IGNORE).nonzero(as_tuple=True)
    wanted = targets[rows, places]
    values = -F.cross_entropy(logits[rows, places], wanted, reduction="none")
    log_probs = logits.new_zeros(len(logits)).index_add(0, rows, values)
    return log_probs, -values.sum() / max(len(wanted), 1)


# %% right: Lets torch's function ignore what is to be ignored, after cleaning.
def score_replies(logits, targets):
    is_out = targets == IGNORE
    clean = torch.where(is_out[..., None], torch.zeros_like(logits), logits)
    losses = F.cross_entropy(clean.transpose(1, 2), targets, ignore_index=IGNORE, reduction="none")
    return -losses.sum(dim=1), losses.sum() / (~is_out).sum().clamp(min=1)


# %% right: Puts the chosen values back into a table.
def score_replies(logits, targets):
    chosen = targets.ne(IGNORE)
    picked, wanted = logits[chosen], targets[chosen]
    values = picked.gather(1, wanted[:, None]).squeeze(1) - picked.logsumexp(dim=1)
    table = logits.new_zeros(targets.shape).masked_scatter(chosen, values)
    return table.sum(dim=1), -values.sum() / max(int(chosen.sum()), 1)


# %% right: Multiplies with a one-hot table.
def score_replies(logits, targets):
    has_target = (targets != IGNORE).unsqueeze(-1)
    clean = logits.where(has_target, 0.0)
    hot = F.one_hot(targets.clamp(min=0), logits.shape[-1]) * has_target
    values = torch.einsum("btv,btv->bt", F.log_softmax(clean, dim=-1), hot.to(logits.dtype))
    n = hot.sum().clamp(min=1)
    return values.sum(1), -values.sum() / n


# %% right: Lays all positions in one row.
def score_replies(logits, targets):
    B, T, V = logits.shape
    flat = targets.reshape(-1)
    at = torch.nonzero(flat != IGNORE).reshape(-1)
    kept = logits.reshape(B * T, V)[at]
    losses = F.nll_loss(F.log_softmax(kept, dim=1), flat[at], reduction="none")
    owner = torch.div(at, T, rounding_mode="floor")
    log_probs = torch.zeros(B, dtype=logits.dtype).scatter_add(0, owner, -losses)
    return log_probs, losses.sum() / max(losses.numel(), 1)


# %% right: Writes the softmax out, with the largest logit subtracted.
def score_replies(logits, targets):
    out = targets == IGNORE
    safe = logits.masked_fill(out[:, :, None], 1.0)
    safe = safe - safe.detach().amax(dim=2, keepdim=True)
    rows = torch.arange(len(targets))[:, None]
    places = torch.arange(targets.shape[1])[None, :]
    values = safe[rows, places, targets.masked_fill(out, 0)] - safe.exp().sum(dim=2).log()
    values = values.masked_fill(out, 0)
    return values.sum(dim=1), values.sum() / -(~out).sum().clamp_min(1)


# %% right: pick
# picks the positions first; index_add.

import torch
from torch.nn import functional as F


def score_replies(logits, targets):
    mask = targets != -100
    rows = mask.nonzero()[:, 0]
    chosen = F.log_softmax(logits[mask], dim=-1)
    values = chosen.gather(1, targets[mask][:, None])[:, 0]
    log_probs = torch.zeros(len(logits), dtype=logits.dtype).index_add(0, rows, values)
    return log_probs, -values.sum() / max(1, len(values))


# %% right: clean
# replaces the logits where there is no target, computes everywhere.

import torch


def score_replies(logits, targets):
    mask = targets >= 0
    clean = torch.where(mask[..., None], logits, 0.0)
    scores = clean.log_softmax(-1).gather(-1, targets.clamp(min=0)[..., None]).squeeze(-1)
    scores = scores * mask
    n = mask.sum().clamp(min=1)
    return scores.sum(dim=1), -(scores.sum() / n)


# %% right: cross entropy
# cross_entropy without reduction on clean logits.

from torch.nn import functional as F


def score_replies(logits, targets):
    nothing = targets.eq(-100)
    clean = logits.masked_fill(nothing.unsqueeze(-1), 0)
    surprise = F.cross_entropy(clean.mT, targets, ignore_index=-100, reduction="none")
    total = surprise.sum()
    count = int((~nothing).sum())
    return -surprise.sum(1), total / count if count else total


# %% right: logsumexp
# score minus logsumexp; a matrix of ones and zeros sums the rows.

import torch


def score_replies(logits, targets):
    rows, places = (targets != -100).nonzero(as_tuple=True)
    scores = logits[rows, places]
    right = targets[rows, places]
    found = scores[torch.arange(len(rows)), right] - scores.logsumexp(dim=1)
    belongs = (torch.arange(logits.shape[0])[:, None] == rows).to(logits.dtype)
    log_probs = belongs @ found
    loss = -found.mean() if len(found) else found.sum()
    return log_probs, loss


# %% right: by hand
# largest score subtracted by hand; masked_scatter back into the batch.

import torch


def score_replies(logits, targets):
    mask = targets != -100
    picked = logits[mask]
    picked = picked - picked.detach().amax(dim=1, keepdim=True)
    values = picked.take_along_dim(targets[mask][:, None], 1)[:, 0] - picked.exp().sum(1).log()
    grid = torch.zeros(targets.shape, dtype=logits.dtype).masked_scatter(mask, values)
    log_probs = grid.sum(dim=-1)
    return log_probs, log_probs.sum().neg() / mask.sum().clamp_min(1)


# %% wrong: loss without graph
# computes the loss from detached numbers.
# shows: loss.backward() alone raises a RuntimeError.

import torch
from torch.nn import functional as F


def score_replies(logits, targets):
    mask = targets != -100
    clean = torch.where(mask[..., None], logits, 0)
    values = F.log_softmax(clean, -1).gather(-1, targets.clamp(min=0)[..., None]).squeeze(-1) * mask
    log_probs = values.sum(1)
    return log_probs, -log_probs.detach().sum() / mask.sum().clamp(min=1)


# %% wrong: constant without targets
# without any target the loss is a fresh 0 without a graph.
# shows: no target at all: loss.backward() alone raises a RuntimeError.

import torch
from torch.nn import functional as F


def score_replies(logits, targets):
    mask = targets != -100
    clean = torch.where(mask[..., None], logits, 0)
    values = F.log_softmax(clean, -1).gather(-1, targets.clamp(min=0)[..., None]).squeeze(-1) * mask
    loss = -values.sum() / mask.sum() if mask.any() else torch.zeros((), dtype=logits.dtype)
    return values.sum(1), loss


# %% wrong: flattens with view
# view, which cannot deal with gaps in memory.
# shows: logits = big[:, ::2] or logits[:, :-1]: RuntimeError.

import torch
from torch.nn import functional as F


def score_replies(logits, targets):
    B, T, V = logits.shape
    mask = targets != -100
    clean = logits.view(B * T, V)[mask.flatten()]
    values = F.log_softmax(clean, -1).gather(1, targets[mask][:, None])[:, 0]
    rows = mask.nonzero()[:, 0]
    log_probs = logits.new_zeros(B).index_add(0, rows, values)
    return log_probs, -values.sum() / mask.sum().clamp(min=1)


# %% wrong: softmax and a little more
# the logarithm of softmax + 1e-12: finite, but bounded, and the gradient vanishes.
# shows: logits 0 and 1000, target 0: -27.6, not -1000.

import torch


def score_replies(logits, targets):
    mask = targets != -100
    clean = torch.where(mask[..., None], logits, 0)
    logs = (clean.softmax(-1) + 1e-12).log()
    values = logs.gather(-1, targets.clamp(min=0)[..., None]).squeeze(-1) * mask
    return values.sum(1), -values.sum() / mask.sum().clamp(min=1)


# %% wrong: in float32
# computes in float32 and casts back.
# shows: float64: right to 7 digits only; logits of thousands: the error is 1e-4.

import torch
from torch.nn import functional as F


def score_replies(logits, targets):
    mask = targets != -100
    clean = torch.where(mask[..., None], logits, 0).float()
    values = F.log_softmax(clean, -1).gather(-1, targets.clamp(min=0)[..., None]).squeeze(-1) * mask
    log_probs = values.sum(1).to(logits.dtype)
    return log_probs, -log_probs.sum() / mask.sum().clamp(min=1)


# %% wrong: squeezes too much
# squeeze without an axis.
# shows: B = 1 (or T = 1): the result has the wrong shape, or an IndexError.

import torch
from torch.nn import functional as F


def score_replies(logits, targets):
    mask = targets != -100
    clean = torch.where(mask[..., None], logits, 0)
    values = F.log_softmax(clean, -1).gather(-1, targets.clamp(min=0)[..., None])
    values = (values * mask[..., None]).squeeze()
    return values.sum(-1), -values.sum() / mask.sum().clamp(min=1)


# %% wrong: times the mask
# nan_to_num makes logits finite, but the difference of the largest numbers is not: -inf times 0.
# shows: float64, inf and -inf (at id 0) where there is no target: nan.

import torch
from torch.nn import functional as F


def score_replies(logits, targets):
    mask = targets != -100
    logs = F.log_softmax(logits.nan_to_num(), -1)
    values = logs.gather(-1, targets.clamp(min=0)[..., None]).squeeze(-1) * mask
    return values.sum(1), -values.sum() / mask.sum().clamp(min=1)


# %% wrong: cleans too late
# masks the log probabilities, not the logits: the gradient is nan at other places.
# shows: nan where there is no target, backward.

import torch
from torch.nn import functional as F


def score_replies(logits, targets):
    mask = targets != -100
    logs = F.log_softmax(logits, -1).gather(-1, targets.clamp(min=0)[..., None]).squeeze(-1)
    values = torch.where(mask, logs, 0)
    return values.sum(1), -values.sum() / mask.sum().clamp(min=1)


# %% wrong: loop over rows
# a loop over the rows, which the rules forbid (the numbers are right).
# shows: the source.

import torch
from torch.nn import functional as F


def score_replies(logits, targets):
    log_probs = []
    for scores, right in zip(logits, targets, strict=True):
        log_probs.append(-F.cross_entropy(scores[right != -100], right[right != -100], reduction="sum"))
    log_probs = torch.stack(log_probs)
    return log_probs, -log_probs.sum() / (targets != -100).sum().clamp(min=1)


# %% wrong: mean of rows
# the loss is the mean over the rows.
# shows: rows with different numbers of targets.

import torch
from torch.nn import functional as F


def score_replies(logits, targets):
    mask = targets != -100
    clean = torch.where(mask[..., None], logits, 0)
    values = F.log_softmax(clean, -1).gather(-1, targets.clamp(min=0)[..., None]).squeeze(-1) * mask
    means = values.sum(1) / mask.sum(1).clamp(min=1)
    return values.sum(1), -means.sum() / mask.any(1).sum().clamp(min=1)


# %% wrong: log probs without graph
# the log probabilities are detached; only the loss can be trained.
# shows: log_probs.sum().backward() alone raises a RuntimeError.

import torch
from torch.nn import functional as F


def score_replies(logits, targets):
    mask = targets != -100
    clean = torch.where(mask[..., None], logits, 0)
    values = F.log_softmax(clean, -1).gather(-1, targets.clamp(min=0)[..., None]).squeeze(-1) * mask
    return values.detach().sum(1), -values.sum() / mask.sum().clamp(min=1)


# %% wrong: largest of the batch
# subtracts the largest logit of all positions, then exponentials.
# shows: two positions whose logits are 5000 apart: -inf.

import torch


def score_replies(logits, targets):
    mask = targets != -100
    clean = torch.where(mask[..., None], logits, 0)
    clean = clean - clean.detach().max()
    right = clean.gather(-1, targets.clamp(min=0)[..., None]).squeeze(-1)
    values = torch.where(mask, right - clean.exp().sum(-1).log(), 0)
    return values.sum(1), -values.sum() / mask.sum().clamp(min=1)


# %% wrong: a floor for log-probabilities
# log-probabilities are -1e9 at least.
# shows: a log-probability of -2e9.
import torch


def score_replies(logits, targets):
    has = targets != -100
    clean = logits.masked_fill(~has.unsqueeze(-1), 0)
    v = torch.log_softmax(clean, -1).clamp(min=-1e9).gather(-1, targets.clamp(min=0).unsqueeze(-1)).squeeze(-1)
    v = torch.where(has, v, 0.0)
    return v.sum(1), -v.sum() / has.sum().clamp(min=1)
