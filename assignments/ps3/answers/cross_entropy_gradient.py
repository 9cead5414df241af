# %% right: Subtracts a one-hot matrix and masks the rows that do not count.
def cross_entropy_gradient(logits, targets, ignore_index):
    counts = (targets != ignore_index).unsqueeze(1)
    one_hot = F.one_hot(targets.masked_fill(~counts[:, 0], 0), logits.shape[1])
    difference = torch.softmax(logits, dim=1) - one_hot
    return torch.where(counts, difference, 0.0) / counts.sum().clamp(min=1)


# %% right: Compares each column's number with the target; softmax is written out.
def cross_entropy_gradient(logits, targets, ignore_index):
    powers = torch.exp(logits - logits.amax(dim=1, keepdim=True))
    probs = powers / powers.sum(dim=1, keepdim=True)
    counts = (targets != ignore_index).to(logits.dtype)
    is_target = (torch.arange(logits.shape[1])[None, :] == targets[:, None]).to(logits.dtype)
    return (probs - is_target) * counts[:, None] / max(counts.sum().item(), 1.0)


# %% right: Adds -1 at the targets by scattering, and weighs each row.
def cross_entropy_gradient(logits, targets, ignore_index):
    counts = targets.ne(ignore_index)
    weights = counts.to(logits.dtype) / counts.sum().clamp(min=1)
    places = targets.where(counts, torch.zeros_like(targets)).unsqueeze(-1)
    minus_one = torch.full_like(logits[:, :1], -1.0)
    return logits.softmax(dim=-1).scatter_add(1, places, minus_one) * weights.unsqueeze(-1)


# %% right: Goes from row to row.
def cross_entropy_gradient(logits, targets, ignore_index):
    rows, n = [], sum(target != ignore_index for target in targets.tolist())
    for row, target in zip(logits, targets.tolist(), strict=True):
        if target == ignore_index:
            rows.append(torch.zeros_like(row))
        else:
            change = torch.zeros_like(row)
            change[target] = 1
            rows.append((torch.softmax(row, dim=0) - change) / n)
    return torch.stack(rows)


# %% right: Goes through log-probabilities, and forgives itself what does not count.
def cross_entropy_gradient(logits, targets, ignore_index):
    probs = torch.exp(torch.log_softmax(logits, dim=-1))
    keep = targets != ignore_index
    probs[keep, targets[keep]] -= 1
    probs[~keep] = 0
    return probs.div_(max(keep.count_nonzero().item(), 1))


# %% right: rows and columns
import torch


def cross_entropy_gradient(logits, targets, ignore_index):
    counts = targets != ignore_index
    rows = torch.arange(len(targets))[counts]
    gradient = torch.softmax(logits, dim=1)
    gradient[rows, targets[rows]] -= 1
    gradient[~counts] = 0
    return gradient / max(len(rows), 1)


# %% right: one hot
import torch
from torch.nn import functional as F


def cross_entropy_gradient(logits, targets, ignore_index):
    keep = targets.ne(ignore_index)
    wanted = F.one_hot(targets.masked_fill(~keep, 0), num_classes=logits.shape[1]).to(logits.dtype)
    return torch.where(keep[:, None], logits.softmax(1) - wanted, torch.zeros_like(logits)) / keep.sum().clamp(min=1)


# %% right: compare with arange
import torch


def cross_entropy_gradient(logits, targets, ignore_index):
    columns = torch.arange(logits.shape[1])
    is_target = (targets[:, None] == columns).to(logits.dtype)
    weight = (targets != ignore_index).to(logits.dtype)
    weight = weight / weight.sum().clamp(min=1)
    top = logits.amax(dim=1, keepdim=True)
    e = (logits - top).exp()
    return weight[:, None] * (e / e.sum(dim=1, keepdim=True) - is_target)


# %% right: scatter add
import torch
from torch.nn import functional as F


def cross_entropy_gradient(logits, targets, ignore_index):
    keep = (targets != ignore_index).nonzero().flatten()
    n = keep.numel()
    out = torch.zeros_like(logits)
    if n == 0:
        return out
    p = F.softmax(logits[keep], dim=-1) / n
    p = p.scatter_add(1, targets[keep].unsqueeze(1), p.new_full((n, 1), -1 / n))
    return out.index_copy(0, keep, p)


# %% right: row by row
import torch


