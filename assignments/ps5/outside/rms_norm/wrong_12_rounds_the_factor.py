# wrong: takes the root in float32, but rounds the factor 1 / root to the dtype of x; in float16 it can be infinite.
# shows: float16, x = (0, 0), eps 1e-12: nan in place of 0

import torch


def rms_norm(x, weight, eps):
    wide = x if x.dtype == torch.float64 else x.float()
    factor = torch.rsqrt(wide.square().mean(dim=-1, keepdim=True) + eps)
    return x * factor.to(x.dtype) * weight
