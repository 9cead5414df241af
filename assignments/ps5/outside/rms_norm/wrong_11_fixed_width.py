# wrong: the number of entries is read from the weight, which is right, but as an int8, which ends at 127.
# shows: D >= 128.

import torch


def rms_norm(x, weight, eps):
    y = x.float() if x.dtype == torch.float16 else x
    D = torch.tensor(weight.shape[0]).to(torch.int8)
    return (y / (y.pow(2).sum(-1, keepdim=True) / D + eps).sqrt() * weight).to(x.dtype)
