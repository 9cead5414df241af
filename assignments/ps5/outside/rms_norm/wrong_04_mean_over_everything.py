# wrong: the mean runs over ALL entries if there is more than one leading axis (x.mean() of a flattened view).
# shows: three axes with vectors of different size.

import torch


def rms_norm(x, weight, eps):
    y = x.float() if x.dtype == torch.float16 else x
    if y.dim() <= 2:
        m = (y * y).mean(dim=-1, keepdim=True)
    else:
        m = (y * y).mean(dim=tuple(range(1, y.dim())), keepdim=True)
    return (y / (m + eps).sqrt() * weight).to(x.dtype)
