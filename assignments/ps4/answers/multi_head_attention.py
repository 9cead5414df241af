# %% right: Names all axes, the heads' among them.
def multi_head_attention(x, weights, n_heads, mask=None):
    width = x.shape[-1] // n_heads
    query, key, value = (
        torch.einsum("btd,hkd->bhtk", x, weights[name].reshape(n_heads, width, -1))
        for name in ("query", "key", "value")
    )
    scores = torch.einsum("bhtk,bhsk->bhts", query, key) * width**-0.5
    if mask is not None:
        scores = scores.where(mask, torch.tensor(float("-inf"), dtype=scores.dtype))
    heads = torch.einsum("bhts,bhsk->bhtk", scores.softmax(-1), value)
    mixing = weights["output"].reshape(-1, n_heads, width)
    return torch.einsum("bhtk,dhk->btd", heads, mixing)


# %% right: Goes head by head, each with its own rows of the weights.
def multi_head_attention(x, weights, n_heads, mask=None):
    width = x.shape[-1] // n_heads
    found = []
    for number in range(n_heads):
        rows = slice(number * width, (number + 1) * width)
        query, key, value = (F.linear(x, weights[n][rows]) for n in ("query", "key", "value"))
        scores = torch.bmm(query, key.transpose(1, 2)) / math.sqrt(width)
        if mask is not None:
            full = mask.expand(len(x), n_heads, x.shape[1], x.shape[1])
            scores = scores.masked_fill(~full[:, number], float("-inf"))
        found.append(torch.bmm(scores.softmax(dim=2), value))
    return F.linear(torch.cat(found, dim=2), weights["output"])


