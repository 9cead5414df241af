import torch


def rotate(x, positions, base):
    K = x.shape[-1]
    frequencies = base ** (-torch.arange(0, K, 2, dtype=torch.float32) / K)
    angles = positions.unsqueeze(-1).float() * frequencies
    cos, sin = angles.cos(), angles.sin()
    first, second = x.chunk(2, dim=-1)
    return torch.cat([first * cos - second * sin, second * cos + first * sin], dim=-1).to(x.dtype)
