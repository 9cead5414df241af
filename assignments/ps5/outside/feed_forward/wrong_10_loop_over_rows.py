# wrong: a Python loop over positions, and the empty tensor fails.
# shows: time; x of shape (0, D).

import torch
from torch.nn import functional as F


def feed_forward(x, weights):
    rows = [weights["contract"] @ (F.silu(weights["expand"] @ r) * (weights["gate"] @ r)) for r in x.reshape(-1, x.shape[-1])]
    return torch.stack(rows).reshape(x.shape)