# %% right: Adds up what each head contributes through its columns of the output matrix.
def multi_head_attention(x, weights, n_heads, mask=None):
    width = x.shape[-1] // n_heads
    total = torch.zeros_like(x)
    for first in range(0, x.shape[-1], width):
        part = slice(first, first + width)
        query = x @ weights["query"][part].mT
        key = x @ weights["key"][part].mT
        scores = query @ key.mT / width**0.5
        if mask is not None:
            B, T, _ = x.shape
            allowed = torch.broadcast_to(mask, (B, n_heads, T, T))[:, first // width]
            scores = torch.where(allowed, scores, -torch.inf)
        found = scores.softmax(-1) @ (x @ weights["value"][part].mT)
        total = total + found @ weights["output"][:, part].mT
    return total


# %% right: Lets torch attend inside the heads, which is allowed here.
def multi_head_attention(x, weights, n_heads, mask=None):
    B, T, D = x.shape
    query, key, value = (
        F.linear(x, weights[name]).reshape(B, T, n_heads, D // n_heads).permute(0, 2, 1, 3)
        for name in ("query", "key", "value")
    )
    heads = F.scaled_dot_product_attention(query, key, value, attn_mask=mask)
    return F.linear(heads.permute(0, 2, 1, 3).reshape(B, T, D), weights["output"])


# %% right: Projects once, with all three matrices above each other.
def multi_head_attention(x, weights, n_heads, mask=None):
    B, T, D = x.shape
    joined = torch.cat([weights[name] for name in ("query", "key", "value")])
    all_three = (x @ joined.T).view(B, T, 3, n_heads, -1).permute(2, 0, 3, 1, 4)
    query, key, value = all_three.unbind(0)
    scores = query @ key.mT / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores + torch.zeros_like(mask, dtype=scores.dtype).masked_fill(~mask, -torch.inf)
    found = scores.softmax(-1) @ value
    return found.swapaxes(1, 2).reshape(B, T, D) @ weights["output"].T


# %% right: Folds the heads into the batch, and unfolds them at the end.
def multi_head_attention(x, weights, n_heads, mask=None):
    B, T, D = x.shape
    width = D // n_heads

    def fold(name):
        parts = (x @ weights[name].T).split(width, dim=-1)
        return torch.stack(parts, dim=1).flatten(0, 1)  # (B·H, T, K)

    scores = torch.baddbmm(
        x.new_zeros(1, 1, 1), fold("query"), fold("key").mT, beta=0, alpha=width**-0.5
    )
    if mask is not None:
        hidden = ~mask.expand(B, n_heads, T, T).reshape(-1, T, T)
        scores = scores.masked_fill(hidden, torch.finfo(scores.dtype).min)
    found = torch.bmm(torch.softmax(scores, dim=2), fold("value")).unflatten(0, (B, n_heads))
    return torch.cat(list(found.unbind(1)), dim=-1) @ weights["output"].T


# %% right: own functions
# needs: split_heads attend merge_heads

def multi_head_attention(x, weights, n_heads, mask=None):
    query, key, value = (
        split_heads(x @ weights[name].T, n_heads) for name in ("query", "key", "value")
    )
    return merge_heads(attend(query, key, value, mask)) @ weights["output"].T


# %% right: torch sdpa
from torch.nn import functional as F


def multi_head_attention(x, weights, n_heads, mask=None):
    B, T, D = x.shape

    def heads(name):
        return F.linear(x, weights[name]).reshape(B, T, n_heads, D // n_heads).transpose(1, 2)

    found = F.scaled_dot_product_attention(heads("query"), heads("key"), heads("value"), attn_mask=mask)
    return F.linear(found.transpose(1, 2).reshape(B, T, D), weights["output"])


# %% right: loop over heads
import math
import torch


def multi_head_attention(x, weights, n_heads, mask=None):
    B, T, D = x.shape
    K = D // n_heads
    if mask is None:
        mask = torch.ones(1, 1, 1, 1, dtype=torch.bool)
    mask = mask.expand(B, n_heads, T, T)
    out = 0
    for h in range(n_heads):
        rows = slice(h * K, (h + 1) * K)
        q, k, v = (x @ weights[name][rows].T for name in ("query", "key", "value"))
        scores = (q @ k.mT / math.sqrt(K)).masked_fill(~mask[:, h], -math.inf)
        out = out + scores.softmax(-1) @ v @ weights["output"][:, rows].T
    return out


# %% right: fused projection
import torch


def multi_head_attention(x, weights, n_heads, mask=None):
    fused = torch.cat([weights["query"], weights["key"], weights["value"]])
    q, k, v = (x @ fused.T).unflatten(-1, (3, n_heads, -1)).permute(2, 0, 3, 1, 4)
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    if mask is not None:
        scores = torch.where(mask, scores, float("-inf"))
    return (scores.softmax(dim=-1) @ v).transpose(1, 2).flatten(2) @ weights["output"].mT


# %% right: einsum throughout
import torch
from torch.nn import functional as F


def multi_head_attention(x, weights, n_heads, mask=None):
    D = x.shape[-1]
    K = D // n_heads
    w = {n: weights[n].reshape(n_heads, K, D) for n in ("query", "key", "value")}
    q, k, v = (torch.einsum("btd,hkd->bhtk", x, w[n]) for n in ("query", "key", "value"))
    scores = torch.einsum("bhtk,bhsk->bhts", q, k) / K**0.5
    if mask is not None:
        low = torch.finfo(scores.dtype).min
        scores = scores.masked_fill(mask.logical_not(), low)
    attention = F.softmax(scores, dim=-1)
    return torch.einsum("bhts,bhsk,dhk->btd", attention, v, weights["output"].reshape(D, n_heads, K))


# %% right: class inside
import torch


class _Heads:
    def __init__(self, weights, n_heads):
        self.weights, self.n_heads = weights, n_heads

    def project(self, x, name):
        y = x @ self.weights[name].transpose(0, 1)
        return torch.stack(y.chunk(self.n_heads, dim=-1), dim=1)

    def __call__(self, x, mask):
        q, k, v = map(lambda n: self.project(x, n), ("query", "key", "value"))
        scores = torch.matmul(q, k.mT).div(q.size(-1) ** 0.5)
        if mask is not None:
            scores = scores.masked_fill(mask == False, torch.finfo(scores.dtype).min)  # noqa: E712
        found = torch.matmul(torch.softmax(scores, -1), v)
        return torch.cat(found.unbind(1), dim=-1) @ self.weights["output"].transpose(0, 1)


def multi_head_attention(x, weights, n_heads, mask=None):
    return _Heads(weights, n_heads)(x, mask)


# %% right: sum over heads
# the matrices are cut by heads, and what each head has found is mixed at once by its own columns of the output matrix
import torch


def multi_head_attention(x, weights, n_heads, mask=None):
    width = x.shape[-1] // n_heads
    query, key, value = (
        torch.einsum("btd,hkd->bhtk", x, weights[name].unflatten(0, (n_heads, width)))
        for name in ("query", "key", "value")
    )
    scores = torch.einsum("bhtk,bhsk->bhts", query, key) / width**0.5
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), float("-inf"))
    mix = weights["output"].unflatten(1, (n_heads, width))
    return torch.einsum("bhts,bhsk,dhk->btd", scores.softmax(dim=-1), value, mix)


# %% wrong: weights by order
# takes the matrices by their ORDER in the dict, not by their names.
# shows: a dict with the same names in another order.

from torch.nn import functional as F


def multi_head_attention(x, weights, n_heads, mask=None):
    q, k, v, o = weights.values()
    B, T, D = x.shape
    cut = lambda w: (x @ w.T).reshape(B, T, n_heads, -1).transpose(1, 2)
    found = F.scaled_dot_product_attention(cut(q), cut(k), cut(v), attn_mask=mask)
    return found.transpose(1, 2).reshape(B, T, D) @ o.T


# %% wrong: mask of head 0
# keeps only the first head of the mask: a mask that differs from head to head is not obeyed.
# shows: mask of shape (B, H, T, T) with different heads.

import torch


def multi_head_attention(x, weights, n_heads, mask=None):
    B, T, D = x.shape
    K = D // n_heads
    q, k, v = ((x @ weights[n].T).split(K, dim=-1) for n in ("query", "key", "value"))
    if mask is not None:
        mask = mask.expand(B, n_heads, T, T)[:, 0]
    found = []
    for h in range(n_heads):
        scores = q[h] @ k[h].mT / K**0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, torch.finfo(x.dtype).min)
        found.append(scores.softmax(-1) @ v[h])
    return torch.cat(found, dim=-1) @ weights["output"].T


