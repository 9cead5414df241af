# %% right: Compares places and ids, each with axes of its own.
def decoder_mask(ids, pad_id):
    places = torch.arange(ids.size(1))
    is_past = places.view(1, 1, 1, -1) <= places.view(1, 1, -1, 1)
    return is_past & ids.ne(pad_id).unsqueeze(1).unsqueeze(1)


# %% right: Goes text by text, and erases columns.
def decoder_mask(ids, pad_id):
    n_places = ids.shape[1]
    masks = []
    for text in ids:
        mask = torch.tril(torch.ones(n_places, n_places, dtype=torch.bool))
        mask[:, text == pad_id] = False
        masks.append(mask)
    return torch.stack(masks).unsqueeze(1)


# %% right: Makes nested lists.
def decoder_mask(ids, pad_id):
    rows = ids.tolist()
    return torch.tensor(
        [
            [[[s <= t and i != pad_id for s, i in enumerate(row)] for t in range(len(row))]]
            for row in rows
        ]
    )


# %% right: Multiplies numbers, and turns them into bool at the end.
def decoder_mask(ids, pad_id):
    real = (ids != pad_id).float()
    lower = torch.ones(ids.shape[1], ids.shape[1]).tril()
    return torch.einsum("ts,bs->bts", lower, real).bool()[:, None]


# %% right: Collects what is hidden, and inverts it.
def decoder_mask(ids, pad_id):
    n_places = ids.shape[-1]
    future = torch.ones((n_places, n_places), dtype=torch.bool).triu(1)
    hidden = future[None, None] | (ids == pad_id)[:, None, None]
    return torch.logical_not(hidden)


# %% right: Writes each row of the mask.
def decoder_mask(ids, pad_id):
    B, T = ids.shape
    mask = torch.zeros(B, 1, T, T, dtype=torch.bool)
    is_real = ids != pad_id
    for t in range(T):
        mask[:, 0, t, : t + 1] = is_real[:, : t + 1]
    return mask


# %% right: Copies the row of what is real T times, and cuts the triangle out of it.
def decoder_mask(ids, pad_id):
    T = ids.shape[1]
    rows = F.one_hot((ids != pad_id).long(), 2)[..., 1].bool()
    return rows[:, None, None, :].expand(-1, 1, T, -1).tril()


# %% right: broadcast
import torch


def decoder_mask(ids, pad_id):
    T = ids.shape[1]
    causal = torch.ones(T, T, dtype=torch.bool).tril()
    return (ids != pad_id)[:, None, None, :] & causal


# %% right: tril of columns
def decoder_mask(ids, pad_id):
    B, T = ids.shape
    columns = ids.ne(pad_id).view(B, 1, 1, T) if ids.is_contiguous() else ids.ne(pad_id).reshape(B, 1, 1, T)
    return columns.repeat(1, 1, T, 1).tril()


# %% right: einsum of places
import torch


def decoder_mask(ids, pad_id):
    places = torch.arange(ids.shape[1])
    before = places[:, None] >= places[None, :]
    hidden = (ids == pad_id).unsqueeze(1).unsqueeze(1)
    return torch.logical_and(before, hidden.logical_not())


# %% right: python lists
import torch


def decoder_mask(ids, pad_id):
    rows = ids.tolist()
    B, T = ids.shape
    cells = [[[[s <= t and row[s] != pad_id for s in range(T)] for t in range(T)]] for row in rows]
    return torch.tensor(cells, dtype=torch.bool).reshape(B, 1, T, T)


# %% right: text by text
import torch


def decoder_mask(ids: torch.Tensor, pad_id: int) -> torch.Tensor:
    T = ids.size(1)
    triangle = torch.tril(torch.full((T, T), True))

    def of_one(text):
        return torch.where(text.eq(pad_id), torch.tensor(False), triangle)

    return torch.stack([of_one(text) for text in ids]).unsqueeze(1)


# %% right: de morgan
import torch


def decoder_mask(ids, pad_id):
    T = ids.shape[-1]
    later = torch.ones(T, T, dtype=torch.bool).triu(1)
    return ~(later[None, None] | (ids == pad_id)[:, None, None])


# %% right: tril of the padding
# spreads "is no padding" over all queries and cuts the triangle out of it
import torch


def decoder_mask(ids, pad_id):
    n_texts, n = ids.shape
    return ids.ne(pad_id).reshape(n_texts, 1, 1, n).repeat(1, 1, n, 1).tril()


# %% wrong: opens texts of padding
# a text that is padding throughout gets the plain triangle, "so that softmax does not fail"; its rows must be all False.
# shows: a row of ids that are all pad_id.

import torch


def decoder_mask(ids, pad_id):
    B, T = ids.shape
    real = ids != pad_id
    real = real | ~real.any(dim=1, keepdim=True)
    causal = torch.ones(T, T, dtype=torch.bool).tril()
    return causal & real[:, None, None, :]


