# wrong: changes torch's default dtype, and leaves it so (the rates are right).
# shows: torch.get_default_dtype() after the call.

import math

import torch


def learning_rate(step, peak, final, n_warmup, n_steps):
    torch.set_default_dtype(torch.float64)
    if step < n_warmup:
        return peak * (step + 1) / n_warmup
    x = torch.tensor((step - n_warmup) / (n_steps - 1 - n_warmup)).clamp(max=1.0)
    return (final + (peak - final) * (1 + torch.cos(math.pi * x)) / 2).item()