# %% wrong: three axes are texts
# a mask of three axes is read as (B, T, T); by broadcasting it is (H, T, T).
# shows: mask of shape (H, T, T); an error or the wrong numbers (with B = H).

from torch.nn import functional as F


def multi_head_attention(x, weights, n_heads, mask=None):
    B, T, D = x.shape
    if mask is not None and mask.dim() == 3:
        mask = mask.unsqueeze(1)
    q, k, v = (F.linear(x, weights[n]).unflatten(-1, (n_heads, -1)).transpose(1, 2) for n in ("query", "key", "value"))
    return F.linear(F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2), weights["output"])


# %% wrong: float mask
# the mask goes to torch's function as float, which ADDS it to the scores: hidden 0, visible +1.
# shows: any mask that hides something.

from torch.nn import functional as F


def multi_head_attention(x, weights, n_heads, mask=None):
    q, k, v = ((x @ weights[n].T).unflatten(-1, (n_heads, -1)).transpose(1, 2) for n in ("query", "key", "value"))
    if mask is not None:
        mask = mask.to(x.dtype)
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return out.transpose(1, 2).flatten(2) @ weights["output"].T


# %% wrong: transposes weights in the dict
# writes the transposed matrices back into the caller's dict: the second call computes with the wrong ones.
# shows: weights after the call; a second call.

from torch.nn import functional as F


