# right: each id is taken by its rank; softmax of the logarithms brings what is left to sum 1

import torch


def keep_top_p(probs, p):
    places = torch.sort(-probs, dim=-1, stable=True).indices
    rank = places.argsort(dim=-1)
    sums = probs.double().gather(-1, places).cumsum(dim=-1)
    n_taken = (sums < p - 1e-6).sum(dim=-1, keepdim=True) + 1
    logs = probs.log()
    if p < 1:
        logs = logs.masked_fill(rank >= n_taken, float("-inf"))
    return logs.softmax(dim=-1)
