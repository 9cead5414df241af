# %% right: Torch's cross-entropy on the rows that count.
def causal_loss(logits, ids, lengths):
    wide = logits.float() if logits.dtype.itemsize == 2 else logits
    real = torch.arange(ids.shape[1]).expand_as(ids) < lengths[:, None]
    counts = real[:, 1:]
    total = F.cross_entropy(wide[:, :-1][counts], ids[:, 1:][counts], reduction="sum")
    return total / counts.sum().clamp(min=1)


# %% right: The places that count as a list of rows and columns.
def causal_loss(logits, ids, lengths):
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    places = torch.arange(ids.shape[1])
    rows, columns = torch.nonzero((places[None] < lengths[:, None]) & (places > 0), as_tuple=True)
    chosen = logits[rows, columns - 1]
    picked = chosen[torch.arange(len(rows)), ids[rows, columns]]
    return (chosen.logsumexp(dim=-1) - picked).sum() / max(1, len(rows))


# %% right: What does not count becomes 0 before anything is computed.
def causal_loss(logits, ids, lengths):
    if logits.element_size() < 4:
        logits = logits.float()
    counts = torch.arange(ids.shape[1] - 1)[None, :] + 1 < lengths[:, None]
    clean = logits[:, :-1].masked_fill(~counts[..., None], 0.0)
    targets = ids[:, 1:].masked_fill(~counts, 0)
    surprise = -clean.log_softmax(-1).gather(-1, targets[..., None])[..., 0]
    return surprise.masked_fill(~counts, 0.0).sum() / counts.sum().clamp(min=1)


# %% right: Cleans the logits, and lets torch ignore the targets.
def causal_loss(logits, ids, lengths):
    logits = logits if logits.dtype in (torch.float32, torch.float64) else logits.float()
    hidden = torch.arange(ids.shape[1]) >= lengths[:, None]
    targets = ids.masked_fill(hidden, -100)[:, 1:].reshape(-1)
    clean = logits[:, :-1].masked_fill(hidden[:, 1:, None], 0)
    rows = clean.reshape(-1, logits.shape[-1])
    n = (targets != -100).sum()
    return F.nll_loss(rows.log_softmax(1), targets, reduction="sum") / n.clamp(min=1)


# %% right: Picks the targets by a product with ones.
def causal_loss(logits, ids, lengths):
    wide = logits.float() if logits.dtype in (torch.bfloat16, torch.half) else logits
    counts = (lengths[:, None] - torch.arange(1, ids.shape[1])) > 0
    rows = wide[:, : ids.shape[1] - 1][counts]
    rows = rows - rows.amax(dim=-1, keepdim=True).detach() if len(rows) else rows
    ones = F.one_hot(ids[:, 1:][counts], rows.shape[-1]).to(rows.dtype)
    surprise = rows.exp().sum(dim=-1).log() - (rows * ones).sum(dim=-1)
    return surprise.sum() / max(int(counts.sum()), 1)


# %% right: All positions in one row; the last of each text is left out by its place.
def causal_loss(logits, ids, lengths):
    wide = logits if logits.dtype == torch.float64 else logits.to(torch.float32)
    T = ids.shape[1]
    flat = torch.arange(ids.numel())
    keep = flat[(flat % T) + 1 < lengths.repeat_interleave(T)]
    log_probs = torch.log_softmax(wide.reshape(-1, wide.shape[-1])[keep], dim=-1)
    targets = ids.reshape(-1)[keep + 1]
    return -torch.take_along_dim(log_probs, targets[:, None], 1).sum() / max(keep.numel(), 1)


# %% right: masked rows
# rows and targets chosen by a mask; the sum over at least one.

import torch
from torch.nn import functional as F


def causal_loss(logits, ids, lengths):
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    counts = torch.arange(1, ids.shape[1]) < lengths.unsqueeze(1)
    total = F.cross_entropy(logits[:, :-1][counts], ids[:, 1:][counts], reduction="sum")
    return total / max(1, int(counts.sum()))


# %% right: by hand
# log-sum-exp by hand, places from nonzero.

import torch


def causal_loss(logits, ids, lengths):
    b, t = (torch.arange(1, ids.shape[1])[None] < lengths[:, None]).nonzero(as_tuple=True)
    rows = logits[b, t]
    rows = rows if rows.dtype == torch.float64 else rows.to(torch.float32)
    targets = ids[b, t + 1]
    if targets.numel() == 0:
        return rows.sum()
    best = rows.detach().amax(dim=1, keepdim=True)
    total = (rows - best).exp().sum(dim=1).log() + best[:, 0]
    return (total - rows[torch.arange(len(targets)), targets]).mean()


# %% right: cleaned then ignored
# what does not count is filled with 0 first (masked_fill stops the gradient), then ignore_index.

import torch
from torch.nn import functional as F


