# wrong: stacks x.data: no gradient flows from the result to x.
# shows: requires_grad.

import torch


def split_heads(x, n_heads):
    return torch.stack(x.data.chunk(n_heads, dim=-1), dim=-3)
