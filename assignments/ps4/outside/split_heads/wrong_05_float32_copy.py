# wrong: the result is float32 whatever x is.
# shows: float64 (dtype, and digits).

import torch


def split_heads(x, n_heads):
    *lead, T, D = x.shape
    out = torch.zeros(*lead, n_heads, T, D // n_heads)
    for h, part in enumerate(x.split(D // n_heads, dim=-1)):
        out[..., h, :, :] = part
    return out
