# %% right: Lets torch cut the windows out of the padded ids.
def window_logits(ids, window, eos_id, weights):
    padded = F.pad(ids, (window - 1, 0), value=eos_id)
    vectors = F.embedding(padded.unfold(1, window, 1), weights["embedding"]).flatten(2)
    hidden = F.linear(vectors, weights["hidden"], weights["hidden_bias"]).tanh()
    return F.linear(hidden, weights["output"], weights["output_bias"])


# %% right: Adds up one product for each place of the window, without putting vectors side by side.
def window_logits(ids, window, eos_id, weights):
    embedding = weights["embedding"]
    n_places, d_embedding = ids.shape[1], embedding.shape[1]
    total = weights["hidden_bias"]
    for age in range(window):  # 0 is the newest
        seen = torch.full_like(ids, eos_id)
        if age < n_places:
            seen[:, age:] = ids[:, : n_places - age]
        first = (window - 1 - age) * d_embedding
        part = weights["hidden"][:, first : first + d_embedding]
        total = total + embedding[seen] @ part.T
    return torch.tanh(total) @ weights["output"].T + weights["output_bias"]


# %% right: Computes which place each window looks at, and replaces those before the text.
def window_logits(ids, window, eos_id, weights):
    places = torch.arange(ids.shape[1])[:, None] - torch.arange(window - 1, -1, -1)
    windows = torch.where(places >= 0, ids[:, places.clamp(min=0)], eos_id)  # (B, T, W)
    vectors = weights["embedding"][windows]
    inputs = vectors.reshape(*ids.shape, -1)
    hidden = torch.tanh(
        torch.einsum("btx,rx->btr", inputs, weights["hidden"]) + weights["hidden_bias"]
    )
    return torch.einsum("btr,vr->btv", hidden, weights["output"]) + weights["output_bias"]


# %% right: A hidden layer over windows is a convolution over the text.
def window_logits(ids, window, eos_id, weights):
    padded = torch.cat([torch.full_like(ids[:, :1], eos_id)] * (window - 1) + [ids], dim=1)
    vectors = weights["embedding"][padded].transpose(1, 2)  # (B, E, T + W - 1)
    d_hidden = len(weights["hidden"])
    kernel = weights["hidden"].reshape(d_hidden, window, -1).transpose(1, 2)
    hidden = torch.tanh(F.conv1d(vectors, kernel, weights["hidden_bias"]))
    return hidden.transpose(1, 2) @ weights["output"].T + weights["output_bias"]


# %% right: Multiplies every embedding by every place's weights first, then looks up the products.
def window_logits(ids, window, eos_id, weights):
    d_hidden = len(weights["hidden"])
    blocks = weights["hidden"].view(d_hidden, window, -1)
    table = torch.einsum("ve,rwe->wvr", weights["embedding"], blocks)  # (W, V, R)
    padded = F.pad(ids, (window - 1, 0), value=eos_id)
    n_places = ids.shape[1]
    looked_up = [table[w][padded[:, w : w + n_places]] for w in range(window)]
    hidden = torch.tanh(torch.stack(looked_up).sum(dim=0) + weights["hidden_bias"])
    return torch.matmul(hidden, weights["output"].mT) + weights["output_bias"]


# %% right: cat of columns
import torch


def window_logits(ids, window, eos_id, weights):
    B, T = ids.shape
    padded = torch.cat([ids.new_full((B, window - 1), eos_id), ids], dim=1)
    x = torch.cat([weights["embedding"][padded[:, k : k + T]] for k in range(window)], dim=-1)
    hidden = torch.tanh(x @ weights["hidden"].T + weights["hidden_bias"])
    return hidden @ weights["output"].T + weights["output_bias"]


# %% right: unfold
from torch.nn import functional as F


def window_logits(ids, window, eos_id, weights):
    windows = F.pad(ids, (window - 1, 0), value=eos_id).unfold(1, window, 1)
    x = F.embedding(windows, weights["embedding"]).flatten(start_dim=2)
    return F.linear(F.linear(x, weights["hidden"], weights["hidden_bias"]).tanh(), weights["output"], weights["output_bias"])


