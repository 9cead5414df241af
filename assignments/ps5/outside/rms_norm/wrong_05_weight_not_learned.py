# wrong: weight.data gives no gradient to the weight.
# shows: weight.grad after backward.

import torch


def rms_norm(x, weight, eps):
    y = x.float() if x.dtype == torch.float16 else x
    y = y * (y.pow(2).mean(-1, keepdim=True) + eps).pow(-0.5)
    return (y * weight.data).to(x.dtype)
