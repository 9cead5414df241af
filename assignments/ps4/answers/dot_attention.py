# %% right: Names all axes.
def dot_attention(query, keys, values):
    found = torch.einsum("bk,bsk->bs", query, keys)
    shares = found.softmax(dim=1)
    return found, shares, torch.einsum("bs,bsm->bm", shares, values)


# %% right: Multiplies batches of matrices.
def dot_attention(query, keys, values):
    found = torch.bmm(keys, query.unsqueeze(2)).squeeze(2)
    shares = F.softmax(found, dim=1)
    return found, shares, torch.bmm(shares.unsqueeze(1), values).squeeze(1)


# %% right: Goes row by row.
def dot_attention(query, keys, values):
    found = torch.stack([row @ vector for row, vector in zip(keys, query, strict=True)])
    shares = torch.stack([torch.softmax(row, dim=0) for row in found])
    context = torch.stack([share @ row for share, row in zip(shares, values, strict=True)])
    return found, shares, context


# %% right: Goes place by place, and adds up the context.
def dot_attention(query, keys, values):
    found = torch.stack([(query * key).sum(dim=1) for key in keys.unbind(dim=1)], dim=1)
    shares = torch.softmax(found, dim=1)
    context = torch.zeros_like(values[:, 0])
    for place in range(values.shape[1]):
        context = context + shares[:, place, None] * values[:, place]
    return found, shares, context


# %% right: Writes the softmax out, less the largest score.
def dot_attention(query, keys, values):
    found = (query[:, None, :] @ keys.transpose(1, 2))[:, 0]
    powers = torch.exp(found - found.amax(dim=1, keepdim=True))
    shares = powers / powers.sum(dim=1, keepdim=True)
    return found, shares, (shares[:, None] @ values)[:, 0]


# %% right: Finds the logarithms of the weights first.
def dot_attention(query, keys, values):
    found = torch.matmul(keys, query[..., None])[..., 0]
    shares = (found - torch.logsumexp(found, dim=-1, keepdim=True)).exp()
    return found, shares, torch.matmul(values.mT, shares[..., None])[..., 0]


# %% right: einsum
import torch


def dot_attention(query, keys, values):
    scores = torch.einsum("bk,bsk->bs", query, keys)
    weights = torch.softmax(scores, dim=1)
    return scores, weights, torch.einsum("bs,bsm->bm", weights, values)


# %% right: bmm
import torch


def dot_attention(query, keys, values):
    scores = torch.bmm(keys, query.unsqueeze(2)).squeeze(2)
    weights = scores.softmax(1)
    context = torch.bmm(weights.unsqueeze(1), values).squeeze(1)
    return scores, weights, context


# %% right: own softmax
# the softmax by hand, with the largest score of each text subtracted

def dot_attention(query, keys, values):
    def stable(z):
        top = z.amax(dim=-1, keepdim=True).detach()
        e = (z - top).exp()
        return e / e.sum(dim=-1, keepdim=True)

    scores = (keys * query.unsqueeze(1)).sum(dim=-1)
    weights = stable(scores)
    context = (weights.unsqueeze(-1) * values).sum(dim=1)
    return scores, weights, context


# %% right: loop over texts
import torch
from torch.nn import functional as F


def dot_attention(query: torch.Tensor, keys: torch.Tensor, values: torch.Tensor):
    results = []
    for q, k, v in zip(query, keys, values):
        s = k @ q
        w = F.softmax(s, dim=0)
        results.append((s, w, w @ v))
    return tuple(torch.stack(part) for part in zip(*results))


# %% right: named tuple logsumexp
# a NamedTuple is a tuple

import torch


from typing import NamedTuple


class Reading(NamedTuple):
    scores: torch.Tensor
    weights: torch.Tensor
    context: torch.Tensor


def dot_attention(query, keys, values):
    scores = torch.matmul(keys, query[:, :, None])[:, :, 0]
    weights = (scores - scores.logsumexp(dim=1, keepdim=True)).exp()
    return Reading(scores, weights, torch.matmul(weights[:, None, :], values)[:, 0])


# %% right: log softmax
import torch


