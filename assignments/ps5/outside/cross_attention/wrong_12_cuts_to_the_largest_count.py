# wrong: cuts the memory to as many places as any row has real ones, as if padding always came last.
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
