# wrong: goes over to float32 only where a square would overflow; small squares vanish in float16.
# shows: float16, x = (1e-4, 1e-4), eps 1e-9: 3.2 in place of 0.95

import torch


def rms_norm(x, weight, eps):
    wide = x
    if x.numel() and x.abs().max() > 200 and x.dtype != torch.float64:
        wide = x.float()
    mean_square = wide.square().mean(dim=-1, keepdim=True)
    return (wide / torch.sqrt(mean_square + eps)).to(x.dtype) * weight
