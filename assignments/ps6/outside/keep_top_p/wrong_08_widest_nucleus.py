# wrong: cuts the sorted rows to the widest nucleus: the largest of nothing.
# shows: probs of shape (0, 4): RuntimeError; right otherwise.

import torch


def keep_top_p(probs, p):
    values, places = probs.sort(dim=-1, descending=True, stable=True)
    taken = (values.cumsum(dim=-1) - values < p) | (p == 1)
    n = int(taken.sum(dim=-1).max())
    values = (values * taken)[..., :n]
    values = values / values.sum(dim=-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, places[..., :n], values)