# %% wrong: sees itself always
# a place always sees itself, even padding (mask | diagonal).
# shows: any padding, on the diagonal.

import torch


def decoder_mask(ids, pad_id):
    T = ids.shape[1]
    mask = torch.ones(T, T, dtype=torch.bool).tril() & (ids != pad_id)[:, None, None, :]
    return mask | torch.eye(T, dtype=torch.bool)


# %% wrong: uint8 ids
# compares in uint8: ids that differ by a multiple of 256 are the same.
# shows: id 265 with pad_id 9 (or id 256 with pad_id 0).

import torch


def decoder_mask(ids, pad_id):
    T = ids.shape[1]
    real = ids.to(torch.uint8) != torch.tensor(pad_id % 256, dtype=torch.uint8)
    return torch.ones(T, T, dtype=torch.bool).tril() & real[:, None, None]


# %% wrong: float ids
# compares in float32, where 16777216 and 16777217 are equal.
# shows: ids above 2**24 beside a pad_id next to them.

import torch


def decoder_mask(ids, pad_id):
    T = ids.shape[1]
    real = (ids.float() - pad_id).abs() > 0
    return torch.tril(torch.ones(T, T)).bool() & real[:, None, None, :]


# %% wrong: absolute ids
# compares absolute values, "as padding may be negative": id 1 is hidden where pad_id is -1.
# shows: pad_id negative and its opposite in the text.

import torch


def decoder_mask(ids, pad_id):
    T = ids.shape[-1]
    real = ids.abs() != abs(pad_id)
    return torch.ones(T, T, dtype=torch.bool).tril()[None, None] & real[:, None, None, :]


# %% wrong: hides queries too
# rows of padding are all False; they should look where all others may.
# shows: padding after a real id: [5, 9, 7], query 1.

import torch


def decoder_mask(ids, pad_id):
    T = ids.shape[1]
    real = ids != pad_id
    both = real[:, None, None, :] & real[:, None, :, None]
    return both & torch.ones(T, T, dtype=torch.bool).tril()


# %% wrong: padding only at an end
# takes everything from the first to the last real id for real: padding in between is seen.
# shows: [5, 9, 7].

import torch


def decoder_mask(ids, pad_id):
    real = (ids != pad_id).long()
    begun = real.cumsum(dim=1) > 0
    not_over = real.flip(1).cumsum(dim=1).flip(1) > 0
    T = ids.shape[1]
    return (begun & not_over)[:, None, None, :] & torch.ones(T, T, dtype=torch.bool).tril()


# %% wrong: one padding place for all
# hides a column for ALL texts if it is padding in any of them.
# shows: B > 1 with different padding.

import torch


def decoder_mask(ids, pad_id):
    B, T = ids.shape
    real = (ids != pad_id).all(dim=0)
    mask = torch.ones(T, T, dtype=torch.bool).tril() & real
    return mask.expand(B, 1, T, T)


# %% wrong: writes zeros into ids
# replaces padding in the caller's ids by -1, in place (and then pad_id -1 would be seen as before: right result, changed argument).
# shows: ids before and after.

import torch


def decoder_mask(ids, pad_id):
    ids[ids == pad_id] = -1
    T = ids.shape[1]
    return (ids != -1)[:, None, None, :] & torch.ones(T, T, dtype=torch.bool).tril()


# %% wrong: falsy pad
# pad_id 0 is taken for "no padding".
# shows: pad_id = 0 with zeros in the text.

import torch


def decoder_mask(ids, pad_id):
    T = ids.shape[1]
    mask = torch.ones(T, T, dtype=torch.bool).tril().repeat(ids.shape[0], 1, 1, 1)
    if pad_id:
        mask &= (ids != pad_id)[:, None, None, :]
    return mask


# %% wrong: renames the padding
# writes -1 over the padding in the caller's own ids; breaks "Do not change your arguments. The caller still needs them."
# shows: ids = torch.tensor([[5, 9]]); decoder_mask(ids, 9) leaves [[5, -1]]
import torch


def decoder_mask(ids, pad_id):
    ids[ids == pad_id] = -1
    n = ids.shape[1]
    causal = torch.ones(n, n, dtype=torch.bool).tril()
    return causal & (ids >= 0)[:, None, None, :]


# %% wrong: table of ids
# looks ids up in a table of what is padding, where a negative pad_id marks a place from the END, that of an ordinary id; breaks "pad_id ... may be 0 or negative" / "A query may look at a key if ... is no padding"
# shows: decoder_mask(torch.tensor([[3, 1, -1]]), -1): the id 3, the largest, is hidden as well
import torch


def decoder_mask(ids, pad_id):
    n_ids = max(int(ids.max()), abs(pad_id)) + 1
    real = torch.ones(n_ids, dtype=torch.bool)
    real[pad_id] = False
    keys = real[ids].unsqueeze(1).unsqueeze(1)
    n = ids.shape[1]
    return keys & torch.ones(n, n, dtype=torch.bool).tril()
