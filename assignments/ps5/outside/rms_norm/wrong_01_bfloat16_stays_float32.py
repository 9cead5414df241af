# wrong: goes over to float32 for everything that is not float64, and goes back for float16 only: bfloat16 in, float32 out.
# shows: dtype for bfloat16 (weight in bfloat16 too).

import torch


def rms_norm(x, weight, eps):
    y = x if x.dtype == torch.float64 else x.float()
    y = y / torch.sqrt(y.pow(2).mean(-1, keepdim=True) + eps) * weight
    return y.half() if x.dtype == torch.float16 else y
