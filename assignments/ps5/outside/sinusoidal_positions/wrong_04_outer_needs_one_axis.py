# wrong: torch.outer takes one axis only, and so the positions are flattened and never brought back for three axes.
# shows: positions of shape () or of three axes.

import math
import torch


def sinusoidal_positions(positions, d_model):
    f = torch.exp(torch.arange(0, d_model, 2, dtype=torch.float32) * (-math.log(10_000.0) / d_model))
    angles = torch.outer(positions.flatten().float(), f)
    waves = torch.stack([angles.sin(), angles.cos()], -1).flatten(-2)
    if positions.dim() == 2:
        return waves.reshape(*positions.shape, d_model)
    return waves
