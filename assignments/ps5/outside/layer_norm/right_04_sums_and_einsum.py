import torch


def layer_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float) -> torch.Tensor:
    D = x.shape[-1]
    away = x - (x.sum(dim=-1) / D).unsqueeze(-1)
    variance = torch.einsum("...d,...d->...", away, away) / D
    scale = torch.pow(variance + eps, -0.5)
    return torch.einsum("...d,...,d->...d", away, scale, weight) + bias