# %% right: parts of the hidden matrix
# each place of the window has its own part of the hidden matrix; what they give is added up

import torch


def window_logits(ids, window, eos_id, weights):
    B, T = ids.shape
    embedding = weights["embedding"]
    parts = weights["hidden"].split(embedding.shape[1], dim=1)
    total = weights["hidden_bias"]
    for age, part in enumerate(reversed(parts)):
        before = ids.new_full((B, min(age, T)), eos_id)
        column = torch.cat([before, ids[:, : T - min(age, T)]], dim=1)
        total = total + embedding[column] @ part.T
    return torch.tanh(total) @ weights["output"].T + weights["output_bias"]


# %% right: index table
import torch


def window_logits(ids: torch.Tensor, window: int, eos_id: int, weights: dict) -> torch.Tensor:
    B, T = ids.shape
    place = torch.arange(T).view(T, 1) - torch.arange(window - 1, -1, -1)
    windows = torch.where(place >= 0, ids[:, place.clamp(min=0)], torch.full_like(ids[:, :1], eos_id)[:, :, None])
    x = weights["embedding"].index_select(0, windows.reshape(-1)).reshape(B, T, -1)
    h = torch.einsum("btx,rx->btr", x, weights["hidden"]).add(weights["hidden_bias"]).tanh()
    return torch.einsum("btr,vr->btv", h, weights["output"]) + weights["output_bias"]


# %% right: table of products
# multiply the whole vocabulary once, then look up the products

import torch


def window_logits(ids, window, eos_id, weights):
    B, T = ids.shape
    V, E = weights["embedding"].shape
    H = weights["hidden"].unflatten(1, (window, E))
    products = torch.einsum("ve,rwe->wvr", weights["embedding"], H)
    padded = torch.cat([torch.full_like(ids[:, :1], eos_id).expand(B, window - 1), ids], 1)
    z = sum(products[k][padded[:, k : k + T]] for k in range(window)) + weights["hidden_bias"]
    return torch.tanh(z) @ weights["output"].mT + weights["output_bias"]


# %% right: table for each slot
# multiplies the whole embedding by each slot's block of the hidden weights first, and then only looks up and adds
import torch
from torch.nn import functional as F


def window_logits(ids, window, eos_id, weights):
    embedding, n_places = weights["embedding"], ids.shape[1]
    blocks = weights["hidden"].unflatten(1, (window, embedding.shape[1])).unbind(1)
    padded = F.pad(ids, (window - 1, 0), value=eos_id)
    total = weights["hidden_bias"]
    for slot, block in enumerate(blocks):
        total = total + (embedding @ block.mT)[padded.narrow(1, slot, n_places)]
    return F.linear(total.tanh(), weights["output"], weights["output_bias"])


# %% wrong: features first
# the row x holds the first number of every embedding, then the second, ...: right only if E = 1.
# shows: E > 1 and W > 1 (all visible tests have E = 1).

import torch


def window_logits(ids, window, eos_id, weights):
    B, T = ids.shape
    padded = torch.cat([ids.new_full((B, window - 1), eos_id), ids], dim=1)
    looked_up = torch.stack([weights["embedding"][padded[:, k : k + T]] for k in range(window)], dim=-1)
    hidden = torch.tanh(looked_up.flatten(2) @ weights["hidden"].T + weights["hidden_bias"])
    return hidden @ weights["output"].T + weights["output_bias"]


# %% wrong: text restarts at eos
# what stands before an eos IN the text is replaced by eos too; the contract replaces only what comes before the text.
# shows: eos_id within ids (not at place 0), with a window that reaches beyond it.

import torch


