# wrong: eps is added to the root.
# shows: eps that is not tiny.

import torch


def rms_norm(x, weight, eps):
    y = x.float() if x.dtype == torch.float16 else x
    return (y / (y.pow(2).mean(-1, keepdim=True).sqrt() + eps) * weight).to(x.dtype)