def causal_loss(logits, ids, lengths):
    x = logits.to(torch.promote_types(logits.dtype, torch.float32))
    counts = torch.arange(ids.shape[1]) < (lengths - 1)[:, None]
    x = x.masked_fill(~counts[..., None], 0.0)
    targets = torch.where(counts, ids.roll(-1, dims=1), -1)
    nats = F.cross_entropy(x.transpose(1, 2), targets, ignore_index=-1, reduction="none")
    return nats.sum() / counts.sum().clamp(min=1)


# %% right: one hot
# one-hot targets, on the rows that count.

import torch
from torch.nn import functional as F


def causal_loss(logits, ids, lengths):
    half = logits.dtype in (torch.float16, torch.bfloat16)
    places = torch.arange(ids.shape[1])
    reads = places < (lengths - 1)[:, None]
    asked = (places < lengths[:, None]) & (places > 0)
    rows = (logits.float() if half else logits)[reads].log_softmax(dim=-1)
    hot = F.one_hot(ids[asked], logits.shape[-1]).to(rows.dtype)
    return -(rows * hot).sum() / (hot.sum() + (hot.shape[0] == 0))


# %% right: flat
# everything flat; the flat places of what counts.

import torch


def causal_loss(logits, ids, lengths):
    n_rows, n_places, n_ids = logits.shape
    flat = torch.arange(n_rows * n_places)
    flat = flat[flat % n_places < (lengths - 1).repeat_interleave(n_places)]
    rows = logits.reshape(-1, n_ids).index_select(0, flat)
    rows = rows.double() if rows.dtype == torch.float64 else rows.float()
    right = rows.gather(1, ids.reshape(-1)[flat + 1][:, None]).squeeze(1)
    surprise = torch.logsumexp(rows, dim=1) - right
    return surprise.sum() / max(len(flat), 1)


# %% wrong: empty by 0 times sum
# without predictions it returns 0 times the sum of the logits: nan, if any of them is nan or infinite.
# shows: lengths all 1 or 0, logits with a nan.

import torch
from torch.nn import functional as F


def causal_loss(logits, ids, lengths):
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    counts = torch.arange(1, ids.shape[1]) < lengths[:, None]
    if not counts.any():
        return 0.0 * logits.sum()
    return F.cross_entropy(logits[:, :-1][counts], ids[:, 1:][counts])


# %% wrong: empty in half
# without predictions the early return comes before the step to float32.
# shows: float16 logits, lengths all 1: the loss is float16.

import torch
from torch.nn import functional as F


def causal_loss(logits, ids, lengths):
    counts = torch.arange(1, ids.shape[1]) < lengths[:, None]
    if not counts.any():
        return logits[:, :0].sum()
    x = logits[:, :-1][counts]
    if x.dtype != torch.float64:
        x = x.float()
    return F.cross_entropy(x, ids[:, 1:][counts])


# %% wrong: empty rows count minus one
# divides by the sum of lengths - 1, where a row of length 0 counts -1.
# shows: lengths = (3, 0): two predictions, divided by 1.

import torch
from torch.nn import functional as F


def causal_loss(logits, ids, lengths):
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    counts = torch.arange(1, ids.shape[1]) < lengths[:, None]
    total = F.cross_entropy(logits[:, :-1][counts], ids[:, 1:][counts], reduction="sum")
    return total / (lengths - 1).sum().clamp(min=1)


# %% wrong: largest of all rows
# subtracts the largest logit of all rows, so that rows far below it are lost.
# shows: two positions with logits around 0 and around 2000: inf.

import torch


def causal_loss(logits, ids, lengths):
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    counts = torch.arange(1, ids.shape[1]) < lengths[:, None]
    rows, targets = logits[:, :-1][counts], ids[:, 1:][counts]
    if not len(rows):
        return rows.sum()
    rows = rows - rows.detach().max()
    right = rows.gather(1, targets[:, None])[:, 0]
    return (rows.exp().sum(1).log() - right).mean()


# %% wrong: writes into logits
# empties what does not count in the caller's logits, by way of .data (loss and gradient are right).
# shows: logits after the call, with padding.

import torch
from torch.nn import functional as F


def causal_loss(logits, ids, lengths):
    counts = torch.arange(1, ids.shape[1] + 1) < lengths[:, None]
    logits.data.masked_fill_(~counts[..., None], 0.0)
    x = logits if logits.dtype == torch.float64 else logits.float()
    targets = ids.roll(-1, 1).masked_fill(~counts, -100)
    total = F.cross_entropy(x.flatten(0, 1), targets.flatten(), ignore_index=-100, reduction="sum")
    return total / counts.sum().clamp(min=1)


# %% wrong: longest first
# packs the rows, which needs the longest text first.
# shows: lengths = (2, 3): RuntimeError.

import torch
from torch.nn import functional as F
from torch.nn.utils.rnn import pack_padded_sequence


def causal_loss(logits, ids, lengths):
    x = logits if logits.dtype == torch.float64 else logits.float()
    some = lengths > 1
    if not some.any():
        return x[:, :0].sum()
    n = lengths[some] - 1
    rows = pack_padded_sequence(x[some, :-1], n, batch_first=True).data
    targets = pack_padded_sequence(ids[some, 1:], n, batch_first=True).data
    return F.cross_entropy(rows, targets)


