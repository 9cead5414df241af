# right: a float64 tensor and torch.where.

import math

import torch


def learning_rate(step, peak, final, n_warmup, n_steps):
    t = torch.tensor(step, dtype=torch.float64)
    x = ((t - n_warmup) / (n_steps - 1 - n_warmup)).clamp(0, 1)
    down = final + (peak - final) * (1 + torch.cos(math.pi * x)) / 2
    up = peak * (t + 1) / max(1, n_warmup)
    return torch.where(t < n_warmup, up, down).item()
