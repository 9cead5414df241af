# wrong: looks up a table of 10000 rows; the positions go from 0 to 10,000, so 10,000 itself is an IndexError.
# shows: position 10000.

import torch


def sinusoidal_positions(positions, d_model):
    p = torch.arange(10_000, dtype=torch.float64)[:, None]
    f = 10_000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    table = torch.stack([torch.sin(p * f), torch.cos(p * f)], dim=-1).flatten(-2).float()
    return table[positions]