def dot_attention(query, keys, values):
    scores = (query.unsqueeze(-2) @ keys.mT).squeeze(-2)
    weights = torch.log_softmax(scores, dim=-1).exp()
    context = (values.mT @ weights.unsqueeze(-1)).squeeze(-1)
    return (scores, weights, context)


# %% right: batched products
# batched matrix products, and the softmax as the exponential of scores minus their logsumexp
import torch


def dot_attention(query, keys, values):
    scores = torch.bmm(keys, query.unsqueeze(2))[..., 0]
    weights = (scores - scores.logsumexp(-1, keepdim=True)).exp()
    return scores, weights, torch.bmm(weights[:, None], values)[:, 0]


# %% wrong: global max
# subtracts the largest score of the WHOLE BATCH, not of each text.
# shows: B > 1 and one text's scores far (about 800 in float64, 110 in float32) below another text's: 0/0 = nan.

import torch


def dot_attention(query, keys, values):
    scores = (keys * query.unsqueeze(1)).sum(dim=-1)
    e = torch.exp(scores - scores.max())
    weights = e / e.sum(dim=1, keepdim=True)
    context = (weights.unsqueeze(-1) * values).sum(dim=1)
    return scores, weights, context


# %% wrong: clamped softmax
# clamps the scores to +-1e4 before the softmax.
# shows: two places with scores above 10000 (say 20000 and 30000) get equal weights; scores may be very large.

import torch


def dot_attention(query, keys, values):
    scores = torch.einsum("bk,bsk->bs", query, keys)
    weights = torch.softmax(scores.clamp(-1e4, 1e4), dim=-1)
    return scores, weights, torch.einsum("bs,bsm->bm", weights, values)


# %% wrong: writes into keys
# keys is multiplied in place, so the caller's keys are changed (and a leaf that requires grad fails).
# shows: compare keys before and after the call.

import torch


def dot_attention(query, keys, values):
    keys *= query.unsqueeze(1)
    scores = keys.sum(dim=-1)
    weights = torch.softmax(scores, dim=-1)
    return scores, weights, (weights.unsqueeze(-1) * values).sum(1)


# %% wrong: in float32
# computes in float32 and casts back; in float64, scores of 1e9 and 1e9 + 1 become equal.
# shows: float64 with large scores that differ little (weights 0.5/0.5 in place of 0.27/0.73).

def dot_attention(query, keys, values):
    q, k, v = query.float(), keys.float(), values.float()
    s = (k @ q.unsqueeze(-1)).squeeze(-1)
    w = s.softmax(dim=-1)
    c = (w.unsqueeze(1) @ v).squeeze(1)
    return s.to(query.dtype), w.to(query.dtype), c.to(query.dtype)


# %% wrong: detached weights
# the weights are detached before the context is formed: no gradient from the context to query and keys.
# shows: context.sum().backward(), then query.grad is None.

from torch.nn import functional as F


def dot_attention(query, keys, values):
    scores = (keys * query[:, None]).sum(-1)
    weights = F.softmax(scores, -1)
    context = (weights.detach()[..., None] * values).sum(1)
    return scores, weights, context


# %% wrong: first query for all
# every text is asked with the query of text 0.
# shows: B > 1 with different queries, on the numbers (all shapes are right).

import torch


def dot_attention(query, keys, values):
    scores = keys @ query[0]
    weights = torch.softmax(scores, dim=1)
    context = (weights.unsqueeze(-1) * values).sum(dim=1)
    return scores, weights, context


# %% wrong: squeezes everything
# squeeze() without an axis loses every axis of length 1.
# shows: B = 1, S = 1 or M = 1.

import torch


def dot_attention(query, keys, values):
    scores = (keys @ query.unsqueeze(-1)).squeeze()
    weights = torch.softmax(scores, dim=-1)
    context = (weights.unsqueeze(-2) @ values).squeeze()
    return scores, weights, context


# %% wrong: default dtype left
# sets torch's default dtype to that of the query and never sets it back.
# shows: torch.get_default_dtype() after a call with float64.

import torch


