import torch


def rms_norm(x, weight, eps):
    wide = x if x.dtype == torch.float64 else x.float()
    scale = torch.sqrt((wide**2).mean(dim=-1, keepdim=True) + eps)
    return (wide / scale * weight).to(x.dtype)
