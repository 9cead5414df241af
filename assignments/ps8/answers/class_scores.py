# %% right: Takes one vector per row, and zeros padding for the mean.
def class_scores(vectors, lengths, pooling, weight, bias):
    B, T, _ = vectors.shape
    if pooling == "first":
        pooled = vectors.select(1, 0)
    elif pooling == "last":
        pooled = vectors[torch.arange(B), lengths - 1]
    elif pooling == "mean":
        is_text = (torch.arange(T).expand(B, T) < lengths.view(B, 1)).unsqueeze(-1)
        pooled = torch.where(is_text, vectors, torch.zeros_like(vectors)).sum(1) / lengths.view(
            B, 1
        )
    else:
        raise ValueError("no such pooling")
    return F.linear(pooled, weight, bias)


# %% right: Gathers the vectors at places.
def class_scores(vectors, lengths, pooling, weight, bias):
    if pooling not in {"first", "last", "mean"}:
        raise ValueError(f"{pooling} is unknown")
    if pooling == "mean":
        is_padding = torch.arange(vectors.size(1))[None] >= lengths[:, None]
        kept = vectors.masked_fill(is_padding[..., None], 0.0)
        return F.linear(kept.sum(dim=-2) / lengths[:, None].to(vectors.dtype), weight, bias)
    places = torch.zeros_like(lengths) if pooling == "first" else lengths - 1
    places = places[:, None, None].expand(-1, 1, vectors.size(2))
    return F.linear(vectors.gather(1, places).squeeze(1), weight, bias)


# %% right: Gives each position a weight, and cleans the padding first.
def class_scores(vectors, lengths, pooling, weight, bias):
    place, ends = torch.arange(vectors.shape[1]), lengths.unsqueeze(1)
    is_text = place < ends
    match pooling:
        case "first":
            shares = (place == 0).expand_as(is_text).to(vectors.dtype)
        case "last":
            shares = (place == ends - 1).to(vectors.dtype)
        case "mean":
            shares = is_text.to(vectors.dtype) / ends
        case _:
            raise ValueError(pooling)
    clean = vectors.masked_fill(is_text.logical_not().unsqueeze(2), 0)
    return torch.einsum("bt,btd,cd->bc", shares, clean, weight) + bias


# %% right: Scores all positions of the cleaned texts, and pools the scores.
def class_scores(vectors, lengths, pooling, weight, bias):
    is_text = (torch.arange(vectors.shape[1]) < lengths[:, None])[:, :, None]
    scores = vectors.where(is_text, 0.0) @ weight.mT
    rows = torch.arange(len(lengths))
    if pooling == "first":
        return scores[:, 0] + bias
    if pooling == "last":
        return scores[rows, lengths - 1] + bias
    if pooling == "mean":
        return scores.sum(dim=1) / lengths[:, None] + bias
    raise ValueError(pooling)


# %% right: Lays all positions one below the other, and adds those of a text up.
def class_scores(vectors, lengths, pooling, weight, bias):
    B, T, D = vectors.shape
    flat = vectors.reshape(B * T, D)
    if pooling in ("first", "last"):
        at = torch.arange(B) * T + (lengths - 1 if pooling == "last" else 0)
        return torch.addmm(bias, flat.index_select(0, at), weight.t())
    if pooling != "mean":
        raise ValueError(pooling)
    rows, places = (torch.arange(T) < lengths[:, None]).nonzero(as_tuple=True)
    sums = vectors.new_zeros(B, D).index_add(0, rows, vectors[rows, places])
    return torch.addmm(bias, sums / lengths.unsqueeze(-1), weight.t())


# %% right: Has a dict of functions.
def class_scores(vectors, lengths, pooling, weight, bias):
    is_padding = (torch.arange(vectors.shape[1]) >= lengths[:, None]).unsqueeze(-1)
    ways = {
        "first": lambda x: x[:, 0, :],
        "last": lambda x: x[torch.arange(len(x)), lengths - 1],
        "mean": lambda x: x.masked_fill(is_padding, 0).sum(dim=1).div(lengths.reshape(-1, 1)),
    }
    if pooling not in ways:
        raise ValueError(f"pooling must be one of {list(ways)}")
    return ways[pooling](vectors).matmul(weight.transpose(0, 1)).add(bias)


# %% right: index and fill
# index tensors; masked_fill before the sum.

import torch
from torch.nn import functional as F


