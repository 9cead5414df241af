# wrong: as above, with .float() at the end: the dtype is right, but under a default of float16/bfloat16 the angles are coarse.
# shows: default dtype bfloat16 (or float16), position 257 or 4001.

import torch


def sinusoidal_positions(positions, d_model):
    frequencies = torch.tensor([10_000.0 ** (-2 * i / d_model) for i in range(d_model // 2)])
    angles = positions.unsqueeze(-1) * frequencies
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2).float()
