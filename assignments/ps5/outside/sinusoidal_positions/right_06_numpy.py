import torch
import numpy as np


def sinusoidal_positions(positions, d_model):
    p = positions.numpy()[..., None].astype(np.float64)
    a = p / np.power(10_000.0, np.arange(0, d_model, 2) / d_model)
    waves = np.stack([np.sin(a), np.cos(a)], axis=-1).reshape(*positions.shape, d_model)
    return torch.from_numpy(waves.astype(np.float32))
