# wrong: a fixed table of frequencies for 512 columns, cut: for other widths the exponent is 2i / 512.
# shows: every d_model but 512.

import torch


_F = 10_000.0 ** (-torch.arange(0, 512, 2, dtype=torch.float64) / 512)


def sinusoidal_positions(positions, d_model):
    a = positions.unsqueeze(-1) * _F[: d_model // 2]
    return torch.stack([a.sin(), a.cos()], dim=-1).flatten(-2).float()
