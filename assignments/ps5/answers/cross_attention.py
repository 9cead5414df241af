# %% right: A loop over the heads, each with its own rows of the weights.
def cross_attention(x, memory, memory_mask, weights, n_heads):
    width = x.shape[-1] // n_heads
    parts = []
    for head in range(n_heads):
        rows = slice(head * width, (head + 1) * width)
        query = F.linear(x, weights["query"][rows])
        key = F.linear(memory, weights["key"][rows])
        scores = torch.bmm(query, key.transpose(1, 2)) * width**-0.5
        scores = torch.where(memory_mask[:, None, :], scores, torch.full_like(scores, torch.finfo(scores.dtype).min))
        attention = torch.softmax(scores, dim=2) * memory_mask[:, None, :]
        parts.append(torch.bmm(attention, F.linear(memory, weights["value"][rows])))
    return torch.cat(parts, dim=2) @ weights["output"].mT


# %% right: Sums over named axes, on weights that are cut into heads.
def cross_attention(x, memory, memory_mask, weights, n_heads):
    query, key, value = (
        weights[name].reshape(n_heads, x.shape[-1] // n_heads, -1)
        for name in ("query", "key", "value")
    )
    scores = torch.einsum("btd,hkd,bsm,hkm->bhts", x, query, memory, key)
    scores = scores / math.sqrt(query.shape[1])
    real = memory_mask[:, None, None]
    scores = scores.masked_fill(~real, torch.finfo(scores.dtype).min)
    attention = torch.softmax(scores, -1) * real
    heads = torch.einsum("bhts,bsm,hkm->bthk", attention, memory, value)
    return torch.einsum("bthk,dhk->btd", heads, weights["output"].reshape(-1, *query.shape[:2]))


# %% right: The softmax is written out, and its divisor is at least one where nothing is real.
def cross_attention(x, memory, memory_mask, weights, n_heads):
    batch_size, T, width = x.shape
    shape = (batch_size, -1, n_heads, width // n_heads)
    query = F.linear(x, weights["query"]).reshape(batch_size, T, *shape[2:]).permute(0, 2, 1, 3)
    n_places = memory.shape[1]
    key, value = (
        F.linear(memory, weights[name])
        .reshape(batch_size, n_places, *shape[2:])
        .permute(0, 2, 3, 1)
        for name in ("key", "value")
    )
    scores = query @ key / math.sqrt(width // n_heads)
    real = memory_mask.reshape(batch_size, 1, 1, n_places)
    top = scores.masked_fill(~real, -1e300 if x.dtype == torch.float64 else -1e38).amax(-1, True)
    above = torch.where(real, scores - top, torch.zeros_like(scores))
    powers = above.exp() * real
    total = powers.sum(-1, keepdim=True)
    weighted = powers @ value.transpose(2, 3)
    heads = weighted / torch.where(total == 0, torch.ones_like(total), total)
    return F.linear(heads.permute(0, 2, 1, 3).reshape(x.shape), weights["output"])


# %% wrong: Row after row of the batch, each with its own real memory only.
# the values are right, but the set allows no loop over the rows of a batch.
# shows: the number of calls for a batch of many texts.
def cross_attention(x, memory, memory_mask, weights, n_heads):
    width = x.shape[-1] // n_heads
    results = []
    for row, places, real in zip(x, memory, memory_mask, strict=True):
        kept = places[real]
        query = (row @ weights["query"].T).view(-1, n_heads, width)
        key = (kept @ weights["key"].T).view(-1, n_heads, width)
        value = (kept @ weights["value"].T).view(-1, n_heads, width)
        scores = torch.einsum("thk,shk->hts", query, key) / width**0.5
        heads = torch.einsum("hts,shk->thk", scores.softmax(-1), value)
        results.append(heads.reshape(len(row), -1) @ weights["output"].T)
    return torch.stack(results) if results else x.clone()


# %% right: Heads become rows of the batch.
def cross_attention(x, memory, memory_mask, weights, n_heads):
    batch_size, _, width = x.shape

    def split(rows, weight):
        heads = torch.stack((rows @ weight.T).split(width // n_heads, dim=-1), dim=1)
        return heads.flatten(0, 1)

    query = split(x, weights["query"]) * (width // n_heads) ** -0.5
    key, value = split(memory, weights["key"]), split(memory, weights["value"])
    hidden = (~memory_mask).repeat_interleave(n_heads, dim=0).unsqueeze(1)
    lowest = torch.finfo(x.dtype).min
    attention = torch.bmm(query, key.mT).masked_fill(hidden, lowest).softmax(2)
    heads = torch.bmm(attention.masked_fill(hidden, 0), value).unflatten(0, (batch_size, n_heads))
    return torch.cat(heads.unbind(1), dim=-1) @ weights["output"].T


# %% right: The output weights are applied to the values first; the heads are then only added.
def cross_attention(x, memory, memory_mask, weights, n_heads):
    width = x.shape[-1] // n_heads
    real = memory_mask[:, None]
    result = torch.zeros_like(x)
    for rows in torch.arange(x.shape[-1]).split(width):
        mixed = memory @ (weights["output"][:, rows] @ weights["value"][rows]).T
        to_memory = weights["query"][rows].T @ weights["key"][rows]
        scores = x @ to_memory @ memory.mT / math.sqrt(width)
        scores = torch.where(real, scores, scores.new_tensor(torch.finfo(scores.dtype).min))
        result = result + torch.where(real, scores.softmax(-1), scores.new_tensor(0.0)) @ mixed
    return result


# %% right: Hidden scores are minus infinity; what becomes nan by it is erased.
def cross_attention(x, memory, memory_mask, weights, n_heads):
    shape = (x.shape[0], -1, n_heads, x.shape[-1] // n_heads)
    query = torch.einsum("btd,ed->bte", x, weights["query"])
    key, value = (torch.einsum("bsm,em->bse", memory, weights[n]) for n in ("key", "value"))
    if not len(x):
        return x.clone()
    query, key, value = (part.reshape(shape) for part in (query, key, value))
    scores = torch.einsum("bthk,bshk->bths", query / math.sqrt(shape[-1]), key)
    scores = torch.where(memory_mask[:, None, None], scores, float("-inf"))
    attention = torch.nan_to_num(scores.softmax(-1), nan=0.0)
    heads = torch.einsum("bths,bshk->bthk", attention, value)
    return torch.tensordot(heads.flatten(2), weights["output"], dims=([2], [1]))


# %% right: plain
import torch


def cross_attention(x, memory, memory_mask, weights, n_heads):
    def heads(vectors, name):
        return (vectors @ weights[name].T).unflatten(-1, (n_heads, -1)).transpose(1, 2)

    query, key, value = heads(x, "query"), heads(memory, "key"), heads(memory, "value")
    visible = memory_mask[:, None, None, :]
    scores = query @ key.mT / query.shape[-1] ** 0.5
    scores = scores.masked_fill(~visible, torch.finfo(scores.dtype).min)
    shares = torch.softmax(scores, dim=-1).masked_fill(~visible, 0.0)
    return (shares @ value).transpose(1, 2).flatten(-2) @ weights["output"].T


# %% right: einsum
import math
import torch


def cross_attention(x, memory, memory_mask, weights, n_heads):
    D = x.shape[-1]
    K = D // n_heads
    q = torch.einsum("btd,hkd->bhtk", x, weights["query"].reshape(n_heads, K, -1))
    k = torch.einsum("bsm,hkm->bhsk", memory, weights["key"].reshape(n_heads, K, -1))
    v = torch.einsum("bsm,hkm->bhsk", memory, weights["value"].reshape(n_heads, K, -1))
    sees = memory_mask[:, None, None, :]
    some = memory_mask.any(1)[:, None, None, None]
    scores = torch.einsum("bhtk,bhsk->bhts", q, k) / K**0.5
    w = scores.masked_fill(~sees & some, -math.inf).softmax(-1) * some
    return torch.einsum("bhts,bhsk,dhk->btd", w, v, weights["output"].reshape(D, n_heads, K))


# %% right: loop over heads
# the rules allow a loop over heads

import math
import torch


def cross_attention(x, memory, memory_mask, weights, n_heads):
    K = x.shape[-1] // n_heads
    low = torch.finfo(x.dtype).min
    hidden = ~memory_mask.unsqueeze(1)
    found = []
    for h in range(n_heads):
        part = slice(h * K, (h + 1) * K)
        q = x @ weights["query"][part].T
        k = memory @ weights["key"][part].T
        v = memory @ weights["value"][part].T
        w = torch.softmax((q @ k.mT / math.sqrt(K)).masked_fill(hidden, low), dim=-1)
        found.append(w.masked_fill(hidden, 0.0) @ v)
    return torch.cat(found, dim=-1) @ weights["output"].T


# %% right: cleaned memory
# padding is replaced by zeros first, so that not even nan in it matters

import torch
from torch.nn import functional as F


def cross_attention(x, memory, memory_mask, weights, n_heads):
    clean = torch.where(memory_mask.unsqueeze(-1), memory, torch.zeros_like(memory))
    split = lambda y: torch.stack(y.chunk(n_heads, dim=-1), dim=1)
    q, k, v = split(F.linear(x, weights["query"])), split(F.linear(clean, weights["key"])), split(F.linear(clean, weights["value"]))
    mask = memory_mask[:, None, None]
    scores = torch.where(mask, q @ k.transpose(-2, -1) / k.shape[-1] ** 0.5, torch.finfo(x.dtype).min)
    out = torch.where(mask, F.softmax(scores, dim=-1), 0.0) @ v
    return F.linear(torch.cat(out.unbind(dim=1), dim=-1), weights["output"])


# %% right: exponentials by hand
import math


def cross_attention(x, memory, memory_mask, weights, n_heads):
    B, T, D = x.shape
    K = D // n_heads
    q = (x @ weights["query"].T).reshape(B, T, n_heads, K).permute(0, 2, 1, 3)
    k = (memory @ weights["key"].T).reshape(B, memory.shape[1], n_heads, K).permute(0, 2, 3, 1)
    v = (memory @ weights["value"].T).reshape(B, memory.shape[1], n_heads, K).permute(0, 2, 1, 3)
    s = (q @ k / K**0.5).masked_fill(~memory_mask[:, None, None, :], -math.inf)
    top = s.detach().amax(dim=-1, keepdim=True)
    e = (s - top.masked_fill(top == -math.inf, 0.0)).exp()
    total = e.sum(-1, keepdim=True)
    w = e / total.masked_fill(total == 0, 1.0)
    return (w @ v).permute(0, 2, 1, 3).reshape(B, T, D) @ weights["output"].T


# %% right: masked fill nan to num
# masked_fill gives a gradient of 0 to what it filled, so nan_to_num is right here

def cross_attention(x, memory, memory_mask, weights, n_heads):
    split = lambda y: y.unflatten(-1, (n_heads, -1)).movedim(2, 1)
    q, k, v = split(x @ weights["query"].mT), split(memory @ weights["key"].mT), split(memory @ weights["value"].mT)
    scores = (q * q.shape[-1] ** -0.5) @ k.mT
    w = scores.masked_fill(~memory_mask[:, None, None, :], float("-inf")).softmax(dim=-1).nan_to_num(0.0)
    return (w @ v).movedim(1, 2).flatten(2) @ weights["output"].mT


# %% right: sums over heads
# one einsum per product over matrices cut by heads; exp of score minus logsumexp; a row without memory sees everything and is emptied in the end

import torch


def cross_attention(x, memory, memory_mask, weights, n_heads):
    K = x.shape[-1] // n_heads
    q, k, v = (weights[name].unflatten(0, (n_heads, K)) for name in ("query", "key", "value"))
    query = torch.einsum("btd,hkd->bhtk", x, q) * K**-0.5
    key, value = (torch.einsum("bsm,hkm->bhsk", memory, w) for w in (k, v))
    sees = memory_mask.any(dim=1)[:, None, None, None]
    shown = memory_mask[:, None, None, :] | ~sees
    scores = torch.einsum("bhtk,bhsk->bhts", query, key)
    scores = torch.where(shown, scores, float("-inf"))
    attention = torch.exp(scores - scores.logsumexp(dim=-1, keepdim=True))
    attention = torch.where(sees, attention, 0.0)
    out = weights["output"].unflatten(1, (n_heads, K))
    return torch.einsum("bhts,bhsk,dhk->btd", attention, value, out)


# %% wrong: weights by order
# takes the matrices by their order in the dict, not by name.
# shows: a dict in another order.

import torch


def cross_attention(x, memory, memory_mask, weights, n_heads):
    wq, wk, wv, wo = weights.values()
    cut = lambda y: y.unflatten(-1, (n_heads, -1)).transpose(1, 2)
    q, k, v = cut(x @ wq.T), cut(memory @ wk.T), cut(memory @ wv.T)
    m = memory_mask[:, None, None, :]
    s = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~m, torch.finfo(x.dtype).min)
    w = s.softmax(-1).masked_fill(~m, 0.0)
    return (w @ v).transpose(1, 2).flatten(2) @ wo.T


# %% wrong: opens callers mask
# rows without anything real are opened in the caller's own mask.
# shows: memory_mask after the call, where a row is all False (the result is right).

import math


def cross_attention(x, memory, memory_mask, weights, n_heads):
    blind = ~memory_mask.any(dim=1)
    memory_mask[blind] = True
    cut = lambda y: y.unflatten(-1, (n_heads, -1)).transpose(1, 2)
    q, k, v = cut(x @ weights["query"].T), cut(memory @ weights["key"].T), cut(memory @ weights["value"].T)
    s = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~memory_mask[:, None, None, :], -math.inf)
    out = (s.softmax(-1) @ v).transpose(1, 2).flatten(2) @ weights["output"].T
    return out.masked_fill(blind[:, None, None], 0.0)


# %% wrong: any row blind
# zeros only if NO row of the batch has anything real; a single blind row among others is nan.
# shows: a batch with one blind row.

import math
import torch


def cross_attention(x, memory, memory_mask, weights, n_heads):
    if not memory_mask.any():
        return torch.zeros_like(x) + 0.0 * memory.sum()
    cut = lambda y: y.unflatten(-1, (n_heads, -1)).transpose(1, 2)
    q, k, v = cut(x @ weights["query"].T), cut(memory @ weights["key"].T), cut(memory @ weights["value"].T)
    s = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~memory_mask[:, None, None, :], -math.inf)
    return (s.softmax(-1) @ v).transpose(1, 2).flatten(2) @ weights["output"].T


# %% wrong: memory zeroed only
# sets padded MEMORY to 0 and leaves the scores: padding has the score 0 and its share of the weights.
# shows: any padding, unless all real scores are far above 0.

def cross_attention(x, memory, memory_mask, weights, n_heads):
    memory = memory * memory_mask[..., None]
    cut = lambda y: y.unflatten(-1, (n_heads, -1)).transpose(1, 2)
    q, k, v = cut(x @ weights["query"].T), cut(memory @ weights["key"].T), cut(memory @ weights["value"].T)
    w = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
    return (w @ v).transpose(1, 2).flatten(2) @ weights["output"].T


# %% wrong: mask minus 10000
# padding gets -10000 ADDED (as in BERT): real scores below that, or padding far above, and padding wins; then its weight is set to 0 and the rest does not sum to 1.
# shows: scores more than 10000 apart, with those of padding the largest.

def cross_attention(x, memory, memory_mask, weights, n_heads):
    cut = lambda y: y.unflatten(-1, (n_heads, -1)).transpose(1, 2)
    q, k, v = cut(x @ weights["query"].T), cut(memory @ weights["key"].T), cut(memory @ weights["value"].T)
    m = memory_mask[:, None, None, :]
    s = q @ k.mT / q.shape[-1] ** 0.5 - 10_000.0 * (~m)
    w = s.softmax(-1) * m
    return (w @ v).transpose(1, 2).flatten(2) @ weights["output"].T


# %% wrong: mask along the queries
# where T = S the mask lies along the queries (third axis), not along the memory.
# shows: T = S with padding.

import torch


def cross_attention(x, memory, memory_mask, weights, n_heads):
    cut = lambda y: y.unflatten(-1, (n_heads, -1)).transpose(1, 2)
    q, k, v = cut(x @ weights["query"].T), cut(memory @ weights["key"].T), cut(memory @ weights["value"].T)
    square = x.shape[1] == memory.shape[1] and x.shape[1] > 1
    m = memory_mask[:, None, :, None] if square else memory_mask[:, None, None, :]
    s = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~m, torch.finfo(x.dtype).min)
    w = s.softmax(-1) * m
    return (w @ v).transpose(1, 2).flatten(2) @ weights["output"].T


# %% wrong: mask of first text
# all texts are read with the padding of text 0 if the batch has one head.
# shows: n_heads = 1, B > 1, different padding.

import torch


def cross_attention(x, memory, memory_mask, weights, n_heads):
    cut = lambda y: y.unflatten(-1, (n_heads, -1)).transpose(1, 2)
    q, k, v = cut(x @ weights["query"].T), cut(memory @ weights["key"].T), cut(memory @ weights["value"].T)
    m = memory_mask[0] if n_heads == 1 else memory_mask[:, None, None, :]
    s = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(~m, torch.finfo(x.dtype).min)
    return ((s.softmax(-1) * m) @ v).transpose(1, 2).flatten(2) @ weights["output"].T


# %% wrong: scale of memory width
# divides by the root of M / n_heads, not of D / n_heads.
# shows: M != D.

import torch


def cross_attention(x, memory, memory_mask, weights, n_heads):
    cut = lambda y: y.unflatten(-1, (n_heads, -1)).transpose(1, 2)
    q, k, v = cut(x @ weights["query"].T), cut(memory @ weights["key"].T), cut(memory @ weights["value"].T)
    m = memory_mask[:, None, None, :]
    s = (q @ k.mT / (memory.shape[-1] / n_heads) ** 0.5).masked_fill(~m, torch.finfo(x.dtype).min)
    return ((s.softmax(-1) * m) @ v).transpose(1, 2).flatten(2) @ weights["output"].T


# %% wrong: added minus inf
# -inf is added and nan_to_num repairs the numbers of blind rows; gradients are nan.
# shows: memory.grad and x.grad with a blind row beside others (all weights get nan too).

import math
import torch


def cross_attention(x, memory, memory_mask, weights, n_heads):
    cut = lambda y: y.unflatten(-1, (n_heads, -1)).transpose(1, 2)
    q, k, v = cut(x @ weights["query"].T), cut(memory @ weights["key"].T), cut(memory @ weights["value"].T)
    bias = torch.zeros(memory_mask.shape, dtype=x.dtype).masked_fill(~memory_mask, -math.inf)
    w = torch.nan_to_num((q @ k.mT / q.shape[-1] ** 0.5 + bias[:, None, None]).softmax(-1))
    return (w @ v).transpose(1, 2).flatten(2) @ weights["output"].T


# %% wrong: loop over rows
# a loop over the rows of the batch, which cuts the padding off row by row (forbidden by the rules of the set; numbers right).
# shows: time for B = 5000.

import torch


def cross_attention(x, memory, memory_mask, weights, n_heads):
    out = []
    for b in range(len(x)):
        mem = memory[b][memory_mask[b]]
        if not len(mem):
            out.append(torch.zeros_like(x[b]))
            continue
        q, k, v = (y.unflatten(-1, (n_heads, -1)).transpose(0, 1) for y in (x[b] @ weights["query"].T, mem @ weights["key"].T, mem @ weights["value"].T))
        w = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
        out.append((w @ v).transpose(0, 1).flatten(1) @ weights["output"].T)
    return torch.stack(out)


# %% wrong: torch does it
# torch's scaled_dot_product_attention is not allowed here.
# shows: by reading.

from torch.nn import functional as F


def cross_attention(x, memory, memory_mask, weights, n_heads):
    cut = lambda y: y.unflatten(-1, (n_heads, -1)).transpose(1, 2)
    q, k, v = cut(x @ weights["query"].T), cut(memory @ weights["key"].T), cut(memory @ weights["value"].T)
    blind = ~memory_mask.any(1)
    m = memory_mask | blind[:, None]
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=m[:, None, None, :])
    return (out.transpose(1, 2).flatten(2) @ weights["output"].T) * ~blind[:, None, None]


# %% wrong: cuts to the largest count
# cuts the memory to as many places as any row has real ones, as if padding always came last.
# shows: one row with the mask (False, True, True): the third place is lost

import math

import torch


def cross_attention(x, memory, memory_mask, weights, n_heads):
    longest = max(1, int(memory_mask.sum(dim=1).max())) if len(memory_mask) else 1
    memory, hidden = memory[:, :longest], ~memory_mask[:, None, None, :longest]

    def split(rows):
        return rows.unflatten(-1, (n_heads, -1)).transpose(1, 2)

    query = split(x @ weights["query"].T)
    key, value = split(memory @ weights["key"].T), split(memory @ weights["value"].T)
    scores = (query @ key.mT / math.sqrt(query.shape[-1])).masked_fill(
        hidden, torch.finfo(x.dtype).min
    )
    attention = scores.softmax(dim=-1).masked_fill(hidden, 0)
    return (attention @ value).transpose(1, 2).flatten(2) @ weights["output"].T


# %% wrong: clamps the scores
# keeps scores between -500 and 500, so two that are beyond become equal.
# shows: scores 1000 and 1010: the weights are 1/2 and 1/2

import math

import torch


def cross_attention(x, memory, memory_mask, weights, n_heads):
    B, T, D = x.shape
    S, K = memory.shape[1], D // n_heads
    query = (x @ weights["query"].T).reshape(B, T, n_heads, K).transpose(1, 2)
    key = (memory @ weights["key"].T).reshape(B, S, n_heads, K).transpose(1, 2)
    value = (memory @ weights["value"].T).reshape(B, S, n_heads, K).transpose(1, 2)
    scores = (query @ key.mT / math.sqrt(K)).clamp(-500, 500)
    hidden = ~memory_mask[:, None, None, :]
    attention = scores.masked_fill(hidden, -2000.0).softmax(dim=-1).masked_fill(hidden, 0)
    return (attention @ value).transpose(1, 2).reshape(B, T, D) @ weights["output"].T


# %% wrong: -1e9 for padding
# hidden scores are -1e9.
# shows: real scores near -1e10.
import torch


def cross_attention(x, memory, memory_mask, weights, n_heads):
    q, k, v = ((t @ weights[n].T).unflatten(-1, (n_heads, x.shape[-1] // n_heads)).transpose(1, 2) for t, n in ((x, "query"), (memory, "key"), (memory, "value")))
    s = q @ k.mT / q.shape[-1] ** 0.5
    ok = memory_mask[:, None, None]
    w = torch.softmax(s.masked_fill(~ok, -1e9), -1).masked_fill(~ok, 0)
    return (w @ v).transpose(1, 2).flatten(2) @ weights["output"].T


# %% wrong: the least float32 for padding
# hidden scores are the least finite float32, in float64, too.
# shows: float64 scores near -1e40.
import torch


def cross_attention(x, memory, memory_mask, weights, n_heads):
    q, k, v = ((t @ weights[n].T).unflatten(-1, (n_heads, x.shape[-1] // n_heads)).transpose(1, 2) for t, n in ((x, "query"), (memory, "key"), (memory, "value")))
    s = q @ k.mT / q.shape[-1] ** 0.5
    ok = memory_mask[:, None, None]
    w = torch.softmax(s.masked_fill(~ok, torch.finfo(torch.float32).min), -1).masked_fill(~ok, 0)
    return (w @ v).transpose(1, 2).flatten(2) @ weights["output"].T
