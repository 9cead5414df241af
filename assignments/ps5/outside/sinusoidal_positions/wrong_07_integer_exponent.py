# wrong: 2 * i // d_model is 0 for every i: all waves have the frequency 1.
# shows: d_model >= 4.

import torch


def sinusoidal_positions(positions, d_model):
    i = torch.arange(d_model // 2)
    a = positions.unsqueeze(-1).float() / 10_000.0 ** (2 * i // d_model).float()
    return torch.stack([a.sin(), a.cos()], dim=-1).flatten(-2)
