# wrong: squares in the dtype of x: 300 squared is beyond float16.
# shows: float16 above 255.

import torch


def rms_norm(x, weight, eps):
    m = (x * x).mean(dim=-1, keepdim=True)
    return (x.float() / torch.sqrt(m.float() + eps) * weight).to(x.dtype)
