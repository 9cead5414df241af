# %% right: Turns the ids round; what comes from the beginning is always hidden.
def reply_targets(ids, prompt_lengths, lengths):
    place = torch.arange(1, ids.shape[1] + 1)
    is_reply = (place >= prompt_lengths.unsqueeze(1)) & (place < lengths.unsqueeze(1))
    return ids.roll(-1, dims=1).masked_fill(~is_reply, IGNORE)


# %% right: Hides what is no reply where it stands, and shifts afterwards.
def reply_targets(ids, prompt_lengths, lengths):
    place = torch.arange(ids.size(1)).expand_as(ids)
    outside = (place < prompt_lengths.view(-1, 1)) | (place >= lengths.view(-1, 1))
    return F.pad(ids.masked_fill(outside, IGNORE)[:, 1:], (0, 1), value=IGNORE)


# %% right: Begins with nothing but IGNORE, and copies the replies.
def reply_targets(ids, prompt_lengths, lengths):
    targets = torch.full(ids.shape, IGNORE, dtype=torch.int64)
    place = torch.arange(ids.shape[1] - 1)[None, :]
    is_reply = (place + 1 >= prompt_lengths[:, None]) & (place + 1 < lengths[:, None])
    targets[:, :-1][is_reply] = ids[:, 1:][is_reply]
    return targets


# %% right: Finds the places by `nonzero`.
def reply_targets(ids, prompt_lengths, lengths):
    place = torch.arange(ids.shape[1])
    is_reply = (place >= prompt_lengths[:, None]) & (place < lengths[:, None])
    rows, columns = is_reply.nonzero(as_tuple=True)
    targets = torch.zeros_like(ids) + IGNORE
    targets[rows, columns - 1] = ids[rows, columns]
    return targets


# %% right: Looks each next id up.
def reply_targets(ids, prompt_lengths, lengths):
    n = ids.shape[1]
    following = (torch.arange(n) + 1).clamp(max=n - 1).expand(len(ids), n)
    found = torch.gather(ids, 1, following)
    distance = torch.arange(1, n + 1).expand(len(ids), n) - prompt_lengths[:, None]
    n_reply = (lengths - prompt_lengths)[:, None]
    return torch.where((distance >= 0) & (distance < n_reply), found, torch.tensor(IGNORE))


# %% right: Marks where replies begin and end, and adds the marks up.
def reply_targets(ids, prompt_lengths, lengths):
    marks = torch.zeros(ids.shape[0], ids.shape[1] + 1, dtype=torch.int64)
    marks.scatter_add_(1, prompt_lengths[:, None], torch.ones_like(prompt_lengths)[:, None])
    marks.scatter_add_(1, lengths[:, None], -torch.ones_like(lengths)[:, None])
    is_reply = marks.cumsum(dim=1)[:, 1:] > 0
    following = torch.cat((ids[:, 1:], ids[:, :1]), dim=1)
    return following.masked_fill(is_reply.logical_not(), IGNORE)


# %% right: where
# shifts with a column of IGNORE, then where.

import torch


def reply_targets(ids, prompt_lengths, lengths):
    B, T = ids.shape
    following = torch.cat([ids[:, 1:], torch.full((B, 1), -100)], dim=1)
    places = torch.arange(1, T + 1)
    is_reply = (places >= prompt_lengths[:, None]) & (places < lengths[:, None])
    return torch.where(is_reply, following, -100)


# %% right: roll
# rolls, and masks what wraps round by the lengths.

import torch


def reply_targets(ids, prompt_lengths, lengths):
    t = torch.arange(ids.size(1)).expand_as(ids)
    wrong = (t < prompt_lengths.unsqueeze(1) - 1) | (t >= lengths.unsqueeze(1) - 1)
    return ids.roll(-1, dims=1).masked_fill(wrong, -100)


# %% right: places
# starts from IGNORE everywhere, finds the places of the replies, writes there.

import torch


