# as in LLaMA's files: x cos + (-b, a) sin, with the tables doubled

import torch


def rotate(x, positions, base):
    half = x.shape[-1] // 2
    inverse = 1.0 / base ** (torch.arange(half, dtype=torch.float32) / half)
    angle = torch.einsum("t,k->tk", positions.float(), inverse).repeat(1, 2)
    y = x if x.dtype == torch.float64 else x.float()
    turned = torch.cat([-y[..., half:], y[..., :half]], dim=-1)
    return (y * angle.cos() + turned * angle.sin()).to(x.dtype)
