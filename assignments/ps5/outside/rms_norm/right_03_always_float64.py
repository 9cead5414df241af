import torch


def rms_norm(x, weight, eps):
    y = x.double()
    m = torch.einsum("...d,...d->...", y, y) / x.shape[-1]
    return (y / (m + eps).sqrt().unsqueeze(-1) * weight.double()).type_as(x)
