# wrong: the frequencies are kept from the FIRST call if the number of columns fits, cut otherwise: a stale cache.
# shows: a call with d_model = 8, then one with d_model = 4.

import torch


_kept = {}


def sinusoidal_positions(positions, d_model):
    f = _kept.get("f")
    if f is None or len(f) < d_model // 2:
        f = _kept["f"] = 10_000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float32) / d_model)
    a = positions.unsqueeze(-1).float() * f[: d_model // 2]
    return torch.stack([a.sin(), a.cos()], dim=-1).flatten(-2)
