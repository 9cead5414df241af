# wrong: the heads become the FIRST axis (torch.stack without dim).
# shows: one leading axis or more; without one it is right.

import torch


def split_heads(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1))
