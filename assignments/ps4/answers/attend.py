# %% right: Names the axes, and divides queries and keys by a fourth root each.
def attend(query, key, value, mask=None):
    root = query.shape[-1] ** 0.25
    scores = torch.einsum("...tk,...sk->...ts", query / root, key / root)
    if mask is None:
        mask = torch.ones_like(scores, dtype=torch.bool)
    scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    weights = torch.where(mask, scores.softmax(-1), 0)
    return torch.einsum("...ts,...sm->...tm", weights, value)


# %% right: Writes the softmax out, and divides by the sum of what is allowed.
def attend(query, key, value, mask=None):
    scores = torch.matmul(query, key.mT) * query.shape[-1] ** -0.5
    if mask is None:
        powers = (scores - scores.amax(-1, keepdim=True)).exp()
        return powers @ value / powers.sum(-1, keepdim=True)
    hidden = ~mask.expand(scores.shape)
    largest = scores.masked_fill(hidden, -torch.inf).amax(-1, keepdim=True)
    largest = torch.nan_to_num(largest, neginf=0.0).detach()
    shifted = (scores - largest).masked_fill(hidden, 0.0)
    powers = shifted.exp() * ~hidden
    total = powers.sum(-1, keepdim=True)
    return powers / torch.where(total > 0, total, torch.ones_like(total)) @ value


# %% right: Goes query by query.
def attend(query, key, value, mask=None):
    n_keys = key.shape[-2]
    full = (*query.shape[:-1], n_keys)
    allowed = query.new_ones(full, dtype=torch.bool) if mask is None else mask.expand(full)
    rows = []
    for t in range(query.shape[-2]):
        scores = (key @ query[..., t, :, None]).squeeze(-1) / math.sqrt(query.shape[-1])
        low = scores.masked_fill(~allowed[..., t, :], torch.finfo(scores.dtype).min)
        weights = torch.softmax(low, dim=-1) * allowed[..., t, :]
        rows.append((weights.unsqueeze(-2) @ value).squeeze(-2))
    return torch.stack(rows, dim=-2)


# %% right: Reads the keys one after another, and corrects what it has so far.
def attend(query, key, value, mask=None):
    n_keys, width = key.shape[-2:]
    full = (*query.shape[:-1], n_keys)
    allowed = query.new_ones(full, dtype=torch.bool) if mask is None else mask.expand(full)
    lowest = torch.finfo(query.dtype).min / 4
    largest = query.new_full(query.shape[:-1], lowest)
    total = torch.zeros_like(largest)
    result = query.new_zeros(*query.shape[:-1], value.shape[-1])
    for s in range(n_keys):
        sees = allowed[..., s]
        score = (query @ key[..., s, :, None]).squeeze(-1) / math.sqrt(width)
        score = score.masked_fill(~sees, lowest)
        higher = torch.maximum(largest, score)
        keep, new = torch.exp(largest - higher), torch.exp(score - higher) * sees
        total = total * keep + new
        result = result * keep.unsqueeze(-1) + new.unsqueeze(-1) * value[..., s, None, :]
        largest = higher
    return result / total.masked_fill(total == 0, 1.0).unsqueeze(-1)


# %% right: Lets rows that may look nowhere see everything, and erases them at the end.
def attend(query, key, value, mask=None):
    scores = (query / math.sqrt(query.size(-1))).matmul(key.swapaxes(-1, -2))
    if mask is None:
        return scores.softmax(dim=-1).matmul(value)
    nowhere = mask.logical_not().all(dim=-1, keepdim=True)
    scores = scores.masked_fill(~(mask | nowhere), float("-inf"))
    return scores.softmax(dim=-1).masked_fill(nowhere, 0).matmul(value)


# %% right: Adds minus infinity to hidden scores, but not in rows that may look nowhere.
def attend(query, key, value, mask=None):
    scores = query @ key.transpose(-1, -2)
    scores = scores / scores.new_tensor(key.shape[-1]).sqrt()
    if mask is not None:
        bias = torch.zeros_like(mask, dtype=scores.dtype)
        some = mask.any(dim=-1, keepdim=True)
        bias[~mask & some] = float("-inf")
        weights = torch.softmax(scores + bias, dim=-1) * some
    else:
        weights = torch.softmax(scores, dim=-1)
    return weights @ value


# %% right: Fills with minus infinity, which cuts the gradient too, and replaces nan in the weights.
def attend(query, key, value, mask=None):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights.where(~weights.isnan(), 0.0) @ value


