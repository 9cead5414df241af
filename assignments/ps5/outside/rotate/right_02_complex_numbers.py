import torch


def rotate(x, positions, base):
    K = x.shape[-1]
    work = torch.float64
    theta = positions.to(work)[:, None] * torch.tensor(base, dtype=work) ** (-torch.arange(0, K, 2, dtype=work) / K)
    turn = torch.polar(torch.ones_like(theta), theta)
    first, second = x.to(work).split(K // 2, dim=-1)
    z = torch.complex(first.contiguous(), second.contiguous()) * turn
    return torch.cat((z.real, z.imag), dim=-1).to(x.dtype)