def cross_entropy_gradient(logits: torch.Tensor, targets: torch.Tensor, ignore_index: int) -> torch.Tensor:
    ids = targets.tolist()
    n = sum(1 for i in ids if i != ignore_index) or 1
    rows = []
    for row, i in zip(logits, ids):
        if i == ignore_index:
            rows.append(torch.zeros_like(row))
        else:
            wanted = torch.zeros_like(row)
            wanted[i] = 1
            rows.append((torch.softmax(row, 0) - wanted) / n)
    return torch.stack(rows) if rows else torch.zeros_like(logits)


# %% right: scatter of weights
# a weight for each row, 1/n or 0; the softmax times it, minus it at the target by scatter_add
import torch


def cross_entropy_gradient(logits, targets, ignore_index):
    ignored = targets.eq(ignore_index)
    n = targets.numel() - int(ignored.sum())
    weight = logits.new_full((targets.numel(), 1), 1 / n if n else 0.0)
    weight = weight.masked_fill(ignored.unsqueeze(1), 0)
    columns = targets.masked_fill(ignored, 0).unsqueeze(1)
    return (logits.softmax(1) * weight).scatter_add(1, columns, -weight)


# %% wrong: one hot infers the width
# F.one_hot without num_classes takes the largest target for the last id: wrong shape where the last id of the vocabulary does not occur.
# shows: targets that do not hold V - 1.

import torch
from torch.nn import functional as F


def cross_entropy_gradient(logits, targets, ignore_index):
    keep = targets != ignore_index
    n = keep.sum().clamp(min=1)
    one_hot = F.one_hot(targets.clamp(min=0))
    width = one_hot.shape[1] if one_hot.shape[1] > 1 else logits.shape[1]
    one_hot = F.one_hot(targets.clamp(min=0), width)
    return (torch.softmax(logits, 1) - one_hot) * keep.unsqueeze(1) / n


# %% wrong: negative only
# rows are ignored where the target is negative; an ignore_index that is an id is subtracted like any other.
# shows: ignore_index = 0 (padding).

import torch


def cross_entropy_gradient(logits, targets, ignore_index):
    keep = targets >= 0
    gradient = torch.softmax(logits, dim=1)
    rows = torch.arange(len(targets))[keep]
    gradient[rows, targets[keep]] -= 1
    gradient[~keep] = 0
    return gradient / max(len(rows), 1)


# %% wrong: nothing counts
# 0 / 0 where no row counts... masked afterwards by multiplication, and 0 * nan is nan.
# shows: all rows ignored.

import torch


def cross_entropy_gradient(logits, targets, ignore_index):
    keep = targets != ignore_index
    gradient = torch.softmax(logits, dim=1)
    gradient[keep.nonzero()[:, 0], targets[keep]] -= 1
    return gradient / keep.sum() * keep.unsqueeze(1)


# %% wrong: autograd
# torch derives; under inference_mode the grader finds it out. (With enable_grad and inference_mode(False) it even runs.)
# shows: under torch.inference_mode(); by reading.

import torch


def cross_entropy_gradient(logits, targets, ignore_index):
    with torch.inference_mode(False), torch.enable_grad():
        leaf = torch.tensor(logits.tolist(), dtype=logits.dtype, requires_grad=True)
        keep = targets != ignore_index
        if not keep.any():
            return torch.zeros_like(logits)
        z = leaf[torch.tensor(keep.tolist())]
        loss = (z.logsumexp(1) - z[torch.arange(len(z)), torch.tensor(targets[keep].tolist())]).mean()
        loss.backward()
        return leaf.grad


# %% wrong: divided by all
# divides by all rows if an id of the vocabulary is ignored (len(targets)), by those that count if it is negative.
# shows: ignore_index = 0 with some zeros among the targets.

import torch


def cross_entropy_gradient(logits, targets, ignore_index):
    keep = targets != ignore_index
    n = int(keep.sum()) if ignore_index < 0 else len(targets)
    gradient = torch.zeros_like(logits)
    p = torch.softmax(logits[keep], dim=1)
    p[torch.arange(len(p)), targets[keep]] -= 1
    gradient[keep] = p / max(n, 1)
    return gradient


# %% wrong: writes into logits
# softmax is written into the caller's logits.
# shows: logits after the call.

import torch


def cross_entropy_gradient(logits, targets, ignore_index):
    keep = targets != ignore_index
    logits.copy_(torch.softmax(logits, dim=1))
    gradient = logits.clone()
    gradient[keep.nonzero()[:, 0], targets[keep]] -= 1
    gradient[~keep] = 0
    return gradient / max(int(keep.sum()), 1)