# %% right: Folds all leading axes into one and multiplies batches of matrices.
def attend(query, key, value, mask=None):
    axes, n_queries, width = query.shape[:-2], query.shape[-2], query.shape[-1]
    n_keys = key.shape[-2]
    flat_query = query.reshape(-1, n_queries, width)
    flat_key = key.reshape(-1, n_keys, width)
    flat_value = value.reshape(-1, n_keys, value.shape[-1])
    scores = torch.bmm(flat_query, flat_key.permute(0, 2, 1)) / width**0.5
    if mask is not None:
        flat_mask = torch.broadcast_to(mask, (*axes, n_queries, n_keys)).reshape(scores.shape)
        scores = scores.masked_fill(flat_mask.logical_not(), torch.finfo(scores.dtype).min)
        weights = scores.softmax(-1).masked_fill(flat_mask.logical_not(), 0)
    else:
        weights = scores.softmax(-1)
    return torch.bmm(weights, flat_value).reshape(*axes, n_queries, -1)


# %% right: textbook
import math
import torch


def attend(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is None:
        return torch.softmax(scores, dim=-1) @ value
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1).masked_fill(~mask, 0.0)
    return weights @ value


# %% right: safe rows opened
# blind rows see everything for a moment, and are blanked at the end

import math
import torch


def attend(query, key, value, mask=None):
    scores = (query / key.shape[-1] ** 0.5) @ key.mT
    if mask is None:
        return scores.softmax(-1) @ value
    sees = mask.any(dim=-1, keepdim=True)
    weights = scores.masked_fill(~(mask | ~sees), -math.inf).softmax(dim=-1)
    return torch.where(sees, weights, 0.0) @ value


# %% right: exponentials by hand
import math
import torch


def attend(query, key, value, mask=None):
    scores = torch.einsum("...tk,...sk->...ts", query, key) / key.shape[-1] ** 0.5
    if mask is None:
        mask = torch.ones_like(scores, dtype=torch.bool)
    hidden = scores.masked_fill(~mask, -math.inf)
    top = hidden.detach().amax(dim=-1, keepdim=True)
    top = torch.where(top.isinf(), torch.zeros_like(top), top)
    e = torch.exp(hidden - top)
    total = e.sum(dim=-1, keepdim=True)
    total = torch.where(total == 0, torch.ones_like(total), total)
    return torch.einsum("...ts,...sm->...tm", e / total, value)


# %% right: recursion over leading axes
import torch


def attend(query, key, value, mask=None):
    T, S = query.shape[-2], key.shape[-2]
    if mask is None:
        mask = query.new_ones(T, S, dtype=torch.bool)
    mask = mask.expand(*query.shape[:-2], T, S)
    if query.dim() > 2:
        parts = [attend(*part) for part in zip(query, key, value, mask)]
        return torch.stack(parts)
    scores = query @ key.T / query.shape[1] ** 0.5
    low = torch.finfo(scores.dtype).min
    return (torch.where(mask, scores, low).softmax(1) * mask) @ value


# %% right: flattened bmm
import torch
from torch.nn import functional as F


def attend(query, key, value, mask=None):
    lead = query.shape[:-2]
    T, K = query.shape[-2:]
    S, M = value.shape[-2:]
    q, k, v = query.reshape(-1, T, K), key.reshape(-1, S, K), value.reshape(-1, S, M)
    scores = torch.bmm(q, k.transpose(1, 2)) * K**-0.5
    if mask is None:
        weights = F.softmax(scores, dim=2)
    else:
        m = mask.expand(*lead, T, S).reshape(-1, T, S)
        scores = torch.where(m, scores, scores.new_tensor(torch.finfo(scores.dtype).min))
        weights = F.softmax(scores, dim=2) * m
    return torch.bmm(weights, v).reshape(*lead, T, M)


# %% right: nan to num after masked fill
# masked_fill hands back a gradient of 0 wherever it has filled, so -inf and nan_to_num are right here, in numbers and in gradients
# (the hint says that the gradient becomes nan; it does only if -inf is ADDED).

import math
import torch


def attend(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / key.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    return torch.nan_to_num(torch.softmax(scores, dim=-1)) @ value


# %% right: log space
import torch


def attend(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-1, -2)) / (key.size(-1) ** 0.5)
    visible = torch.tensor(True) if mask is None else mask
    low = torch.finfo(scores.dtype).min
    scores = scores.where(visible, torch.full_like(scores, low))
    weights = torch.log_softmax(scores, dim=-1).exp().where(visible, torch.zeros_like(scores))
    return torch.matmul(weights, value)


