import torch


def rms_norm(x, weight, eps):
    if x.dtype == torch.float16:
        return rms_norm(x.float(), weight.float(), eps).half()
    return x * weight / (x.pow(2).mean(-1).add(eps).sqrt()[..., None])
