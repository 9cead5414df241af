import torch


def rotate(x, positions, base):
    *lead, T, K = x.shape
    f = torch.tensor([base ** (-2 * i / K) for i in range(K // 2)], dtype=torch.float64)
    a = positions.double()[:, None] * f
    turn = torch.stack([torch.stack([a.cos(), -a.sin()]), torch.stack([a.sin(), a.cos()])])
    pairs = x.double().unflatten(-1, (2, K // 2))
    return torch.einsum("oitk,...tik->...tok", turn, pairs).flatten(-2).to(x.dtype)
