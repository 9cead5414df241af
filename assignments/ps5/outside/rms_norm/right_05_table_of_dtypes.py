import torch


_WIDER = {torch.float16: torch.float32, torch.bfloat16: torch.float32}


def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float) -> torch.Tensor:
    work = _WIDER.get(x.dtype, x.dtype)
    y, w = x.to(work), weight.to(work)
    mean_square = y.mul(y).sum(dim=-1, keepdim=True).div(y.size(-1))
    return y.mul(w).div((mean_square + eps) ** 0.5).to(x.dtype)