def dot_attention(query, keys, values):
    torch.set_default_dtype(query.dtype)
    scores = torch.zeros(keys.shape[:2]) + (keys * query.unsqueeze(1)).sum(dim=2)
    weights = torch.softmax(scores, dim=1)
    context = torch.zeros(query.shape[0], values.shape[2]) + (weights.unsqueeze(2) * values).sum(dim=1)
    return scores, weights, context


# %% wrong: shifted scores
# returns the scores after the largest was subtracted from them in place; weights and context are right.
# shows: the returned scores, wherever the largest score of a text is not 0.

def dot_attention(query, keys, values):
    scores = (keys * query.unsqueeze(1)).sum(dim=-1)
    scores -= scores.max(dim=-1, keepdim=True).values.detach()
    e = scores.exp()
    weights = e / e.sum(-1, keepdim=True)
    return scores, weights, (weights.unsqueeze(-1) * values).sum(dim=1)


# %% wrong: outer memory by views
# keys.view(B, K, S) in place of a transpose: same shape, numbers in the wrong order; fails on gaps in memory.
# shows: S > 1 and K > 1 (right only if S = 1 or K = 1).

import torch


def dot_attention(query, keys, values):
    B, S, K = keys.shape
    scores = torch.bmm(query.unsqueeze(1), keys.view(B, K, S)).squeeze(1)
    weights = torch.softmax(scores, dim=-1)
    context = torch.bmm(weights.unsqueeze(1), values).squeeze(1)
    return scores, weights, context


# %% wrong: view of the keys
# .view(-1, K) on keys: an error if the keys stand in memory in another order, as after a transpose.
# shows: keys = something.transpose(0, 1) (or any tensor with gaps); contiguous keys are fine.

import torch


def dot_attention(query, keys, values):
    B, S, K = keys.shape
    rows = keys.view(B * S, K)
    asked = query.repeat_interleave(S, dim=0)
    scores = (rows * asked).sum(dim=1).view(B, S)
    weights = torch.softmax(scores, dim=1)
    context = torch.bmm(weights.unsqueeze(1), values).squeeze(1)
    return scores, weights, context


# %% wrong: one maximum for the batch
# a softmax by hand that subtracts the largest score of the whole batch: a text whose scores lie far below those of another gets 0 / 0; breaks "The weights are the softmax of a text's scores over its places" where scores may be "far apart"
# shows: scores of text 0 near 1000, of text 1 near -1000: the weights of text 1 are nan
import torch


def dot_attention(query, keys, values):
    scores = torch.einsum("bk,bsk->bs", query, keys)
    e = torch.exp(scores - scores.max())
    weights = e / e.sum(dim=1, keepdim=True)
    return scores, weights, torch.einsum("bs,bsm->bm", weights, values)


# %% wrong: weights in float32
# takes the softmax in float32 always; the context becomes float64 again by itself, but the weights do not; breaks "A result has the dtype of the tensors that you were given"
# shows: float64 tensors: weights.dtype is torch.float32
import torch


def dot_attention(query, keys, values):
    scores = (keys * query[:, None, :]).sum(dim=2)
    weights = torch.softmax(scores, dim=1, dtype=torch.float32)
    return scores, weights, (weights[:, :, None] * values).sum(dim=1)


# %% wrong: the maximum begins at -1e9
# Scores that are all lower give 0 / 0.
# shows: scores -1e37, -2e37
def dot_attention(query, keys, values):
    """Return the scores of all places, their weights, and the weighted sum of the values."""
    scores = (keys * query.unsqueeze(1)).sum(dim=-1)
    weights = (lambda e: e / e.sum(-1, keepdim=True))(
        (scores - scores.amax(-1, keepdim=True).clamp(min=-1000000000.0)).exp()
    )
    context = (weights.unsqueeze(-1) * values).sum(dim=1)
    return scores, weights, context


# %% wrong: small weights become 0
# Weights below a millionth are cut off to 0 and not made to sum to 1 again.
# shows: a weight of 3e-7 on a value of a million
def dot_attention(query, keys, values):
    scores = torch.einsum("bk,bsk->bs", query, keys)
    weights = torch.softmax(scores, dim=1)
    weights = torch.where(weights < 1e-6, torch.zeros_like(weights), weights)
    return scores, weights, torch.einsum("bs,bsm->bm", weights, values)
