# wrong: head h gets every H-th number.
# shows: H > 1 and K > 1.

import torch


def split_heads(x, n_heads):
    return torch.stack([x[..., h::n_heads] for h in range(n_heads)], dim=-3)