def class_scores(vectors, lengths, pooling, weight, bias):
    B, T, _ = vectors.shape
    if pooling == "first":
        pooled = vectors[:, 0]
    elif pooling == "last":
        pooled = vectors[torch.arange(B), lengths - 1]
    elif pooling == "mean":
        is_text = torch.arange(T) < lengths[:, None]
        pooled = vectors.masked_fill(~is_text[:, :, None], 0).sum(dim=1) / lengths[:, None]
    else:
        raise ValueError(pooling)
    return F.linear(pooled, weight, bias)


# %% right: where and weights
# cleans padding, then one weighted sum over the positions for all three.

import torch


def class_scores(vectors, lengths, pooling, weight, bias):
    place = torch.arange(vectors.shape[1])[None]
    n = lengths.unsqueeze(1)
    text = place < n
    if pooling == "first":
        share = (place == 0) & text
    elif pooling == "last":
        share = place == n - 1
    elif pooling == "mean":
        share = text
    else:
        raise ValueError("first, last or mean")
    share = share.to(vectors.dtype)
    share = share / share.sum(dim=1, keepdim=True)
    clean = torch.where(text.unsqueeze(-1), vectors, vectors.new_zeros(()))
    return torch.einsum("bt,btd,cd->bc", share, clean, weight) + bias


# %% right: cumsum
# running sums, and gather of what stands at the end of the text.

import torch


def class_scores(vectors, lengths, pooling, weight, bias):
    if pooling not in ("first", "last", "mean"):
        raise ValueError(f"no pooling is called {pooling}")
    end = (lengths - 1)[:, None, None].expand(-1, 1, vectors.shape[-1])
    if pooling == "first":
        pooled = vectors.select(1, 0)
    elif pooling == "last":
        pooled = vectors.gather(1, end).squeeze(1)
    else:
        pooled = vectors.cumsum(1).gather(1, end).squeeze(1) / lengths.to(vectors.dtype)[:, None]
    return pooled @ weight.T + bias


# %% right: mask and index add
# boolean masks pick the positions; index_add sums them row by row.

import torch
from torch.nn import functional as F


def class_scores(vectors, lengths, pooling, weight, bias):
    B, T, D = vectors.shape
    after = lengths[:, None] - torch.arange(T)
    masks = {"first": after == lengths[:, None], "last": after == 1, "mean": after > 0}
    if pooling not in masks:
        raise ValueError
    mask = masks[pooling]
    rows = mask.nonzero()[:, 0]
    sums = torch.zeros(B, D, dtype=vectors.dtype).index_add(0, rows, vectors[mask])
    return F.linear(sums / mask.sum(dim=1, keepdim=True), weight, bias)


# %% right: scores first
# cleans padding, scores each position, then pools the scores.

import torch


def class_scores(vectors, lengths, pooling, weight, bias):
    places = torch.arange(vectors.size(1))
    is_text = places.unsqueeze(0).lt(lengths.unsqueeze(1)).unsqueeze(2)
    scores = vectors.masked_fill(is_text.logical_not(), 0.0) @ weight.t()
    match pooling:
        case "first":
            scores = scores[:, 0]
        case "last":
            scores = scores.take_along_dim(lengths[:, None, None] - 1, dim=1)[:, 0]
        case "mean":
            scores = scores.sum(1) / lengths[:, None]
        case _:
            raise ValueError(pooling)
    return scores + bias


# %% right: nan to num
# nan_to_num makes everything finite, then the mask as factors.

import torch


def class_scores(vectors, lengths, pooling, weight, bias):
    T = vectors.shape[1]
    if pooling == "first":
        low, high = torch.zeros_like(lengths), torch.ones_like(lengths)
    elif pooling == "last":
        low, high = lengths - 1, lengths
    elif pooling == "mean":
        low, high = torch.zeros_like(lengths), lengths
    else:
        raise ValueError
    t = torch.arange(T)
    mask = ((t >= low[:, None]) & (t < high[:, None])).to(vectors.dtype)[..., None]
    pooled = (vectors.nan_to_num() * mask).sum(1) / (high - low)[:, None]
    return pooled @ weight.mT + bias


# %% right: nanmean
# padding becomes nan, and nanmean passes over it.

import torch
from torch.nn import functional as F


