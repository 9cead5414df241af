# wrong: leaves the dtype to torch's default: float64 results under a default of float64, coarse angles under bfloat16.
# shows: torch.set_default_dtype(torch.float64) or torch.bfloat16 around the call.

import torch


def sinusoidal_positions(positions, d_model):
    i = torch.arange(0, d_model, 2) / d_model
    angles = positions.unsqueeze(-1) * 10_000.0**-i
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
