# wrong: float64 is computed in float32 and cast back; the dtype is right, the digits are not.
# shows: float64 beyond the 7th digit, or entries of 1e30, whose squares overflow in float32 but not in float64.

import torch


def rms_norm(x, weight, eps):
    y = x.float()
    y = y * torch.rsqrt(y.square().mean(dim=-1, keepdim=True) + eps)
    return y.to(x.dtype) * weight
