# %% right: The k-th largest is the (V - k + 1)-th smallest.
def keep_top_k(logits, k):
    V = logits.shape[-1]
    if k >= V or logits.numel() == 0:
        return logits.clone()
    limit = logits.kthvalue(V - k + 1, dim=-1, keepdim=True).values
    return torch.where(logits < limit, -math.inf, logits)


# %% right: Sorts each row, and looks at place k - 1.
def keep_top_k(logits, k):
    ordered, _ = torch.sort(logits, dim=-1, descending=True)
    place = min(k, logits.shape[-1]) - 1
    result = logits.clone()
    result[logits < ordered[..., place : place + 1]] = float("-inf")
    return result


# %% right: An id stays if fewer than k have a larger logit.
def keep_top_k(logits, k):
    n_larger = (logits.unsqueeze(-2) > logits.unsqueeze(-1)).sum(dim=-1)
    return logits.masked_fill(n_larger >= k, -torch.inf)


# %% right: The smallest of the k largest, by amin.
def keep_top_k(logits, k):
    top = torch.topk(logits, k if k < logits.shape[-1] else logits.shape[-1], sorted=False)
    limit = top.values.amin(dim=-1, keepdim=True)
    return torch.where(torch.ge(logits, limit), logits, torch.full_like(logits, -math.inf))


# %% right: All axes but the last become one.
def keep_top_k(logits, k):
    rows = logits.flatten(0, -2) if logits.dim() > 1 else logits[None]
    limits = rows.topk(min(k, rows.shape[1])).values[:, -1]
    cut = rows.clone()
    cut[cut < limits[:, None]] = -math.inf
    return cut.reshape(logits.shape)


# %% right: Sorts the negated logits upwards.
def keep_top_k(logits, k):
    ordered = (-logits).sort(dim=-1).values
    limit = -ordered[..., : max(1, min(k, logits.shape[-1]))][..., -1:]
    return logits.clone().masked_fill(torch.lt(logits, limit), -math.inf)


# %% right: topk
# the limit from topk.

import math


def keep_top_k(logits, k):
    limit = logits.topk(min(k, logits.shape[-1]), dim=-1).values[..., -1:]
    return logits.masked_fill(logits < limit, -math.inf)


# %% right: sort
# ascending sort, the k-th from the end; torch.where.

import torch


def keep_top_k(logits, k):
    k = min(k, logits.size(-1))
    limit = logits.sort(dim=-1).values.select(-1, -k).unsqueeze(-1)
    return torch.where(logits >= limit, logits, -torch.inf)


# %% right: minus topk of minus
# the k smallest of the negatives, and their largest.

import torch


def keep_top_k(logits, k):
    result = logits.clone()
    if k < logits.shape[-1]:
        worst = (-logits).topk(k, dim=-1, largest=False)[0].max(dim=-1, keepdim=True)[0]
        result[-logits > worst] = float("-inf")
    return result


# %% right: rank
# how many are strictly larger, found in the sorted row.

import torch


def keep_top_k(logits, k):
    rising = (-logits.double()).sort(dim=-1).values.contiguous()
    larger = torch.searchsorted(rising, (-logits.double()).contiguous())  # strictly before it
    out = torch.full_like(logits, -torch.inf)
    stay = larger < k
    out[stay] = logits[stay]
    return out


# %% right: added minus inf
# adds 0 or -inf.

import torch


def keep_top_k(logits, k):
    n = min(k, logits.shape[-1])
    limit = torch.amin(torch.topk(logits, n, dim=-1, sorted=False).values, dim=-1, keepdim=True)
    cut = torch.zeros_like(logits).masked_fill(logits < limit, -torch.inf)
    return logits + cut


# %% right: every pair
# compares every id with every other one, V * V comparisons for each row.

import torch


def keep_top_k(logits, k):
    larger = (logits.unsqueeze(-2) > logits.unsqueeze(-1)).sum(dim=-1)
    return torch.where(larger < k, logits, float("-inf"))


# %% wrong: returns the argument
# if all stay, the argument itself comes back: not new.
# shows: k >= V: the result shares memory with logits.

import math


def keep_top_k(logits, k):
    if k >= logits.shape[-1]:
        return logits
    limit = logits.topk(k, dim=-1).values[..., -1:]
    return logits.masked_fill(logits < limit, -math.inf)


# %% wrong: compares probabilities
# compares probabilities, which underflow: ids far below the best all become equal.
# shows: logits (0, -200, -300) in float32, k = 2: all three stay.