def multi_head_attention(x, weights, n_heads, mask=None):
    for name in weights:
        weights[name] = weights[name].T
    B, T, D = x.shape
    q, k, v = ((x @ weights[n]).reshape(B, T, n_heads, D // n_heads).transpose(1, 2) for n in ("query", "key", "value"))
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return out.transpose(1, 2).reshape(B, T, D) @ weights["output"]


# %% wrong: soft mask
# hidden scores get -50 more: their weights are tiny, not 0, and a large hidden score still wins.
# shows: hidden scores much above the visible ones; x of large numbers in the padding.

def multi_head_attention(x, weights, n_heads, mask=None):
    B, T, D = x.shape
    K = D // n_heads
    q, k, v = ((x @ weights[n].T).reshape(B, T, n_heads, K).transpose(1, 2) for n in ("query", "key", "value"))
    scores = q @ k.mT / K**0.5
    if mask is not None:
        scores = scores - 50.0 * (~mask)
    return (scores.softmax(-1) @ v).transpose(1, 2).reshape(B, T, D) @ weights["output"].T


# %% wrong: scale of the model
# the scale is the root of D, not of K.
# shows: n_heads > 1 with scores that are not all alike.

from torch.nn import functional as F


def multi_head_attention(x, weights, n_heads, mask=None):
    B, T, D = x.shape
    q, k, v = ((x @ weights[n].T).reshape(B, T, n_heads, -1).transpose(1, 2) for n in ("query", "key", "value"))
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, scale=D**-0.5)
    return out.transpose(1, 2).reshape(B, T, D) @ weights["output"].T


# %% wrong: key and value cut loose
# keys and values are computed without gradients, so weights["key"] and weights["value"] never learn.
# shows: weights["value"].grad is None after backward.

import torch
from torch.nn import functional as F


def multi_head_attention(x, weights, n_heads, mask=None):
    B, T, D = x.shape
    cut = lambda y: y.reshape(B, T, n_heads, D // n_heads).transpose(1, 2)
    q = cut(x @ weights["query"].T)
    with torch.no_grad():
        k, v = cut(x @ weights["key"].T), cut(x @ weights["value"].T)
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return out.transpose(1, 2).reshape(B, T, D) @ weights["output"].T


# %% wrong: all texts in one row
# the batch is flattened into one long text, so texts look at each other; without a mask nobody notices for B = 1.
# shows: B > 1.

from torch.nn import functional as F


def multi_head_attention(x, weights, n_heads, mask=None):
    B, T, D = x.shape
    flat = x.reshape(1, B * T, D)
    q, k, v = ((flat @ weights[n].T).reshape(1, B * T, n_heads, -1).transpose(1, 2) for n in ("query", "key", "value"))
    if mask is not None:
        mask = mask.expand(B, n_heads, T, T).permute(1, 2, 0, 3).reshape(n_heads, T, B * T).repeat(1, B, 1)
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    return out.transpose(1, 2).reshape(B, T, D) @ weights["output"].T


# %% wrong: not merged
# the heads are joined by a plain reshape, without exchanging the axes.
# shows: T > 1 and n_heads > 1.

from torch.nn import functional as F


def multi_head_attention(x, weights, n_heads, mask=None):
    B, T, D = x.shape
    q, k, v = ((x @ weights[n].T).reshape(B, T, n_heads, -1).transpose(1, 2) for n in ("query", "key", "value"))
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask).reshape(B, T, D) @ weights["output"].T


# %% wrong: torch layer
# torch's nn.MultiheadAttention, which is not allowed (its weights are copies: no gradient to the caller's; making it draws from torch's global random generator).
# shows: gradients; by reading.

import torch
from torch import nn


def multi_head_attention(x, weights, n_heads, mask=None):
    B, T, D = x.shape
    layer = nn.MultiheadAttention(D, n_heads, bias=False, batch_first=True, dtype=x.dtype)
    with torch.no_grad():
        layer.in_proj_weight.copy_(torch.cat([weights[n] for n in ("query", "key", "value")]))
        layer.out_proj.weight.copy_(weights["output"])
    if mask is not None:
        mask = ~mask.expand(B, n_heads, T, T).reshape(B * n_heads, T, T)
    return layer(x, x, x, attn_mask=mask)[0]


# %% wrong: one mask a text where heads are as many
# a mask of three axes whose first is as long as the batch is taken for one mask a text, also where it is one a head, B and H being equal; breaks "mask: bool, broadcasts to (B, H, T, T)"
# shows: B = H = 2 and a mask of shape (2, T, T) whose two parts differ
import torch
from torch.nn import functional as F


def multi_head_attention(x, weights, n_heads, mask=None):
    n_texts, n_places, width = x.shape
    if mask is not None and mask.dim() == 3 and mask.shape[0] == n_texts:
        mask = mask.unsqueeze(1)

    def heads(name):
        return (x @ weights[name].T).reshape(n_texts, n_places, n_heads, -1).transpose(1, 2)

    found = F.scaled_dot_product_attention(heads("query"), heads("key"), heads("value"), mask)
    return found.transpose(1, 2).reshape(n_texts, n_places, width) @ weights["output"].T


# %% wrong: two axes are causal
# takes every mask of two axes for the causal one and asks torch for that in its place; breaks "mask: True where a place may look"
# shows: a mask (T, T) of a window of two places, or the identity: places before it are seen too
import torch
from torch.nn import functional as F


def multi_head_attention(x, weights, n_heads, mask=None):
    def heads(name):
        return (x @ weights[name].T).unflatten(-1, (n_heads, -1)).transpose(-3, -2)

    causal = mask is not None and mask.dim() == 2
    found = F.scaled_dot_product_attention(
        heads("query"),
        heads("key"),
        heads("value"),
        attn_mask=None if causal else mask,
        is_causal=causal,
    )
    return found.transpose(-3, -2).flatten(-2) @ weights["output"].T


# %% wrong: the least float32 in every dtype
# hidden scores are the least finite float32, in float64, too.
# shows: float64 scores near -1e40.
import torch


def multi_head_attention(x, weights, n_heads, mask=None):
    q, k, v = ((x @ weights[n].T).unflatten(-1, (n_heads, -1)).transpose(1, 2) for n in ("query", "key", "value"))
    s = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        s = s.masked_fill(~mask, torch.finfo(torch.float32).min)
    return (torch.softmax(s, -1) @ v).transpose(1, 2).flatten(2) @ weights["output"].T


# %% wrong: -1e9
# hidden scores are -1e9.
# shows: visible scores near -1e10.
import torch


def multi_head_attention(x, weights, n_heads, mask=None):
    q, k, v = ((x @ weights[n].T).unflatten(-1, (n_heads, -1)).transpose(1, 2) for n in ("query", "key", "value"))
    s = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        s = s.masked_fill(~mask, -1e9)
    return (torch.softmax(s, -1) @ v).transpose(1, 2).flatten(2) @ weights["output"].T