def class_scores(vectors, lengths, pooling, weight, bias):
    if pooling not in ("first", "last", "mean"):
        raise ValueError(pooling)
    if pooling == "mean":
        is_padding = torch.arange(vectors.shape[1]) >= lengths[:, None]
        pooled = vectors.masked_fill(is_padding[..., None], torch.nan).nanmean(dim=1)
    else:
        places = lengths - 1 if pooling == "last" else 0 * lengths
        pooled = vectors[torch.arange(len(vectors)), places]
    return F.linear(pooled, weight, bias)


# %% wrong: scores before cleaning
# scores all positions first and cleans the scores: the weight's gradient is 0 times nan.
# shows: nan at padding, "mean", backward: weight.grad is nan.

import torch


def class_scores(vectors, lengths, pooling, weight, bias):
    t, n = torch.arange(vectors.shape[1]), lengths[:, None]
    masks = {"first": t == 0 * n, "last": t == n - 1, "mean": t < n}
    if pooling not in masks:
        raise ValueError(pooling)
    mask = masks[pooling]
    scores = (vectors @ weight.T).masked_fill(~mask[..., None], 0)
    return scores.sum(dim=1) / mask.sum(dim=1, keepdim=True) + bias


# %% wrong: flattens with view
# view, which cannot deal with gaps in memory.
# shows: vectors = big[:, ::2], pooling "last": RuntimeError.

import torch
from torch.nn import functional as F


def class_scores(vectors, lengths, pooling, weight, bias):
    B, T, D = vectors.shape
    if pooling == "first":
        pooled = vectors[:, 0]
    elif pooling == "last":
        pooled = vectors.view(B * T, D)[torch.arange(B) * T + lengths - 1]
    elif pooling == "mean":
        mask = torch.arange(T) < lengths[:, None]
        pooled = torch.where(mask[..., None], vectors, 0).sum(1) / lengths[:, None]
    else:
        raise ValueError
    return F.linear(pooled, weight, bias)


# %% wrong: head without gradient
# detaches the head, as if it were frozen.
# shows: weight and bias with requires_grad, backward: no gradient reaches them.

import torch
from torch.nn import functional as F


def class_scores(vectors, lengths, pooling, weight, bias):
    if pooling == "first":
        pooled = vectors[:, 0]
    elif pooling == "last":
        pooled = vectors[torch.arange(len(vectors)), lengths - 1]
    elif pooling == "mean":
        mask = torch.arange(vectors.shape[1]) < lengths[:, None]
        pooled = torch.where(mask[..., None], vectors, 0).sum(1) / lengths[:, None]
    else:
        raise ValueError
    return F.linear(pooled, weight.detach(), bias.detach())


# %% wrong: any case
# lower() lets "Mean" and "LAST" through.
# shows: pooling "Mean": scores, no ValueError.

import torch
from torch.nn import functional as F


def class_scores(vectors, lengths, pooling, weight, bias):
    pooling = pooling.strip().lower()
    if pooling == "first":
        pooled = vectors[:, 0]
    elif pooling == "last":
        pooled = vectors[torch.arange(len(vectors)), lengths - 1]
    elif pooling == "mean":
        mask = torch.arange(vectors.shape[1]) < lengths[:, None]
        pooled = torch.where(mask[..., None], vectors, 0).sum(1) / lengths[:, None]
    else:
        raise ValueError
    return F.linear(pooled, weight, bias)


# %% wrong: part of a string
# asks whether pooling is in one string, so every part of it is allowed.
# shows: pooling "" or "me": scores of the mean, no ValueError.

import torch
from torch.nn import functional as F


def class_scores(vectors, lengths, pooling, weight, bias):
    if pooling not in "first last mean":
        raise ValueError(pooling)
    if pooling == "first":
        pooled = vectors[:, 0]
    elif pooling == "last":
        pooled = vectors[torch.arange(len(vectors)), lengths - 1]
    else:
        mask = torch.arange(vectors.shape[1]) < lengths[:, None]
        pooled = torch.where(mask[..., None], vectors, 0).sum(1) / lengths[:, None]
    return F.linear(pooled, weight, bias)


# %% wrong: in float32
# computes the pooling in float32, and casts back.
# shows: float64 vectors of 1e8 + small numbers, or any comparison to ten digits.

import torch
from torch.nn import functional as F


def class_scores(vectors, lengths, pooling, weight, bias):
    x = vectors.float()
    if pooling == "first":
        pooled = x[:, 0]
    elif pooling == "last":
        pooled = x[torch.arange(len(x)), lengths - 1]
    elif pooling == "mean":
        mask = torch.arange(x.shape[1]) < lengths[:, None]
        pooled = torch.where(mask[..., None], x, 0).sum(1) / lengths[:, None]
    else:
        raise ValueError
    return F.linear(pooled.to(weight.dtype), weight, bias)


