# wrong: float literals and arange / K take torch's default dtype: under a default of bfloat16 or float16 the angles are coarse.
# shows: default dtype bfloat16, late positions. (ambiguous: task 1 names the default dtype, this one only says "whatever the dtype of x".)

import torch


def rotate(x, positions, base):
    K = x.shape[-1]
    f = torch.tensor([base ** (-2 * i / K) for i in range(K // 2)])
    angle = positions[:, None] * f
    a, b = x.chunk(2, -1)
    c, s = angle.cos(), angle.sin()
    return torch.cat([a * c - b * s, b * c + a * s], -1).to(x.dtype)
