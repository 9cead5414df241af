import math
import torch


def sinusoidal_positions(positions, d_model):
    waves = torch.empty(*positions.shape, d_model, dtype=torch.float32)
    frequency = torch.exp(torch.arange(0, d_model, 2).double() * (-math.log(10_000) / d_model))
    angle = positions[..., None].double() * frequency
    waves[..., 0::2] = torch.sin(angle)
    waves[..., 1::2] = torch.cos(angle)
    return waves