# %% wrong: in float32
# float64 logits are computed in float32; only the result is cast.
# shows: float64 logits: 7 digits; logits 1e9 and 1e9 + 1 become equal.

import torch
from torch.nn import functional as F


def causal_loss(logits, ids, lengths):
    counts = torch.arange(1, ids.shape[1]) < lengths[:, None]
    rows = logits[:, :-1][counts].float()
    total = F.cross_entropy(rows, ids[:, 1:][counts], reduction="sum")
    loss = total / counts.sum().clamp(min=1)
    return loss.double() if logits.dtype == torch.float64 else loss


# %% wrong: ignored but nan gradient
# ignore_index leaves the loss alone, but a nan logit at an ignored position gets the gradient nan.
# shows: T = 3, lengths (3, 2), nan at place 1 of the second text (its last id), backward.

import torch
from torch.nn import functional as F


def causal_loss(logits, ids, lengths):
    x = logits if logits.dtype == torch.float64 else logits.float()
    counts = torch.arange(1, ids.shape[1]) < lengths[:, None]
    targets = ids[:, 1:].masked_fill(~counts, -100)
    total = F.cross_entropy(x[:, :-1].flatten(0, 1), targets.flatten(), reduction="sum")
    return total / counts.sum().clamp(min=1)


# %% wrong: mean of means
# the mean of the means of the rows.
# shows: lengths = (3, 2).

import torch
from torch.nn import functional as F


def causal_loss(logits, ids, lengths):
    x = logits if logits.dtype == torch.float64 else logits.float()
    counts = torch.arange(1, ids.shape[1]) < lengths[:, None]
    x = x[:, :-1].masked_fill(~counts[..., None], 0.0)
    targets = ids[:, 1:].masked_fill(~counts, 0)
    nats = F.cross_entropy(x.transpose(1, 2), targets, reduction="none") * counts
    rows = counts.any(1)
    return (nats.sum(1) / counts.sum(1).clamp(min=1)).sum() / rows.sum().clamp(min=1)


# %% wrong: loop over rows
# a loop over the rows, which the rules of the set forbid (loss and gradient are right).
# shows: the source.

import torch
from torch.nn import functional as F


def causal_loss(logits, ids, lengths):
    x = logits if logits.dtype == torch.float64 else logits.float()
    total, count = x[:0].sum(), 0
    for b, n in enumerate(lengths.tolist()):
        if n > 1:
            total = total + F.cross_entropy(x[b, : n - 1], ids[b, 1:n], reduction="sum")
            count += n - 1
    return total / max(count, 1)


# %% wrong: padding by its value
# finds padding by its value: everything outside 0 .. V - 1, and zeros after the last other id.
# shows: a text that ends with a real 0 and has length T; padding with 1.

import torch
from torch.nn import functional as F


def causal_loss(logits, ids, lengths):
    x = logits if logits.dtype == torch.float64 else logits.float()
    real = (ids >= 0) & (ids < x.shape[-1])
    counts = real[:, 1:] & (ids[:, 1:].flip(1).cumsum(1).flip(1) != 0)
    total = F.cross_entropy(x[:, :-1][counts], ids[:, 1:][counts], reduction="sum")
    return total / counts.sum().clamp(min=1)


# %% wrong: short batch is cut by first
# builds the mask from the largest length, and forgets that all rows can be shorter than 1: arange(-1).
# shows: lengths all 0: RuntimeError instead of 0.

import torch
from torch.nn import functional as F


def causal_loss(logits, ids, lengths):
    x = logits if logits.dtype == torch.float64 else logits.float()
    longest = int(lengths.max())
    counts = torch.arange(longest - 1) < (lengths - 1)[:, None]
    rows = x[:, : longest - 1][counts]
    total = F.cross_entropy(rows, ids[:, 1:longest][counts], reduction="sum")
    return total / counts.sum().clamp(min=1)


# %% wrong: times zero after nan to num
# replaces nan and inf by large numbers and multiplies what does not count by 0; but the log probability may still be -inf.
# shows: logits (-inf, inf) in the padding, with the id 0 behind: the loss is nan

import torch


def causal_loss(logits, ids, lengths):
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    counts = torch.arange(1, ids.shape[1]) < lengths[:, None]
    logits = torch.nan_to_num(logits[:, :-1])
    targets = ids[:, 1:].clamp(0, logits.shape[-1] - 1)
    log_probs = logits.log_softmax(dim=-1).gather(-1, targets[..., None])[..., 0]
    return -(log_probs * counts).sum() / counts.sum().clamp(min=1)


# %% wrong: probabilities have a floor
# log-probabilities are -100 at least.
# shows: logits thousands apart.
import torch


def causal_loss(logits, ids, lengths):
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    logits, targets = logits[:, :-1], ids[:, 1:]
    counts = torch.arange(1, ids.shape[1]) < lengths.unsqueeze(1)
    lp = logits[counts].log_softmax(-1).clamp(min=-1e4)
    return -lp.gather(1, targets[counts].unsqueeze(1)).sum() / max(int(counts.sum()), 1)
