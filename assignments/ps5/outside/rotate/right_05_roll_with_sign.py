import torch


def rotate(x: torch.Tensor, positions: torch.Tensor, base: float) -> torch.Tensor:
    K = x.size(-1)
    j = torch.arange(K) % max(K // 2, 1)
    angle = positions.double().unsqueeze(1) * base ** (-2.0 * j.double() / max(K, 1))
    sign = torch.where(torch.arange(K) < K // 2, -1.0, 1.0).double()
    y = x.double()
    return (y * angle.cos() + y.roll(K // 2, dims=-1) * (sign * angle.sin())).to(x.dtype)
