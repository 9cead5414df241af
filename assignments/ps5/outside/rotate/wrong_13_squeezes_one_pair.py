# wrong: squeezes the table of angles; with K = 2 its axis of pairs goes with it, and positions are taken for pairs.
# shows: x of shape (3, 2), positions (0, 1, 2): a result of shape (3, 6)

import torch


def rotate(x, positions, base):
    half = x.shape[-1] // 2
    frequencies = base ** -(torch.arange(half, dtype=torch.float32) / half)
    angles = torch.outer(positions.to(torch.float32), frequencies).squeeze()
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
