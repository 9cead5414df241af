import torch


def sinusoidal_positions(positions, d_model):
    exponents = torch.arange(0, d_model, 2, dtype=torch.float32) / d_model
    angles = positions.unsqueeze(-1).float() / 10_000.0**exponents
    return torch.stack([angles.sin(), angles.cos()], dim=-1).flatten(-2)