def window_logits(ids, window, eos_id, weights):
    B, T = ids.shape
    padded = torch.cat([ids.new_full((B, window - 1), eos_id), ids], dim=1)
    columns, blocked = [], torch.zeros(B, T, dtype=torch.bool)
    for k in range(window - 1, -1, -1):
        column = padded[:, k : k + T]
        columns.insert(0, torch.where(blocked, eos_id, column))
        blocked = blocked | (column == eos_id)
    x = torch.cat([weights["embedding"][c] for c in columns], dim=-1)
    hidden = torch.tanh(x @ weights["hidden"].T + weights["hidden_bias"])
    return hidden @ weights["output"].T + weights["output_bias"]


# %% wrong: rows run on
# the batch is one long text: the first places of row 1 see the end of row 0.
# shows: B > 1 at the first W - 1 places of the second row (a test that looks at row 0 only does not see it).

import torch


def window_logits(ids, window, eos_id, weights):
    B, T = ids.shape
    flat = torch.cat([ids.new_full((window - 1,), eos_id), ids.flatten()])
    x = weights["embedding"][flat.unfold(0, window, 1)].flatten(1)
    hidden = torch.tanh(x @ weights["hidden"].T + weights["hidden_bias"])
    return (hidden @ weights["output"].T + weights["output_bias"]).reshape(B, T, -1)


# %% wrong: loop over places
# a loop over the places of the text, which the contract forbids (the numbers are right).
# shows: time for long texts; by reading.

import torch


def window_logits(ids, window, eos_id, weights):
    B, T = ids.shape
    padded = torch.cat([ids.new_full((B, window - 1), eos_id), ids], dim=1)
    out = []
    for t in range(T):
        x = weights["embedding"][padded[:, t : t + window]].reshape(B, -1)
        h = torch.tanh(x @ weights["hidden"].T + weights["hidden_bias"])
        out.append(h @ weights["output"].T + weights["output_bias"])
    return torch.stack(out, dim=1)


# %% wrong: embedding without gradient
# looks up in embedding.data: the embeddings never learn. (The text of this set never says that gradients must flow through this function; the workshop and task 7 need them.)
# shows: weights["embedding"].grad is None after backward.

import torch


def window_logits(ids, window, eos_id, weights):
    B, T = ids.shape
    padded = torch.cat([ids.new_full((B, window - 1), eos_id), ids], dim=1)
    table = weights["embedding"].data
    x = torch.cat([table[padded[:, k : k + T]] for k in range(window)], dim=-1)
    hidden = torch.tanh(x @ weights["hidden"].T + weights["hidden_bias"])
    return hidden @ weights["output"].T + weights["output_bias"]


# %% wrong: roll and overwrite
# shifts by torch.roll and writes eos_id over the first k columns of ids ITSELF for k = 0... the caller's ids are changed.
# shows: ids after the call, with window >= 2.

import torch


def window_logits(ids, window, eos_id, weights):
    columns = [ids.clone()]
    for _ in range(window - 1):
        ids.copy_(torch.roll(ids, 1, dims=1))
        ids[:, 0] = eos_id
        columns.insert(0, ids.clone())
    x = torch.cat([weights["embedding"][c] for c in columns], dim=-1)
    hidden = torch.tanh(x @ weights["hidden"].T + weights["hidden_bias"])
    return hidden @ weights["output"].T + weights["output_bias"]


# %% wrong: eos row zeroed
# eos_id's embedding is set to zero, as padding_idx does for training: here by F.embedding's weight times a mask.
# shows: place 0, where the embedding of eos is not zero.

import torch
from torch.nn import functional as F


def window_logits(ids, window, eos_id, weights):
    B, T = ids.shape
    keep = torch.ones(len(weights["embedding"]), 1, dtype=weights["embedding"].dtype)
    keep[eos_id] = 0
    table = weights["embedding"] * keep
    padded = F.pad(ids, (window - 1, 0), value=eos_id)
    x = table[padded.unfold(1, window, 1)].flatten(2)
    hidden = torch.tanh(x @ weights["hidden"].T + weights["hidden_bias"])
    return hidden @ weights["output"].T + weights["output_bias"]


# %% wrong: place itself left out
# the window of place t ends at t - 1 (it predicts the id AT the place).
# shows: everywhere, except for the last of a text of equal ids.