# %% wrong: overflow
# the softmax by hand, without the largest score subtracted, in float64: right up to 709, then nan.
# shows: scores of 1000.

def cross_entropy_gradient(logits, targets, ignore_index):
    keep = targets != ignore_index
    e = logits.double().exp()
    p = e / e.sum(1, keepdim=True)
    p[keep.nonzero()[:, 0], targets[keep]] -= 1
    p[~keep] = 0
    return (p / max(int(keep.sum()), 1)).to(logits.dtype)


# %% wrong: columns of all rows
# gradient[:, targets] -= 1 subtracts at the targets of ALL rows in each row.
# shows: two rows with different targets.

import torch


def cross_entropy_gradient(logits, targets, ignore_index):
    keep = targets != ignore_index
    gradient = torch.softmax(logits, dim=1)
    gradient[:, targets[keep]] -= 1
    return gradient * keep[:, None] / max(int(keep.sum()), 1)


# %% wrong: float32 zeros
# torch.zeros without a dtype: float32 for float64 logits.
# shows: float64 (dtype and digits).

import torch


def cross_entropy_gradient(logits, targets, ignore_index):
    keep = targets != ignore_index
    gradient = torch.zeros(logits.shape)
    p = torch.softmax(logits[keep], dim=1)
    p[torch.arange(len(p)), targets[keep]] -= 1
    gradient[keep] = (p / max(len(p), 1)).float()
    return gradient.to(logits.dtype)


# %% wrong: ignored rows sum to zero
# in an ignored row the gradient is p minus the mean of p, "so that it sums to 0".
# shows: ignored rows.

import torch


def cross_entropy_gradient(logits, targets, ignore_index):
    keep = targets != ignore_index
    p = torch.softmax(logits, dim=1)
    p[keep.nonzero()[:, 0], targets[keep]] -= 1
    p[~keep] -= p[~keep].mean(dim=1, keepdim=True)
    return p / max(int(keep.sum()), 1)


# %% wrong: one maximum for all rows
# subtracts the largest score of the whole batch, so a row far below it becomes 0 / 0; breaks "p the softmax of the row" where, as in task 3, scores may be "very large, very small, and far apart"
# shows: logits [[1000, 1000], [-1000, -1000]]: the second row is nan
import torch


def cross_entropy_gradient(logits, targets, ignore_index):
    e = (logits - logits.max()).exp()
    p = e / e.sum(dim=1, keepdim=True)
    (rows,) = torch.where(targets != ignore_index)
    p[rows, targets[rows]] -= 1
    gradient = torch.zeros_like(logits)
    gradient[rows] = p[rows] / max(len(rows), 1)
    return gradient


# %% wrong: through float32
# takes the softmax in float32 and turns the result back, which loses digits of float64, and overflows; breaks "all floats in one call have the same dtype" / "Scores ... may be very large"
# shows: float64 logits [[1e39, 0.0]]: nan; and numbers that are off by 1e-8
import torch


def cross_entropy_gradient(logits, targets, ignore_index):
    counts = targets != ignore_index
    p = torch.softmax(logits.float(), dim=1).to(logits.dtype)
    right = torch.zeros_like(p).scatter(1, targets.where(counts, 0)[:, None], 1.0)
    return torch.where(counts[:, None], p - right, 0.0) / counts.sum().clamp(min=1)


# %% wrong: clamps the scores
# What is far apart comes nearer than it is.
# shows: scores -1e37, -2e37: both become -10000
def cross_entropy_gradient(logits, targets, ignore_index):
    """Return the derivative of the mean surprise by each logit."""
    rows = torch.nonzero(targets != ignore_index).flatten()
    gradient = torch.zeros_like(logits)
    gradient[rows] = torch.softmax(logits[rows].clamp(-10000.0, 10000.0), dim=1)
    gradient[rows, targets[rows]] -= 1
    return gradient / max(len(rows), 1)


# %% wrong: needs contiguous scores
# A transposed matrix has no such view.
# shows: logits.T of a (V, N) matrix
def cross_entropy_gradient(logits, targets, ignore_index):
    """Return the derivative of the mean surprise by each logit."""
    logits.view(-1)
    rows = torch.nonzero(targets != ignore_index).flatten()
    gradient = torch.zeros_like(logits)
    gradient[rows] = torch.softmax(logits[rows], dim=1)
    gradient[rows, targets[rows]] -= 1
    return gradient / max(len(rows), 1)
