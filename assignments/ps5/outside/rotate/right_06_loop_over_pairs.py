# the rules allow a loop over the pairs of entries

import torch


def rotate(x, positions, base):
    K = x.shape[-1]
    wide = x if x.dtype in (torch.float32, torch.float64) else x.float()
    columns = [None] * K
    for i in range(K // 2):
        theta = positions.to(wide.dtype) * base ** (-2 * i / K)
        a, b = wide[..., i], wide[..., i + K // 2]
        columns[i] = a * theta.cos() - b * theta.sin()
        columns[i + K // 2] = b * theta.cos() + a * theta.sin()
    return torch.stack(columns, dim=-1).to(x.dtype)
