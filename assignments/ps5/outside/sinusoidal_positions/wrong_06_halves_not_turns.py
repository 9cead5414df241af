# wrong: all sines first, then all cosines.
# shows: d_model >= 4.

import torch


def sinusoidal_positions(positions, d_model):
    f = 10_000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float32) / d_model)
    a = positions[..., None].float() * f
    return torch.cat([a.sin(), a.cos()], dim=-1)
