# wrong: the mean square is float32, but eps is added in float16 after going back, where 1e-8 is 0 (and m may overflow): the guard uses clamp.
# shows: float16 zeros with eps 1e-8: 0/0 = nan; float16 above 255.

import torch


def rms_norm(x, weight, eps):
    if x.dtype == torch.float16:
        root = x.float().square().mean(-1, keepdim=True).sqrt().half()
        return x / (root + eps) * weight
    return x / (x.square().mean(-1, keepdim=True) + eps).sqrt() * weight