def reply_targets(ids, prompt_lengths, lengths):
    targets = torch.full_like(ids, -100)
    t = torch.arange(ids.shape[1])
    rows, places = ((t >= prompt_lengths[:, None]) & (t < lengths[:, None])).nonzero(as_tuple=True)
    targets[rows, places - 1] = ids[rows, places]
    return targets


# %% right: mask then shift
# erases prompt and padding first, shifts afterwards.

import torch
from torch.nn import functional as F


def reply_targets(ids, prompt_lengths, lengths):
    t = torch.arange(ids.shape[1])[None, :]
    clean = ids.clone()
    clean[t < prompt_lengths[:, None]] = -100
    clean[t >= lengths[:, None]] = -100
    return F.pad(clean[:, 1:], (0, 1), value=-100)


# %% right: arithmetic
# gather and arithmetic.

import torch


def reply_targets(ids, prompt_lengths, lengths):
    B, T = ids.shape
    nxt = torch.arange(1, T + 1).clamp(max=T - 1).expand(B, T)
    after = torch.arange(1, T + 1) - prompt_lengths.reshape(B, 1)
    is_reply = ((after >= 0) * (after < (lengths - prompt_lengths).reshape(B, 1))).long()
    return ids.gather(1, nxt) * is_reply - 100 * (1 - is_reply)


# %% wrong: flattens with view
# shifts the flat ids, by view.
# shows: ids = big[:, ::2] of two rows: RuntimeError.

import torch


def reply_targets(ids, prompt_lengths, lengths):
    B, T = ids.shape
    following = ids.view(-1).roll(-1).view(B, T)
    places = torch.arange(1, T + 1)
    keep = (places >= prompt_lengths[:, None]) & (places < lengths[:, None])
    return following.masked_fill(~keep, -100)


# %% wrong: floats in between
# shifts in float32.
# shows: the id 16,777,217 becomes 16,777,216.

import torch
from torch.nn import functional as F


def reply_targets(ids, prompt_lengths, lengths):
    T = ids.shape[1]
    following = F.pad(ids[:, 1:].float(), (0, 1), value=-100.0)
    places = torch.arange(1, T + 1)
    keep = (places >= prompt_lengths[:, None]) & (places < lengths[:, None])
    return following.masked_fill(~keep, -100).long()


# %% wrong: prompt lengths in place
# counts the caller's prompt_lengths down.
# shows: prompt_lengths after the call.

import torch


def reply_targets(ids, prompt_lengths, lengths):
    prompt_lengths -= 1
    t = torch.arange(ids.shape[1])
    keep = (t >= prompt_lengths[:, None]) & (t < lengths[:, None] - 1)
    return torch.where(keep, ids.roll(-1, dims=1), -100)


# %% wrong: first end id
# lets the reply end at the first id that is equal to its last one.
# shows: ids 1 9 5 9, prompt 1, length 4: 5 and the second 9 are left out.

import torch


def reply_targets(ids, prompt_lengths, lengths):
    B, T = ids.shape
    places = torch.arange(T)
    end = ids[torch.arange(B), lengths - 1]
    inside = (places >= prompt_lengths[:, None]) & (places < lengths[:, None])
    is_end = inside & (ids == end[:, None])
    before = is_end.long().cumsum(1) - is_end.long()
    targets = torch.where(inside & (before == 0), ids, -100)
    return torch.cat([targets[:, 1:], torch.full((B, 1), -100)], dim=1)


# %% wrong: loop over rows
# a loop over the rows, which the rules forbid (the targets are right).
# shows: the source.

import torch


def reply_targets(ids, prompt_lengths, lengths):
    targets = torch.full_like(ids, -100)
    for row, (begin, end) in enumerate(zip(prompt_lengths.tolist(), lengths.tolist(), strict=True)):
        targets[row, begin - 1 : end - 1] = ids[row, begin:end]
    return targets


