# the norm as a length is no normalising layer

import torch


def rms_norm(x, weight, eps):
    y = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    length = torch.linalg.vector_norm(y, dim=-1, keepdim=True)
    return (y / (length.square() / y.shape[-1] + eps).sqrt() * weight).to(x.dtype)
