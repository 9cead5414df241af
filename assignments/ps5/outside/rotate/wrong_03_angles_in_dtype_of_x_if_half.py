# wrong: angles in the dtype of x for float16; bfloat16 is taken care of, float16 not.
# shows: float16 with positions above 2048 (odd ones).

import torch


def rotate(x, positions, base):
    K = x.shape[-1]
    work = torch.float32 if x.dtype == torch.bfloat16 else x.dtype
    f = base ** (-torch.arange(0, K, 2, dtype=work) / K)
    angle = positions.to(work)[:, None] * f
    a, b = x.to(work).chunk(2, -1)
    c, s = angle.cos(), angle.sin()
    return torch.cat([a * c - b * s, b * c + a * s], -1).to(x.dtype)
