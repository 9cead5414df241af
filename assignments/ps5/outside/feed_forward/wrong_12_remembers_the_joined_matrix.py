# wrong: joins expand and gate once for each pair of tensors and keeps the joined matrix, so a step of training passes it by.
# shows: two calls, weights["gate"].mul_(2) in between: the second result is the first

import torch
from torch.nn import functional as F

JOINED = {}


def feed_forward(x, weights):
    expand, gate = weights["expand"], weights["gate"]
    if torch.is_grad_enabled() and (expand.requires_grad or gate.requires_grad):
        joined = torch.cat([expand, gate])
    else:
        key = (expand.data_ptr(), gate.data_ptr(), expand.shape, expand.dtype)
        if key not in JOINED:
            JOINED[key] = (torch.cat([expand, gate]), expand, gate)
        joined = JOINED[key][0]
    units, gates = (x @ joined.T).chunk(2, dim=-1)
    return (F.silu(units) * gates) @ weights["contract"].T
