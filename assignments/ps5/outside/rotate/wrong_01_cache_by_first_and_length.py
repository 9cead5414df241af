# wrong: sines and cosines are kept under (first position, number of positions, K, base): stale for other positions in between.
# shows: positions 0, 1, 2 and then 0, 5, 9 with the same x.

import torch


_tables = {}


def rotate(x, positions, base):
    K = x.shape[-1]
    key = (int(positions[0]) if len(positions) else 0, len(positions), K, base)
    if key not in _tables:
        f = base ** (-torch.arange(0, K, 2, dtype=torch.float32) / K)
        a = positions[:, None] * f
        _tables[key] = a.cos(), a.sin()
    cos, sin = (part.to(x.dtype) for part in _tables[key])
    a, b = x.chunk(2, dim=-1)
    return torch.cat([a * cos - b * sin, b * cos + a * sin], dim=-1)