# %% wrong: repeated end
# takes the last id of a reply for padding if it is equal to the one before it.
# shows: a reply 7 9 9: its last 9 is no target.

import torch


def reply_targets(ids, prompt_lengths, lengths):
    B, T = ids.shape
    places = torch.arange(1, T + 1)
    following = torch.cat([ids[:, 1:], torch.full((B, 1), -100)], dim=1)
    keep = (places >= prompt_lengths[:, None]) & (places < lengths[:, None])
    keep &= (following != ids) | (places < lengths[:, None] - 1)
    return torch.where(keep, following, -100)


# %% wrong: prompt of the batch
# all rows have the shortest prompt of the batch.
# shows: prompts of 1 and 3 ids.

import torch


def reply_targets(ids, prompt_lengths, lengths):
    T = ids.shape[1]
    places = torch.arange(1, T + 1)
    keep = (places >= prompt_lengths.min()) & (places < lengths[:, None])
    return torch.where(keep, ids.roll(-1, dims=1), -100)


# %% wrong: end is no target
# leaves the last id of the reply out.
# shows: the example by hand: position 3 has no target.

import torch


def reply_targets(ids, prompt_lengths, lengths):
    T = ids.shape[1]
    places = torch.arange(1, T + 1)
    keep = (places >= prompt_lengths[:, None]) & (places < lengths[:, None] - 1)
    return torch.where(keep, ids.roll(-1, dims=1), -100)


# %% wrong: not shifted
# the target is the id at the same position.
# shows: the example by hand.

import torch


def reply_targets(ids, prompt_lengths, lengths):
    places = torch.arange(ids.shape[1])
    keep = (places >= prompt_lengths[:, None]) & (places < lengths[:, None])
    return torch.where(keep, ids, -100)


# %% wrong: end in place
# writes the IGNORE of empty replies into lengths, which are the caller's.
# shows: an empty reply: lengths has changed.

import torch


def reply_targets(ids, prompt_lengths, lengths):
    T = ids.shape[1]
    lengths[lengths == prompt_lengths] = 0
    places = torch.arange(1, T + 1)
    keep = (places >= prompt_lengths[:, None]) & (places < lengths[:, None])
    return torch.where(keep, ids.roll(-1, dims=1), -100)


# %% wrong: lengths ignored
# padding is scored, too.
# shows: the example by hand: position 4 has a target.

import torch


def reply_targets(ids, prompt_lengths, lengths):
    B, T = ids.shape
    following = torch.cat([ids[:, 1:], torch.full((B, 1), -100)], dim=1)
    return following.masked_fill(torch.arange(1, T + 1) < prompt_lengths[:, None], -100)


# %% wrong: padding of the last column
# in a row with padding it goes back from the end over equal ids, instead of by lengths.
# shows: lengths 5, ids 4 5 6 9 9 | 9 9: the reply has two 9 at its end, the second is lost.

import torch


def reply_targets(ids, prompt_lengths, lengths):
    B, T = ids.shape
    places = torch.arange(T)
    differs = ids != ids[:, -1:]
    last = (differs * places).amax(dim=1)
    ends = torch.where(lengths < T, torch.minimum(last + 2, lengths), lengths)
    following = torch.cat([ids[:, 1:], torch.full((B, 1), -100)], dim=1)
    keep = (places + 1 >= prompt_lengths[:, None]) & (places + 1 < ends[:, None])
    return torch.where(keep, following, -100)


# %% wrong: places in int8
# counts places in int8, which ends at 127.
# shows: T = 200, prompt 150, length 200: no target at all

import torch

IGNORE = -100


def reply_targets(ids, prompt_lengths, lengths):
    place = torch.ones_like(ids[:1], dtype=torch.int8).cumsum(dim=1, dtype=torch.int8)
    is_reply = (place >= prompt_lengths[:, None]) & (place < lengths[:, None])
    return torch.where(is_reply, ids.roll(-1, dims=1), IGNORE)
