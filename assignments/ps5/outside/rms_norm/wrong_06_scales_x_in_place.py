# wrong: float32 and float64 tensors are divided in place: the caller's x is changed.
# shows: x after the call.

import torch


def rms_norm(x, weight, eps):
    y = x.float() if x.dtype == torch.float16 else x
    m = y.pow(2).mean(-1, keepdim=True)
    y.data.div_((m + eps).sqrt())
    return (y * weight).to(x.dtype)
