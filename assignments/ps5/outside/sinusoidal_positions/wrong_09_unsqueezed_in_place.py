# wrong: unsqueeze_ gives the caller's positions another shape.
# shows: positions.shape after the call.

import torch


def sinusoidal_positions(positions, d_model):
    f = 10_000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    a = positions.unsqueeze_(-1) * f
    return torch.stack([a.sin(), a.cos()], dim=-1).flatten(-2).float()
