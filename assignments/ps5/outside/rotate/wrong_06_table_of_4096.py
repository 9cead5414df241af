# wrong: a fixed table of 4096 positions, later ones are clamped to the last.
# shows: positions of 4096 and more (they may go up to 9999).

import torch


def rotate(x, positions, base):
    K = x.shape[-1]
    table = torch.arange(4096, dtype=torch.float64)[:, None] * base ** (-torch.arange(0, K, 2, dtype=torch.float64) / K)
    angle = table[positions.clamp(max=4095)]
    c, s = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x.chunk(2, -1)
    return torch.cat([a * c - b * s, b * c + a * s], -1)
