import torch


def layer_norm(x, weight, bias, eps):
    away = x - x.mean(dim=-1, keepdim=True)
    variance = (away**2).mean(dim=-1, keepdim=True)
    return away / torch.sqrt(variance + eps) * weight + bias
