# wrong: a Python loop over the rows, forbidden by the rules of the set.
# shows: time for T = 9000.

import torch


def rotate(x, positions, base):
    K = x.shape[-1]
    f = base ** (-torch.arange(0, K, 2, dtype=torch.float64) / K)
    rows = []
    for t, p in enumerate(positions.tolist()):
        c, s = (p * f).cos().to(x.dtype), (p * f).sin().to(x.dtype)
        a, b = x[..., t, :].chunk(2, -1)
        rows.append(torch.cat([a * c - b * s, b * c + a * s], -1))
    return torch.stack(rows, dim=-2) if rows else x.clone()
