# wrong: a row that may look nowhere is opened IN the caller's mask (|=); the result is right, the argument is changed.
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
