# wrong: keeps the angles of positions that it has seen, under positions and width alone: another base gets the old angles.
# shows: two calls with the same positions and K, and the bases 10000 and 500000: the second turns by the angles of the first

import torch

ANGLES = {}


def rotate(x, positions, base):
    half = x.shape[-1] // 2
    key = (tuple(positions.tolist()), half)
    if key not in ANGLES:
        frequencies = base ** -(torch.arange(half, dtype=torch.float32) / half)
        ANGLES[key] = positions.to(torch.float32).unsqueeze(-1) * frequencies
    cos, sin = ANGLES[key].cos().to(x.dtype), ANGLES[key].sin().to(x.dtype)
    first, second = x[..., :half], x[..., half:]
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1)