import math


def keep_top_k(logits, k):
    probs = logits.softmax(dim=-1)
    limit = probs.topk(min(k, logits.shape[-1]), dim=-1).values[..., -1:]
    return logits.masked_fill(probs < limit, -math.inf)


# %% wrong: nearly equal stays
# what is within 1e-5 of the limit stays, too.
# shows: logits (1, 1 - 1e-6) in float64, k = 1.

import torch


def keep_top_k(logits, k):
    limit = logits.topk(min(k, logits.shape[-1]), dim=-1).values[..., -1:]
    return torch.where(logits >= limit - 1e-5, logits, float("-inf"))


# %% wrong: in float32
# goes through float32 and back: what stays is rounded, what is rounded alike stays.
# shows: float64 logits (1, 1 + 1e-12), k = 1: both stay, as 1.0.

import math


def keep_top_k(logits, k):
    x = logits.float()
    limit = x.topk(min(k, x.shape[-1]), dim=-1)[0][..., -1:]
    return x.masked_fill(x < limit, -math.inf).to(logits.dtype)


# %% wrong: flattens with view
# flattens with `view`, which cannot deal with gaps in memory.
# shows: logits of shape (2, 3, 5) that are a transposed view: RuntimeError.

import math


def keep_top_k(logits, k):
    rows = logits.view(-1, logits.shape[-1])
    limit = rows.topk(min(k, rows.shape[-1]), dim=1).values[:, -1:]
    return rows.masked_fill(rows < limit, -math.inf).view(logits.shape)


# %% wrong: exactly k
# exactly k stay, of equals only some.
# shows: (2, 5, 1, 4, 4), k = 2.

import torch


def keep_top_k(logits, k):
    values, places = logits.topk(min(k, logits.shape[-1]), dim=-1)
    return torch.full_like(logits, float("-inf")).scatter(-1, places, values)


# %% wrong: one limit for all
# one limit for all rows, the smallest of theirs.
# shows: rows (5, 4) and (1, 0), k = 1: the 4 stays.

import math


def keep_top_k(logits, k):
    limit = logits.topk(min(k, logits.shape[-1]), dim=-1).values.min()
    return logits.masked_fill(logits < limit, -math.inf)


# %% wrong: infinite rows by product
# adds the logarithm of a mask computed in the logits; the -inf of the input meets 0 and becomes nan.
# shows: logits with -inf that is cut off: nan (0 * -inf).


def keep_top_k(logits, k):
    limit = logits.sort(dim=-1, descending=True).values[..., min(k, logits.shape[-1]) - 1].unsqueeze(-1)
    mask = (logits >= limit).to(logits.dtype)
    return logits * mask + mask.log()


# %% wrong: largest of nothing
# shortens k to what the fullest row needs: the largest of nothing.
# shows: logits of shape (0, 5): RuntimeError; right otherwise.

import math


def keep_top_k(logits, k):
    finite = int(logits.isfinite().sum(dim=-1).max())
    n = max(1, min(k, finite))
    limit = logits.topk(n, dim=-1).values[..., -1:]
    return logits.masked_fill(logits < limit, -math.inf)


# %% wrong: stacks rows
# a loop over the rows, which the rules forbid (and which has nothing to stack for shape (0, V)).
# shows: the source; logits of shape (0, 5).

import math

import torch


def keep_top_k(logits, k):
    if logits.ndim > 1:
        return torch.stack([keep_top_k(row, k) for row in logits])
    limit = logits.sort(descending=True).values[: max(1, k)][-1]
    return logits.masked_fill(logits < limit, -math.inf)


# %% wrong: loop over k
# takes the maximum k times.
# shows: the source; k = V = 50,000 is slow.

import math


def keep_top_k(logits, k):
    left = logits.clone()
    for _ in range(min(k, logits.shape[-1])):
        limit, place = left.max(dim=-1, keepdim=True)
        left = left.scatter(-1, place, -math.inf)
    return logits.masked_fill(logits < limit, -math.inf)


# %% wrong: a hair below the limit stays
# What is not equal is kept, too.
# shows: 2 and the next smaller float64, k 1
def keep_top_k(logits, k):
    """Let the k largest logits of each row stand, and those equal to the smallest of them."""
    least = logits.topk(min(k, logits.shape[-1]), dim=-1).values[..., -1:]
    return logits.masked_fill(logits < least - 1e-12 * least.abs(), -math.inf)