import torch


def window_logits(ids, window, eos_id, weights):
    B, T = ids.shape
    padded = torch.cat([ids.new_full((B, window), eos_id), ids[:, :-1]], dim=1)
    x = torch.cat([weights["embedding"][padded[:, k : k + T]] for k in range(window)], dim=-1)
    hidden = torch.tanh(x @ weights["hidden"].T + weights["hidden_bias"])
    return hidden @ weights["output"].T + weights["output_bias"]


# %% wrong: softmax at the end
# log-softmax at the end; the contract wants scores.
# shows: everywhere.

import torch
from torch.nn import functional as F


def window_logits(ids, window, eos_id, weights):
    B, T = ids.shape
    padded = F.pad(ids, (window - 1, 0), value=eos_id)
    x = weights["embedding"][padded.unfold(1, window, 1)].flatten(2)
    hidden = torch.tanh(x @ weights["hidden"].T + weights["hidden_bias"])
    return torch.log_softmax(hidden @ weights["output"].T + weights["output_bias"], dim=-1)


# %% wrong: pads by first id
# before the text stands the first id again (replicate).
# shows: the first W - 1 places, if the first id is not eos.

import torch


def window_logits(ids, window, eos_id, weights):
    B, T = ids.shape
    places = (torch.arange(T)[:, None] + torch.arange(1 - window, 1)).clamp(min=0)
    x = weights["embedding"][ids[:, places]].flatten(2)
    hidden = torch.tanh(x @ weights["hidden"].T + weights["hidden_bias"])
    return hidden @ weights["output"].T + weights["output_bias"]


# %% wrong: tanh by exponentials
# tanh as (e^z - e^-z) / (e^z + e^-z): inf / inf = nan for z beyond 88 in float32 (709 in float64).
# shows: hidden sums of some hundreds.

from torch.nn import functional as F


def window_logits(ids, window, eos_id, weights):
    B, T = ids.shape
    padded = F.pad(ids, (window - 1, 0), value=eos_id)
    x = weights["embedding"][padded.unfold(1, window, 1)].flatten(2)
    z = x @ weights["hidden"].T + weights["hidden_bias"]
    hidden = (z.exp() - (-z).exp()) / (z.exp() + (-z).exp())
    return hidden @ weights["output"].T + weights["output_bias"]


# %% wrong: padding idx
# looks eos up with padding_idx=eos_id, which cuts the gradient of the embedding of eos; breaks "Gradients must flow through everything that you compute from floats"
# shows: the gradient of weights["embedding"][eos_id] is zeros, whatever the loss
import torch
from torch.nn import functional as F


def window_logits(ids, window, eos_id, weights):
    front = ids.new_full((ids.shape[0], window - 1), eos_id)
    padded = torch.cat([front, ids], dim=1).unfold(1, window, 1)
    x = F.embedding(padded, weights["embedding"], padding_idx=eos_id).flatten(2)
    hidden = torch.tanh(x @ weights["hidden"].T + weights["hidden_bias"])
    return hidden @ weights["output"].T + weights["output_bias"]


# %% wrong: eos is a wall
# where an eos stands INSIDE the text, hides all that came before it in the window, as in problem set 1; breaks "The window of place t holds the ids t - W + 1 to t" (only "where the text has not begun, it holds eos_id")
# shows: ids [[1, 0, 2]], eos_id 0, window 3: place 2 is scored as after 0, 0, 2 in place of 1, 0, 2
import torch


def window_logits(ids, window, eos_id, weights):
    front = ids.new_full((ids.shape[0], window - 1), eos_id)
    padded = torch.cat([front, ids], dim=1).unfold(1, window, 1)
    later_eos = (padded == eos_id).flip(-1).cumsum(-1).flip(-1) > 0
    padded = padded.masked_fill(later_eos, eos_id)
    x = weights["embedding"][padded].flatten(2)
    hidden = torch.tanh(x @ weights["hidden"].T + weights["hidden_bias"])
    return hidden @ weights["output"].T + weights["output_bias"]
