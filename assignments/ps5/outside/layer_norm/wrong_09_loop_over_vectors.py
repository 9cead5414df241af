# wrong: a Python loop over the vectors, forbidden by the rules of the set.
# shows: time for 100,000 vectors; an empty tensor (stack of nothing).

import torch


def layer_norm(x, weight, bias, eps):
    rows = []
    for row in x.reshape(-1, x.shape[-1]):
        d = row - row.mean()
        rows.append(d / (d.square().mean() + eps).sqrt() * weight + bias)
    return torch.stack(rows).reshape(x.shape)
