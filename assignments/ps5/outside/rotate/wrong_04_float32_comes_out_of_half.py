# wrong: float16 in, float32 out (cos and sin are float32 and nothing is cast back); bfloat16 is cast.
# shows: dtype for float16.

import torch


def rotate(x, positions, base):
    K = x.shape[-1]
    angle = positions[:, None].float() * base ** (-torch.arange(0, K, 2).float() / K)
    c, s = angle.cos(), angle.sin()
    a, b = x.chunk(2, -1)
    out = torch.cat([a * c - b * s, b * c + a * s], -1)
    return out.to(x.dtype) if x.dtype in (torch.bfloat16, torch.float64) else out