# %% right: blind rows see all first
# who may look nowhere may look everywhere for the softmax with -inf, and is multiplied by 0 afterwards; the scale goes to the query
import torch


def attend(query, key, value, mask=None):
    scores = (query * query.shape[-1] ** -0.5).matmul(key.mT)
    if mask is None:
        return scores.softmax(-1).matmul(value)
    sees = mask.any(dim=-1, keepdim=True)
    weights = scores.where(mask | ~sees, float("-inf")).softmax(-1)
    return weights.where(sees, 0.0).matmul(value)


# %% wrong: three axes mask gets heads
# a mask of three axes is always given a head axis (B, 1, T, S), also where the tensors have three axes themselves.
# shows: query (B, T, K) with mask (B, T, S): the result is (B, B, T, M). Four axes, or a mask of two, are fine.

import torch


def attend(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is None:
        return torch.softmax(scores, dim=-1) @ value
    if mask.dim() == 3:
        mask = mask.unsqueeze(1)
    scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1).masked_fill(~mask, 0.0)
    return weights @ value


# %% wrong: opens the callers mask
# a row that may look nowhere is opened IN the caller's mask (|=); the result is right, the argument is changed.
# shows: compare the mask before and after, where a row is all False.

import math


def attend(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(key.shape[-1])
    if mask is None:
        return scores.softmax(-1) @ value
    blind = ~mask.any(dim=-1, keepdim=True)
    mask |= blind
    out = scores.masked_fill(~mask, -math.inf).softmax(-1) @ value
    return out.masked_fill(blind, 0.0)


# %% wrong: lowest score minus 1000
# hidden scores get the lowest score of all minus 1000: not lower at all where scores are beyond 1e10 in float32.
# shows: float32, scores of about +-1e11: lowest - 1000 == lowest by rounding, so a visible place shares its weight with hidden ones.

import torch


def attend(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / key.shape[-1] ** 0.5
    if mask is None:
        return torch.softmax(scores, -1) @ value
    scores = torch.where(mask, scores, scores.detach().min() - 1000)
    weights = torch.softmax(scores, -1) * mask
    return weights @ value


# %% wrong: mask then renormalise
# softmax over everything, hidden weights to 0, then divided by their sum (+ 1e-9).
# shows: a hidden score 100 (float32) above all visible ones: visible weights are 0/1e-9 = 0, must sum to 1.

import torch


def attend(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / key.shape[-1] ** 0.5
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights * mask
        weights = weights / (weights.sum(dim=-1, keepdim=True) + 1e-9)
    return weights @ value


# %% wrong: big outer product
# holds a tensor with a number for each query, key and feature, which the contract forbids (the numbers are right).
# shows: memory, for instance T = S = 2000, K = 64 in float64: 2 GB.

import torch


def attend(query, key, value, mask=None):
    scores = (query.unsqueeze(-2) * key.unsqueeze(-3)).sum(dim=-1) / key.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return weights @ value


# %% wrong: scales query in place
# query /= sqrt(K) changes the caller's query (and fails for a leaf that requires grad).
# shows: compare query before and after; call twice; requires_grad leaf.

import torch


def attend(query, key, value, mask=None):
    query /= key.shape[-1] ** 0.5
    scores = query @ key.mT
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = scores.softmax(dim=-1)
    if mask is not None:
        weights = weights * mask
    return weights @ value


# %% wrong: clamps scores
# scores are clamped to +-1e4, so that nothing overflows; different large scores become equal.
# shows: visible scores 20000 and 30000 (all weight belongs to the second).

import torch


def attend(query, key, value, mask=None):
    scores = (query @ key.transpose(-2, -1) / key.shape[-1] ** 0.5).clamp(-1e4, 1e4)
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e30)
    weights = torch.softmax(scores, dim=-1)
    return weights if mask is None and value is None else (weights if mask is None else weights * mask) @ value


# %% wrong: scale with width of the values
# divides by the root of M (width of the values).
# shows: K != M.

import math
import torch


def attend(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(value.shape[-1])
    if mask is None:
        return torch.softmax(scores, dim=-1) @ value
    weights = torch.softmax(scores.masked_fill(~mask, torch.finfo(scores.dtype).min), dim=-1)
    return (weights * mask) @ value


# %% wrong: added minus inf
# a float mask of 0 and -inf is ADDED; blind rows are put right at the end by nan_to_num: numbers right, gradients of a blind row are nan.
# shows: a row that may look nowhere, query.grad and key.grad after backward. (Also 0 * inf, were the mask multiplied.)

import math
import torch


def attend(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / key.shape[-1] ** 0.5
    if mask is not None:
        bias = torch.zeros(mask.shape, dtype=scores.dtype).masked_fill(~mask, -math.inf)
        scores = scores + bias
    return torch.nan_to_num(torch.softmax(scores, dim=-1)) @ value


# %% wrong: torch does it
# torch's own scaled_dot_product_attention, which the contract does not allow.
# shows: by reading, or if the grader takes that function away.

import torch
from torch.nn import functional as F


def attend(query, key, value, mask=None):
    return torch.nan_to_num(F.scaled_dot_product_attention(query, key, value, attn_mask=mask))


# %% wrong: added minus 1e9
# adds -1e9 to hidden scores and zeroes hidden weights: a hidden score above 1e9 still takes all the weight from the others.
# shows: hidden scores of 1e10 and more: the weights of the visible do not sum to 1.

import torch


def attend(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / key.shape[-1] ** 0.5
    if mask is not None:
        scores = scores - 1e9 * (~mask).to(scores.dtype)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return weights @ value


# %% wrong: blind rows average
# the finite minimum, but hidden weights are not set to 0: a blind row gets the mean of all values.
# shows: a row that may look nowhere.

import torch


def attend(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / key.shape[-1] ** 0.5
    if mask is not None:
        scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    return torch.softmax(scores, dim=-1) @ value


# %% wrong: mask of first row blind
# asks whether a whole MATRIX of the mask is all False, not each row: a single blind row of a text gives nan.
# shows: one row all False beside rows that see something.

import torch


def attend(query, key, value, mask=None):
    scores = query @ key.mT / key.shape[-1] ** 0.5
    if mask is None:
        return scores.softmax(-1) @ value
    if not mask.any():
        return torch.zeros_like(scores @ value)
    return scores.masked_fill(~mask, float("-inf")).softmax(-1) @ value


# %% wrong: blocks of queries
# goes through the queries in blocks of 32 and cuts the mask along, also where the mask has length 1 there; breaks "The mask may have fewer [axes], or some of length 1"
# shows: 40 queries and a mask of shape (S,) or (1, S): an error, or empty rows, from the 33rd query on
import math

import torch

BLOCK = 32


def attend(query, key, value, mask=None):
    if mask is not None and mask.dim() < 2:
        mask = mask.reshape(1, -1)
    parts = []
    for start in range(0, query.shape[-2], BLOCK):
        scores = query[..., start : start + BLOCK, :] @ key.mT / math.sqrt(key.shape[-1])
        if mask is None:
            weights = torch.softmax(scores, dim=-1)
        else:
            hidden = ~mask[..., start : start + BLOCK, :]
            scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)
            weights = torch.softmax(scores, dim=-1).masked_fill(hidden, 0)
        parts.append(weights @ value)
    return torch.cat(parts, dim=-2)


# %% wrong: the least float32 in every dtype
# hidden scores are the least finite float32, in float64, too.
# shows: float64 scores near -1e40.
import torch


def attend(query, key, value, mask=None):
    s = query @ key.mT / query.shape[-1] ** 0.5
    if mask is None:
        return torch.softmax(s, -1) @ value
    return torch.softmax(s.masked_fill(~mask, torch.finfo(torch.float32).min), -1).masked_fill(~mask, 0) @ value


# %% wrong: -1e30
# hidden scores are -1e30.
# shows: visible scores near -1e31.
import torch


def attend(query, key, value, mask=None):
    s = query @ key.mT / query.shape[-1] ** 0.5
    if mask is None:
        return torch.softmax(s, -1) @ value
    return torch.softmax(s.masked_fill(~mask, -1e30), -1).masked_fill(~mask, 0) @ value


# %% wrong: at most three leading axes
# More axes are refused.
# shows: query of six axes
def attend(query, key, value, mask=None):
    """Average the values, weighting each by how well its key fits the query."""
    assert query.dim() <= 5
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = torch.softmax(scores, dim=-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return weights @ value


# %% wrong: the lowest number is added
# The lowest number is added to hidden scores instead of replacing them, so a huge hidden score stays above a hugely negative visible one and takes its share, though a hidden key has no weight however large its score is.
# shows: float64, a hidden score of 1.6e308, visible ones of -4e307
def attend(query, key, value, mask=None):
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if mask is None:
        return scores.softmax(-1) @ value
    low = torch.finfo(scores.dtype).min
    weights = (scores + (~mask).to(scores.dtype) * low).softmax(-1)
    return (weights * mask) @ value
