# right: flat rows by reshape, assignment by index into a copy.

import torch


def keep_top_p(probs, p):
    rows = probs.reshape(-1, probs.shape[-1]).clone()
    if p != 1:
        order = rows.argsort(dim=1, descending=True, stable=True)
        ordered = torch.take_along_dim(rows, order, dim=1)
        cut = torch.zeros_like(ordered, dtype=torch.bool)
        cut[:, 1:] = ordered.double().cumsum(1)[:, :-1] >= p
        rows[cut.gather(1, order.argsort(dim=1))] = 0
    rows /= rows.sum(1, keepdim=True)
    return rows.reshape(probs.shape)
