# wrong: built with torch.tensor(x.tolist()): no gradient flows back to x.
# shows: requires_grad.

import torch


def rotate(x, positions, base):
    K = x.shape[-1]
    angle = positions[:, None].double() * base ** (-torch.arange(0, K, 2).double() / K)
    z = torch.complex(*x.detach().double().chunk(2, -1)) * torch.polar(torch.ones_like(angle), angle)
    return torch.cat([z.real, z.imag], -1).to(x.dtype)
