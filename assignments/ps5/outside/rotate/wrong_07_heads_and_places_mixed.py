# wrong: with four axes the angles lie along the SECOND axis where its length fits (x[B, H, T, K] with H == T).
# shows: four axes with as many heads as positions.

import torch


def rotate(x, positions, base):
    K = x.shape[-1]
    angle = positions[:, None].double() * base ** (-torch.arange(0, K, 2).double() / K)
    if x.dim() == 4 and x.shape[1] == len(positions):
        angle = angle[:, None]
    c, s = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    a, b = x.chunk(2, -1)
    return torch.cat([a * c - b * s, b * c + a * s], -1)
