import torch


def rms_norm(x, weight, eps):
    work = torch.promote_types(x.dtype, torch.float32)
    y = x.to(work)
    return (y * torch.rsqrt(y.square().mean(-1, keepdim=True) + eps) * weight.to(work)).to(x.dtype)