# %% wrong: loop over rows
# a loop over the rows, which the rules forbid (the numbers are right).
# shows: the source.

import torch
from torch.nn import functional as F


def class_scores(vectors, lengths, pooling, weight, bias):
    if pooling not in ("first", "last", "mean"):
        raise ValueError(pooling)
    pooled = []
    for row, n in zip(vectors, lengths.tolist(), strict=True):
        text = row[:n]
        pooled.append({"first": text[0], "last": text[-1], "mean": text.mean(dim=0)}[pooling])
    return F.linear(torch.stack(pooled), weight, bias)


# %% wrong: shares in the default dtype
# the shares mask / lengths are whole numbers divided: they have torch's default dtype.
# shows: float64, "mean", lengths 3: right to 8 digits only; default dtype float64 and float32 vectors: an error or float64.

import torch
from torch.nn import functional as F


def class_scores(vectors, lengths, pooling, weight, bias):
    t, n = torch.arange(vectors.shape[1]), lengths[:, None]
    masks = {"first": t == 0 * n, "last": t == n - 1, "mean": t < n}
    if pooling not in masks:
        raise ValueError(pooling)
    mask = masks[pooling]
    shares = mask / mask.sum(dim=1, keepdim=True)
    clean = vectors.masked_fill(~mask[..., None], 0)
    return F.linear((clean * shares[..., None]).sum(dim=1), weight, bias)


# %% wrong: times the mask
# removes padding by factors 0.
# shows: nan at padding, "mean".

import torch
from torch.nn import functional as F


def class_scores(vectors, lengths, pooling, weight, bias):
    if pooling == "first":
        pooled = vectors[:, 0]
    elif pooling == "last":
        pooled = vectors[torch.arange(len(vectors)), lengths - 1]
    elif pooling == "mean":
        mask = (torch.arange(vectors.shape[1]) < lengths[:, None]).to(vectors.dtype)
        pooled = (vectors * mask[..., None]).sum(1) / lengths[:, None]
    else:
        raise ValueError
    return F.linear(pooled, weight, bias)


# %% wrong: longest of the batch
# "last" takes the last position of the longest text for all rows.
# shows: lengths 5, 1, 3, "last".

import torch
from torch.nn import functional as F


def class_scores(vectors, lengths, pooling, weight, bias):
    if pooling == "first":
        pooled = vectors[:, 0]
    elif pooling == "last":
        pooled = vectors[:, lengths.max() - 1]
    elif pooling == "mean":
        mask = torch.arange(vectors.shape[1]) < lengths[:, None]
        pooled = torch.where(mask[..., None], vectors, 0).sum(1) / lengths[:, None]
    else:
        raise ValueError
    return F.linear(pooled, weight, bias)


# %% wrong: cleans the callers
# writes 0 into the padding of the caller's vectors.
# shows: vectors after the call.

import torch
from torch.nn import functional as F


def class_scores(vectors, lengths, pooling, weight, bias):
    if pooling not in ("first", "last", "mean"):
        raise ValueError(pooling)
    vectors.data[torch.arange(vectors.shape[1]) >= lengths[:, None]] = 0
    if pooling == "first":
        pooled = vectors[:, 0]
    elif pooling == "last":
        pooled = vectors[torch.arange(len(vectors)), lengths - 1]
    else:
        pooled = vectors.sum(dim=1) / lengths[:, None]
    return F.linear(pooled, weight, bias)


# %% wrong: zeros are padding
# counts the vectors that are not all 0, so a text may not have such a vector.
# shows: "mean", a text with a vector of zeros (an unused row, or after relu): the divisor is too small.

import torch
from torch.nn import functional as F


def class_scores(vectors, lengths, pooling, weight, bias):
    if pooling == "first":
        pooled = vectors[:, 0]
    elif pooling == "last":
        pooled = vectors[torch.arange(len(vectors)), lengths - 1]
    elif pooling == "mean":
        mask = torch.arange(vectors.shape[1]) < lengths[:, None]
        clean = torch.where(mask[..., None], vectors, 0)
        pooled = clean.sum(1) / clean.ne(0).any(-1).sum(1, keepdim=True).clamp(min=1)
    else:
        raise ValueError
    return F.linear(pooled, weight, bias)
