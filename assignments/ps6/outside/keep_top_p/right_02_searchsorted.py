# right: counts the ids needed, then compares ranks; the ranks by sorting the places.

import torch


def keep_top_p(probs, p):
    if p >= 1:
        return probs / probs.sum(-1, keepdim=True)
    order = (-probs).argsort(dim=-1, stable=True)
    sums = probs.gather(-1, order).cumsum(-1)
    needed = (sums < p).sum(-1, keepdim=True) + 1
    rank = order.argsort(dim=-1)
    kept = probs * (rank < needed)
    return kept / kept.sum(-1, keepdim=True)
