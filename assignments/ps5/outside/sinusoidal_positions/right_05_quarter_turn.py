# cos(a) = sin(a + pi/2), in float64, so the quarter turn costs nothing

import math
import torch


def sinusoidal_positions(positions, d_model):
    j = torch.arange(d_model, dtype=torch.int64)
    f = 10_000.0 ** (-(j - j % 2).double() / d_model)
    return torch.sin(positions.unsqueeze(-1).double() * f + (j % 2).double() * (math.pi / 2)).float()
