# wrong: computes in torch's default dtype, float32.
# shows: learning_rate(0, 0.1, 0.0, 0, 10) is 0.10000000149011612, and not 0.1.

import math

import torch


def learning_rate(step, peak, final, n_warmup, n_steps):
    if step < n_warmup:
        return float(torch.tensor(peak) * (step + 1) / n_warmup)
    x = torch.tensor((step - n_warmup) / (n_steps - 1 - n_warmup)).clamp(max=1)
    return float(final + (peak - final) * (1 + torch.cos(math.pi * x)) / 2)
