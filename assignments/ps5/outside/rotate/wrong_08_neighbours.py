# wrong: pairs neighbours, as the paper does.
# shows: K >= 4.

import torch


def rotate(x, positions, base):
    K = x.shape[-1]
    angle = positions[:, None].double() * base ** (-torch.arange(0, K, 2).double() / K)
    c, s = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack([a * c - b * s, b * c + a * s], -1).flatten(-2)
