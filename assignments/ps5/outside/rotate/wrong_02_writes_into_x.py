# wrong: writes the new halves into x itself (the second one even from the overwritten first would be worse: here a copy saves that).
# shows: x after the call; a leaf that requires grad.

import torch


def rotate(x, positions, base):
    h = x.shape[-1] // 2
    f = base ** (-torch.arange(h, dtype=torch.float64) / h)
    angle = positions[:, None].double() * f
    c, s = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x[..., :h].clone(), x[..., h:].clone()
    x[..., :h] = a * c - b * s
    x[..., h:] = b * c + a * s
    return x
